// SPDX-License-Identifier: BSD-3-Clause
/**
 * The version of these headers and of the library that a program runs with.
 */
#ifndef WEFT_VERSION_H
#define WEFT_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 2
#define WEFT_VERSION_PATCH 0

/** One number that grows with every release: compare with `#if WEFT_VERSION >= WEFT_VERSION_NUMBER(0, 2, 0)`. */
#define WEFT_VERSION_NUMBER(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define WEFT_VERSION                             WEFT_VERSION_NUMBER(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH)

/** Marks the functions and objects that the shared library exports; everything else is hidden. */
#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

/**
 * The version of the library in use as text, "0.2.0". A static string, never freed. Any thread, any time.
 */
WEFT_API const char *weft_version(void);

#ifdef __cplusplus
}
#endif
#endif
