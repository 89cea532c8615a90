// SPDX-License-Identifier: BSD-3-Clause
/**
 * Derived datatypes: where the elements of a message lie in memory (MPI 4.1 chapter 5). Constructors, queries, packing.
 *
 * A constructor makes a new type, which the caller commits before it is used in communication and frees with weft_type_free();
 * the type it was made of may be freed at once. Types are counted: what is in use stays until it no longer is. Local; any thread;
 * a type may be used by several threads at once, and is freed by one.
 * *Size*: the bytes of an element's data. *Extent*: how far apart consecutive elements lie; *lower bound*: where the first
 * begins. *True* extent and lower bound: of the data alone. All in bytes. An extent that is not given (resized, subarray, darray) is
 * that of the data, rounded up to the strictest alignment among them, as a C compiler does (MPI 4.1 section 5.1.1).
 * Errors of the constructors: WEFT_ERR_ARG (a null pointer, a type that is none or was freed, an argument that is out of range or
 * takes size or extent out of ptrdiff_t, named in the sentence), WEFT_ERR_NOMEM.
 * A type whose data begin 64 KiB or more behind the buffer may hold absolute addresses: then a buffer of NULL is no error (MPI's
 * MPI_BOTTOM; MPI 4.1 section 5.1.12).
 */
#ifndef WEFT_DATATYPE_H
#define WEFT_DATATYPE_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** `count` elements one after the other. */
WEFT_API int weft_type_contiguous(size_t count, const weft_datatype *old, weft_datatype **type);
/** `count` blocks of `block_length` elements, their beginnings `stride` elements apart. */
WEFT_API int weft_type_vector(size_t count, size_t block_length, ptrdiff_t stride, const weft_datatype *old,
                              weft_datatype **type);
/** As weft_type_vector with the stride in bytes. */
WEFT_API int weft_type_hvector(size_t count, size_t block_length, ptrdiff_t stride_bytes, const weft_datatype *old,
                               weft_datatype **type);
/** `count` blocks: block i has block_lengths[i] elements and begins displs[i] elements from the start. */
WEFT_API int weft_type_indexed(size_t count, const size_t block_lengths[], const ptrdiff_t displs[],
                               const weft_datatype *old, weft_datatype **type);
WEFT_API int weft_type_hindexed(size_t count, const size_t block_lengths[], const ptrdiff_t displs_bytes[],
                                const weft_datatype *old, weft_datatype **type);
/** As weft_type_indexed with blocks of one length. */
WEFT_API int weft_type_indexed_block(size_t count, size_t block_length, const ptrdiff_t displs[],
                                     const weft_datatype *old, weft_datatype **type);
WEFT_API int weft_type_hindexed_block(size_t count, size_t block_length, const ptrdiff_t displs_bytes[],
                                      const weft_datatype *old, weft_datatype **type);
/** As weft_type_hindexed with a type a block. */
WEFT_API int weft_type_struct(size_t count, const size_t block_lengths[], const ptrdiff_t displs_bytes[],
                              const weft_datatype *const types[], weft_datatype **type);

/** How an array lies in memory. */
enum weft_order { WEFT_ORDER_C = 0 /**< the last index runs fastest */, WEFT_ORDER_FORTRAN = 1 /**< the first */ };

/** Part of an array of `dims` dimensions: `subsizes` of `sizes` elements, from `starts` on. The extent is the whole array's. */
WEFT_API int weft_type_subarray(int dims, const size_t sizes[], const size_t subsizes[], const size_t starts[],
                                enum weft_order order, const weft_datatype *old, weft_datatype **type);

/** How a dimension is dealt out to processes. */
enum weft_distribute { WEFT_DISTRIBUTE_NONE = 0, WEFT_DISTRIBUTE_BLOCK = 1, WEFT_DISTRIBUTE_CYCLIC = 2 };
#define WEFT_DISTRIBUTE_DFLT_DARG ((size_t)-1) /**< the default block: ⌈size / processes⌉ of BLOCK, 1 of CYCLIC */

/**
 * The part of process `rank` of `size` in an array that is dealt out over a grid of processes (row-major ranks, as MPI's);
 * `args` are the block lengths. The product of psizes is `size`.
 */
WEFT_API int weft_type_darray(int size, int rank, int dims, const size_t gsizes[],
                              const enum weft_distribute distribs[], const size_t args[], const int psizes[],
                              enum weft_order order, const weft_datatype *old, weft_datatype **type);

/** The same data with another lower bound and extent, in bytes. */
WEFT_API int weft_type_resized(const weft_datatype *old, ptrdiff_t lower_bound, ptrdiff_t extent, weft_datatype **type);
/** A type of its own, with the same data and as committed as the old one. */
WEFT_API int weft_type_dup(const weft_datatype *old, weft_datatype **type);

/** Makes a type ready for communication. Again, or on a predefined type, it does nothing. Errors: WEFT_ERR_ARG. */
WEFT_API int weft_type_commit(weft_datatype **type);
/** Frees a type and sets *type to NULL; communication under way with it goes on. Errors: WEFT_ERR_ARG (null, predefined, freed). */
WEFT_API int weft_type_free(weft_datatype **type);

/* Queries of a type, committed or not; size, extent and bounds are in bytes. Errors: WEFT_ERR_ARG (null pointer; a null or freed
 * type, but for one that is still in use, which a user's operation may ask about). */
/** The bytes of an element's data. */
WEFT_API int weft_type_size(const weft_datatype *type, size_t *bytes);
/** Where an element begins, and how far apart two are. */
WEFT_API int weft_type_extent(const weft_datatype *type, ptrdiff_t *lower_bound, ptrdiff_t *extent);
/** Where an element's data begin, and how far they reach from there. */
WEFT_API int weft_type_true_extent(const weft_datatype *type, ptrdiff_t *true_lower_bound, ptrdiff_t *true_extent);

/**
 * Packs `count` elements of a committed type behind *position bytes of `packed` (room for `packed_bytes` in all) and moves
 * *position on. With a type that holds addresses `buffer` is NULL. Errors: WEFT_ERR_ARG, WEFT_ERR_TRUNCATE (no room; nothing was packed).
 */
WEFT_API int weft_pack(const void *buffer, size_t count, const weft_datatype *type, void *packed, size_t packed_bytes,
                       size_t *position);
/** The reverse. WEFT_ERR_TRUNCATE: fewer bytes are left than `count` elements have; nothing was unpacked. */
WEFT_API int weft_unpack(const void *packed, size_t packed_bytes, size_t *position, void *buffer, size_t count,
                         const weft_datatype *type);
/** How many bytes weft_pack takes for `count` elements. Errors: WEFT_ERR_ARG. */
WEFT_API int weft_pack_size(size_t count, const weft_datatype *type, size_t *bytes);

/**
 * As the three above in the representation "external32" (MPI 4.1 section 14.5.2), which there is no other than: big-endian, sizes equal
 * on all machines. `long` has 4 bytes there and wchar_t 2. Errors beside theirs: WEFT_ERR_ARG (another representation; a number that
 * does not fit: part of `packed` may have been written, *position stays).
 */
WEFT_API int weft_pack_external(const char *representation, const void *buffer, size_t count, const weft_datatype *type,
                                void *packed, size_t packed_bytes, size_t *position);
WEFT_API int weft_unpack_external(const char *representation, const void *packed, size_t packed_bytes, size_t *position,
                                  void *buffer, size_t count, const weft_datatype *type);
WEFT_API int weft_pack_external_size(const char *representation, size_t count, const weft_datatype *type,
                                     size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
