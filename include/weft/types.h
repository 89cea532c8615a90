// SPDX-License-Identifier: BSD-3-Clause
/**
 * Handles, datatypes, operations and constants.
 */
#ifndef WEFT_TYPES_H
#define WEFT_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <weft/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Ranks that may talk. A process communicator belongs to its process, a handle on a thread communicator to one thread. */
typedef struct weft_comm weft_comm;

/** The threads of all processes that act together; made by weft_team_create(). */
typedef struct weft_team weft_team;

/** The type of the elements in a buffer. */
typedef struct weft_datatype weft_datatype;

/** A reduction operation. */
typedef struct weft_op weft_op;

/**
 * Predefined datatypes: `const weft_datatype *` constants, always committed. Each is contiguous: its extent is its size, and
 * is that of the C type named. They need no weft_init and are valid in every thread. Derived ones: weft/datatype.h.
 */
/** @{ */
#define WEFT_PREDEFINED_DATATYPE(name) (&weft_datatype_##name)
extern WEFT_API const weft_datatype weft_datatype_byte, weft_datatype_char, weft_datatype_wchar, weft_datatype_aint,
    weft_datatype_count, weft_datatype_bool, weft_datatype_int8, weft_datatype_int16, weft_datatype_int32,
    weft_datatype_int64, weft_datatype_uint8, weft_datatype_uint16, weft_datatype_uint32, weft_datatype_uint64,
    weft_datatype_short, weft_datatype_int, weft_datatype_long, weft_datatype_long_long, weft_datatype_unsigned_char,
    weft_datatype_unsigned_short, weft_datatype_unsigned, weft_datatype_unsigned_long, weft_datatype_unsigned_long_long,
    weft_datatype_float, weft_datatype_double, weft_datatype_long_double, weft_datatype_float_complex,
    weft_datatype_double_complex, weft_datatype_long_double_complex, weft_datatype_float_int, weft_datatype_double_int,
    weft_datatype_long_int, weft_datatype_2int, weft_datatype_short_int, weft_datatype_long_double_int;

#define WEFT_BYTE                  WEFT_PREDEFINED_DATATYPE(byte)  /**< 8 uninterpreted bits: bitwise operations only */
#define WEFT_CHAR                  WEFT_PREDEFINED_DATATYPE(char)  /**< char: moved, not reduced */
#define WEFT_WCHAR                 WEFT_PREDEFINED_DATATYPE(wchar) /**< wchar_t: moved, not reduced */
#define WEFT_AINT                  WEFT_PREDEFINED_DATATYPE(aint)  /**< ptrdiff_t, as displacements and extents are */
#define WEFT_COUNT                 WEFT_PREDEFINED_DATATYPE(count) /**< size_t, as counts are here */
#define WEFT_C_BOOL                WEFT_PREDEFINED_DATATYPE(bool)  /**< bool (C++ bool): logical operations only */
#define WEFT_INT8_T                WEFT_PREDEFINED_DATATYPE(int8)  /**< int8_t */
#define WEFT_INT16_T               WEFT_PREDEFINED_DATATYPE(int16) /**< int16_t */
#define WEFT_INT32_T               WEFT_PREDEFINED_DATATYPE(int32) /**< int32_t */
#define WEFT_INT64_T               WEFT_PREDEFINED_DATATYPE(int64) /**< int64_t */
#define WEFT_UINT8_T               WEFT_PREDEFINED_DATATYPE(uint8)
#define WEFT_UINT16_T              WEFT_PREDEFINED_DATATYPE(uint16)
#define WEFT_UINT32_T              WEFT_PREDEFINED_DATATYPE(uint32)
#define WEFT_UINT64_T              WEFT_PREDEFINED_DATATYPE(uint64)
#define WEFT_SIGNED_CHAR           WEFT_PREDEFINED_DATATYPE(int8) /**< signed char, an integer */
#define WEFT_SHORT                 WEFT_PREDEFINED_DATATYPE(short)
#define WEFT_INT                   WEFT_PREDEFINED_DATATYPE(int)
#define WEFT_LONG                  WEFT_PREDEFINED_DATATYPE(long)
#define WEFT_LONG_LONG             WEFT_PREDEFINED_DATATYPE(long_long)
#define WEFT_UNSIGNED_CHAR         WEFT_PREDEFINED_DATATYPE(unsigned_char)
#define WEFT_UNSIGNED_SHORT        WEFT_PREDEFINED_DATATYPE(unsigned_short)
#define WEFT_UNSIGNED              WEFT_PREDEFINED_DATATYPE(unsigned)
#define WEFT_UNSIGNED_LONG         WEFT_PREDEFINED_DATATYPE(unsigned_long)
#define WEFT_UNSIGNED_LONG_LONG    WEFT_PREDEFINED_DATATYPE(unsigned_long_long)
#define WEFT_FLOAT                 WEFT_PREDEFINED_DATATYPE(float)
#define WEFT_DOUBLE                WEFT_PREDEFINED_DATATYPE(double)
#define WEFT_LONG_DOUBLE           WEFT_PREDEFINED_DATATYPE(long_double)
#define WEFT_C_FLOAT_COMPLEX       WEFT_PREDEFINED_DATATYPE(float_complex)  /**< float _Complex, std::complex<float> */
#define WEFT_C_DOUBLE_COMPLEX      WEFT_PREDEFINED_DATATYPE(double_complex) /**< double _Complex, std::complex<double> */
#define WEFT_C_LONG_DOUBLE_COMPLEX WEFT_PREDEFINED_DATATYPE(long_double_complex) /**< long double _Complex */
#define WEFT_FLOAT_INT             WEFT_PREDEFINED_DATATYPE(float_int)       /**< struct { float value; int index; } */
#define WEFT_DOUBLE_INT            WEFT_PREDEFINED_DATATYPE(double_int)      /**< struct { double value; int index; } */
#define WEFT_LONG_INT              WEFT_PREDEFINED_DATATYPE(long_int)        /**< struct { long value; int index; } */
#define WEFT_2INT                  WEFT_PREDEFINED_DATATYPE(2int)            /**< struct { int value; int index; } */
#define WEFT_SHORT_INT             WEFT_PREDEFINED_DATATYPE(short_int)       /**< struct { short value; int index; } */
#define WEFT_LONG_DOUBLE_INT       WEFT_PREDEFINED_DATATYPE(long_double_int) /**< struct { long double value; int index; } */
/** @} */

/**
 * Operations: `const weft_op *` constants, all commutative and associative but WEFT_REPLACE and WEFT_NO_OP, with the types
 * that MPI 4.0 section 6.9.2 allows for each:
 * max, min: integers, floating point; sum, prod: these and complex; land, lor, lxor: integers, bool;
 * band, bor, bxor: integers, byte; maxloc, minloc: the pair types, the lower index on equal values;
 * replace (the operand of the higher rank wins), no-op (that of the lower rank): every type, derived ones too.
 */
/** @{ */
#define WEFT_PREDEFINED_OP(name) (&weft_op_##name)
extern WEFT_API const weft_op weft_op_sum, weft_op_prod, weft_op_max, weft_op_min, weft_op_land, weft_op_lor,
    weft_op_lxor, weft_op_band, weft_op_bor, weft_op_bxor, weft_op_maxloc, weft_op_minloc, weft_op_replace,
    weft_op_no_op;

#define WEFT_SUM     WEFT_PREDEFINED_OP(sum)
#define WEFT_PROD    WEFT_PREDEFINED_OP(prod)
#define WEFT_MAX     WEFT_PREDEFINED_OP(max)
#define WEFT_MIN     WEFT_PREDEFINED_OP(min)
#define WEFT_LAND    WEFT_PREDEFINED_OP(land)
#define WEFT_LOR     WEFT_PREDEFINED_OP(lor)
#define WEFT_LXOR    WEFT_PREDEFINED_OP(lxor)
#define WEFT_BAND    WEFT_PREDEFINED_OP(band)
#define WEFT_BOR     WEFT_PREDEFINED_OP(bor)
#define WEFT_BXOR    WEFT_PREDEFINED_OP(bxor)
#define WEFT_MAXLOC  WEFT_PREDEFINED_OP(maxloc)
#define WEFT_MINLOC  WEFT_PREDEFINED_OP(minloc)
#define WEFT_REPLACE WEFT_PREDEFINED_OP(replace)
#define WEFT_NO_OP   WEFT_PREDEFINED_OP(no_op)
/** @} */

/**
 * A user's reduction: `inout[i] = in[i] op inout[i]` for `count` elements of `type`; in holds the operand of the lower
 * ranks. It must be associative, and is called on any thread of the team (with WEFT_PROGRESS=thread also on one of weft's own), by several
 * threads at once on different elements.
 * It must not call weft, but may ask for the size, name and extent of the type. in and inout do not overlap.
 */
typedef void weft_op_function(const void *in, void *inout, size_t count, const weft_datatype *type);

/**
 * Makes an operation of a function. `commutative` 0: operands are combined strictly in rank order.
 * The caller frees *op with weft_op_free() when no collective is under way with it; a persistent one may still be started then. Local; any thread, any time.
 * Errors: WEFT_ERR_ARG (null function or op), WEFT_ERR_NOMEM.
 */
WEFT_API int weft_op_create(weft_op_function *function, int commutative, weft_op **op);

/** Frees a user's operation and sets *op to NULL. Errors: WEFT_ERR_ARG (null, predefined, or freed before). */
WEFT_API int weft_op_free(weft_op **op);

/** The bytes of one element's data. 0 for NULL or a handle that is no datatype. Any thread, any time. */
WEFT_API size_t weft_datatype_size(const weft_datatype *type);

/** The name of a datatype as in "WEFT_DOUBLE", "derived" for a derived one. NULL for what is no datatype. Static. */
WEFT_API const char *weft_datatype_name(const weft_datatype *type);

/** The name of an operation as in "WEFT_SUM", "user" for a user's. NULL for what is no operation. Static. */
WEFT_API const char *weft_op_name(const weft_op *op);

/**
 * As send buffer (or, in scatter at the root, as receive buffer): the data is already where the result goes, as MPI 4.0
 * section 6.2 ff. says for each collective.
 */
#define WEFT_IN_PLACE ((void *)-1)

/** As thread number in weft_team_enter(): give me a free one. */
#define WEFT_ANY_THREAD (-1)

#ifdef __cplusplus
}
#endif
#endif
