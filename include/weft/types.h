/* Element types and reduction operations. */
#ifndef WEFT_TYPES_H
#define WEFT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "weft/export.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The type of an element. The pair types are C structs {value, index} with the compiler's padding.
 * Elements may lie at any address; those at multiples of their size are combined fastest.
 *
 * The 16-bit types take sum, product, minimum and maximum: two operands are combined in float32,
 * and the result is rounded to the type, at every combination (weft_comm_dup_with can change that).
 * A NaN becomes the type's positive quiet NaN without a payload.
 *
 * Complex types take sum and product; a product is (ac - bd) + (ad + bc)i, without C's special
 * cases for infinities. The bits in a complex type's name are those of the whole element, as in
 * NumPy.
 *
 * Results have the same bits on all processors of one architecture, whichever instructions they
 * have.
 *
 * 8-bit floats, of which there are several formats, have no type: as WEFT_OPAQUE(1) all collectives
 * move them, and only user-defined operations combine them.
 */
typedef enum weft_type WEFT_ANY_INT {
    WEFT_BYTE = 0, /* uninterpreted; bitwise and user-defined reductions only */
    WEFT_INT8 = 1,
    WEFT_INT16 = 2,
    WEFT_INT32 = 3,
    WEFT_INT64 = 4,
    WEFT_UINT8 = 5,
    WEFT_UINT16 = 6,
    WEFT_UINT32 = 7,
    WEFT_UINT64 = 8,
    WEFT_FLOAT32 = 9,
    WEFT_FLOAT64 = 10,
    WEFT_FLOAT32_INT32 = 11, /* struct { float value; int32_t index; }    for minloc, maxloc */
    WEFT_FLOAT64_INT32 = 12, /* struct { double value; int32_t index; }   for minloc, maxloc */
    WEFT_INT32_INT32 = 13,   /* struct { int32_t value; int32_t index; }  for minloc, maxloc */
    WEFT_INT64_INT32 = 14,   /* struct { int64_t value; int32_t index; }  for minloc, maxloc */
    WEFT_FLOAT16 = 15,       /* IEEE 754's binary16 */
    WEFT_BFLOAT16 = 16,      /* the upper half of a float32 */
    WEFT_COMPLEX64 = 17,     /* two float32, real and imaginary part; sums and products */
    WEFT_COMPLEX128 = 18     /* two float64, real and imaginary part; sums and products */
} weft_type;

/**
 * The type of uninterpreted elements of `bytes` bytes, 1 ... WEFT_OPAQUE_MAX, which only
 * user-defined operations combine. All collectives take it; no algorithm cuts an element.
 */
#define WEFT_OPAQUE(bytes) ((weft_type)(0x40000000 | (int)(bytes)))
#define WEFT_OPAQUE_MAX 0x1000000

/**
 * A reduction operation: one of the constants below, or one made by weft_op_create.
 *
 * Whichever thread combines operands, it rounds as the thread does that starts the operation
 * (fesetround; of a persistent request at each start); otherwise in the default state of
 * floating-point arithmetic: without flushing subnormal numbers to zero, without traps. So a result
 * does not depend on timing, and is the same on all ranks if all round in the same direction. The
 * state and the exception flags of the program's threads stay as they are; overflows and the like
 * in a reduction raise no flags there.
 */
typedef struct weft_op_handle* weft_op;

#define WEFT_OP_NULL ((weft_op)0)
#define WEFT_SUM ((weft_op)1)
#define WEFT_PROD ((weft_op)2)
#define WEFT_MIN ((weft_op)3)
#define WEFT_MAX ((weft_op)4)
#define WEFT_LAND ((weft_op)5)    /* logical; integers only; results are 0 or 1 */
#define WEFT_LOR ((weft_op)6)     /* logical; integers only */
#define WEFT_LXOR ((weft_op)7)    /* logical; integers only */
#define WEFT_BAND ((weft_op)8)    /* bitwise; integers and bytes */
#define WEFT_BOR ((weft_op)9)     /* bitwise; integers and bytes */
#define WEFT_BXOR ((weft_op)10)   /* bitwise; integers and bytes */
#define WEFT_MINLOC ((weft_op)11) /* pair types only; of equal values the lower index wins */
#define WEFT_MAXLOC ((weft_op)12) /* pair types only; of equal values the lower index wins */
/* The average of all ranks: their sum, divided once by their number at the end. Floating-point and
   complex types only; not for scan and exscan, nor for a program's own schedules. */
#define WEFT_AVG ((weft_op)13)

/**
 * A user-defined reduction: inout[i] = in[i] (op) inout[i] for `count` elements of `type`, aligned
 * only as well as the program's buffers.
 *
 * It may run in the progress thread, or in a wait or a test, concurrently with other calls of Weft,
 * and in several threads at the same time if several operations use it. It must not call Weft:
 * starts, waits, constructors and frees are refused with WEFT_REFUSED_STATE. If it throws an
 * exception, the communicator breaks with WEFT_BROKEN_FUNCTION, on all ranks; also if it ends its
 * thread (pthread_exit). `context` is the one of weft_op_create.
 *
 * It begins in the state of floating-point arithmetic that weft_op describes; a state that it sets
 * ends with it. The progress thread has a stack as large as the program's first thread may have
 * (RLIMIT_STACK), 8 MiB at least; 256 MiB if that is unlimited, less where the address space is
 * limited.
 */
typedef void (*weft_op_function)(const void* in, void* inout, size_t count, weft_type type,
                                 void* context);

/**
 * Make a reduction operation from a function, which must be associative.
 *
 * `commutative` not 0 allows any order of the operands; 0 keeps them in rank order.
 *
 * Calling   any thread; even before weft_init.
 * Returns   WEFT_OK; WEFT_REFUSED_ARGUMENT for a null function or a null op.
 * Source    MPI-5.0 section 6.9.5
 */
WEFT_API weft_status weft_op_create(weft_op_function function, int commutative, void* context,
                                    weft_op* op);

/**
 * As weft_op_create, but the function runs only in the program's own threads: inside their tests,
 * waits, blocking calls and weft_progress, never in one of Weft's. Operations that depend on it do
 * not advance between those calls.
 *
 * Calling   as weft_op_create.
 * Returns   as weft_op_create.
 */
WEFT_API weft_status weft_op_create_confined(weft_op_function function, int commutative,
                                             void* context, weft_op* op);

/**
 * Make the sum of operands that are multiplied by `factor` before: each rank multiplies its own,
 * and the ranks' factors may differ. So a mean with weights, or gradients scaled by a loss scale,
 * take no pass over the data of the program's own.
 *
 * For floating-point and complex types; not for a program's own schedules. Unless the type is
 * float64 or complex128, the factor is rounded to float32 and multiplies in float32.
 *
 * Calling   any thread; even before weft_init.
 * Cost      a pass over the operands before the first message; out of place, memory for them.
 * Returns   WEFT_OK; WEFT_REFUSED_ARGUMENT for a factor that is not finite, or a null op.
 */
WEFT_API weft_status weft_op_create_premul_sum(double factor, weft_op* op);

/**
 * Free an operation made by one of the functions above; *op becomes WEFT_OP_NULL.
 * Operations already started with it finish.
 *
 * Returns   WEFT_OK; WEFT_REFUSED_HANDLE for a predefined, null or freed operation.
 */
WEFT_API weft_status weft_op_free(weft_op* op);

/**
 * Bytes of one element; 0 for an unknown type, including WEFT_OPAQUE with zero or too many bytes.
 */
WEFT_API size_t weft_type_size(weft_type type);

#ifdef __cplusplus
}
#endif

#endif
