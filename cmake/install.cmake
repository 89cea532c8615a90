# SPDX-License-Identifier: BSD-3-Clause
# What `make install` lays down: headers, both libraries, tools, documents, and what lets other builds find them.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS weft_shared EXPORT weftTargets)
install(TARGETS weft_static EXPORT weftStaticTargets)
install(TARGETS weftrun weft-info weft-bench)
install(FILES LICENSE README.md ARCHITECTURE.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/mst.svg DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs) # which README.md shows

# The way from ${libdir}/pkgconfig to the prefix, so that an installed tree can be moved, unless it is said where that is.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(WEFT_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH WEFT_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" WEFT_PC_PREFIX "\${pcfiledir}/${WEFT_PC_PREFIX}")
endif()
foreach(directory LIBDIR INCLUDEDIR)
  set(WEFT_PC_${directory} "${CMAKE_INSTALL_${directory}}")
  if(NOT IS_ABSOLUTE "${WEFT_PC_${directory}}")
    set(WEFT_PC_${directory} "\${prefix}/${WEFT_PC_${directory}}")
  endif()
endforeach()
foreach(file weft.pc weft-static.pc)
  configure_file(cmake/${file}.in ${PROJECT_BINARY_DIR}/cmake/${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${package})
install(EXPORT weftStaticTargets NAMESPACE weft:: DESTINATION ${package})
configure_package_config_file(cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/weftConfig.cmake
  INSTALL_DESTINATION ${package})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/weftConfig.cmake ${PROJECT_BINARY_DIR}/cmake/weftConfigVersion.cmake
  DESTINATION ${package})
