/* Collective operations: MPI's names and argument orders with counts of 64 bits. */
#ifndef WEFT_COLLECTIVE_H
#define WEFT_COLLECTIVE_H

#include <stddef.h>

#include "weft/comm.h"
#include "weft/export.h"
#include "weft/request.h"
#include "weft/status.h"
#include "weft/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The collectives, for weft_call (weft/call.h). */
typedef enum weft_collective WEFT_ANY_INT {
    WEFT_COLLECTIVE_BARRIER = 0,
    WEFT_COLLECTIVE_BCAST = 1,
    WEFT_COLLECTIVE_GATHER = 2,
    WEFT_COLLECTIVE_SCATTER = 3,
    WEFT_COLLECTIVE_ALLGATHER = 4,
    WEFT_COLLECTIVE_ALLTOALL = 5,
    WEFT_COLLECTIVE_REDUCE = 6,
    WEFT_COLLECTIVE_ALLREDUCE = 7,
    WEFT_COLLECTIVE_REDUCE_SCATTER_BLOCK = 8,
    WEFT_COLLECTIVE_ALLGATHERV = 9,
    WEFT_COLLECTIVE_REDUCE_SCATTER = 10,
    WEFT_COLLECTIVE_SCAN = 11,
    WEFT_COLLECTIVE_EXSCAN = 12,
    WEFT_COLLECTIVE_GATHERV = 13,
    WEFT_COLLECTIVE_SCATTERV = 14,
    WEFT_COLLECTIVE_ALLTOALLV = 15,
    WEFT_COLLECTIVE_ALLTOALLW = 16,
    WEFT_COLLECTIVE_NEIGHBOR_ALLGATHER = 17,
    WEFT_COLLECTIVE_NEIGHBOR_ALLGATHERV = 18,
    WEFT_COLLECTIVE_NEIGHBOR_ALLTOALL = 19,
    WEFT_COLLECTIVE_NEIGHBOR_ALLTOALLV = 20,
    WEFT_COLLECTIVE_NEIGHBOR_ALLTOALLW = 21
} weft_collective;

/**
 * As send_buf: this rank's contribution is already in recv_buf. As recv_buf on the root of a
 * scatter (cast it to void*): the root's block stays in send_buf.
 */
#define WEFT_IN_PLACE ((const void*)-1)

/*
 * With WEFT_CHECK=1 the ranks of a collective compare what its `Agree` field names before any data
 * moves. Calls that do not match end with WEFT_BROKEN_MESSAGE on every rank, without touching any
 * buffer; the detail names the first rank that differs, and both calls. A nonblocking call is never
 * compared with a persistent request: their operations do not meet. Values that only two ranks know
 * are not compared: the counts of gatherv, scatterv, alltoallv and alltoallw, and all counts among
 * neighbors. There, a block of an unexpected size ends the operation with WEFT_BROKEN_MESSAGE when
 * it arrives. User-defined operations are compared only by whether they commute.
 */

/**
 * Start a barrier: completes when every rank of `comm` has started it.
 *
 * Agree     the order of starts on `comm` is the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call builds a schedule (allocates); later calls do not allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Source    MPI-5.0 section 6.12.1
 */
WEFT_API weft_status weft_ibarrier(weft_comm comm, weft_request* request);

/**
 * As weft_ibarrier followed by weft_wait. For all blocking forms:
 *
 * Returns   as the nonblocking form, or as weft_wait; weft_interrupt() does not end it.
 *           WEFT_BROKEN_TIMEOUT: WEFT_TIMEOUT has passed; the detail names late ranks. There is no
 *           request to wait for again, so `comm` is broken on every rank, as by the death of a
 *           rank: the buffers are the caller's again, and the contents of receive buffers are
 *           undefined.
 */
WEFT_API weft_status weft_barrier(weft_comm comm);

/**
 * Start sending `count` elements from `root` to every rank.
 *
 * Shapes    buf [count] of `type`; read on root, written elsewhere.
 * Lent      buf is lent until *request completes.
 * Agree     root, count * size of type, and the order of starts on `comm`, are the same on every
 *           rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching buf (on root: writing it) before completion.
 * Source    MPI-5.0 section 6.12.2
 */
WEFT_API weft_status weft_ibcast(void* buf, size_t count, weft_type type, int root, weft_comm comm,
                                 weft_request* request);

/** As weft_ibcast followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_bcast(void* buf, size_t count, weft_type type, int root, weft_comm comm);

/**
 * Start gathering `count` elements of every rank into every rank.
 *
 * Shapes    send_buf [count], recv_buf [ranks][count]; block r receives rank r's data. Elements of
 *           `type`.
 * In place  send_buf == WEFT_IN_PLACE: this rank's block is already in recv_buf.
 * Lent      both buffers are lent until *request completes.
 * Agree     count * size of type, and the order of starts on `comm`, are the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.5
 */
WEFT_API weft_status weft_iallgather(const void* send_buf, void* recv_buf, size_t count,
                                     weft_type type, weft_comm comm, weft_request* request);

/** As weft_iallgather followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_allgather(const void* send_buf, void* recv_buf, size_t count,
                                    weft_type type, weft_comm comm);

/**
 * Start gathering `count` elements of every rank into `root`.
 *
 * Shapes    send_buf [count]; on root, recv_buf [ranks][count]: block r receives rank r's data.
 *           Elements of `type`. Other ranks' recv_buf is ignored.
 * In place  send_buf == WEFT_IN_PLACE on root: its block is already in recv_buf.
 * Lent      both buffers are lent until *request completes.
 * Agree     root, count * size of type, and the order of starts on `comm`, are the same on every
 *           rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.3
 */
WEFT_API weft_status weft_igather(const void* send_buf, void* recv_buf, size_t count,
                                  weft_type type, int root, weft_comm comm, weft_request* request);

/** As weft_igather followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_gather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                 int root, weft_comm comm);

/**
 * Start sending a block of `count` elements from `root` to each rank.
 *
 * Shapes    on root, send_buf [ranks][count]: block r goes to rank r; recv_buf [count]. Elements of
 *           `type`. Other ranks' send_buf is ignored.
 * In place  recv_buf == (void*)WEFT_IN_PLACE on root: its block stays in send_buf.
 * Lent      both buffers are lent until *request completes.
 * Agree     root, count * size of type, and the order of starts on `comm`, are the same on every
 *           rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.4
 */
WEFT_API weft_status weft_iscatter(const void* send_buf, void* recv_buf, size_t count,
                                   weft_type type, int root, weft_comm comm, weft_request* request);

/** As weft_iscatter followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_scatter(const void* send_buf, void* recv_buf, size_t count,
                                  weft_type type, int root, weft_comm comm);

/**
 * Start sending a block of `count` elements from every rank to every rank.
 *
 * Shapes    send_buf [ranks][count]: block r goes to rank r; recv_buf [ranks][count]: block r
 *           receives what rank r sends to this rank. Elements of `type`.
 * In place  send_buf == WEFT_IN_PLACE: the blocks to be sent are in recv_buf.
 * Lent      both buffers are lent until *request completes.
 * Agree     count * size of type, and the order of starts on `comm`, are the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.6
 */
WEFT_API weft_status weft_ialltoall(const void* send_buf, void* recv_buf, size_t count,
                                    weft_type type, weft_comm comm, weft_request* request);

/** As weft_ialltoall followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_alltoall(const void* send_buf, void* recv_buf, size_t count,
                                   weft_type type, weft_comm comm);

/**
 * Start combining `count` elements of every rank with `op`; `root` gets the result.
 *
 * Shapes    send_buf [count]; on root, recv_buf [count]. Elements of `type`. Other ranks' recv_buf
 *           is ignored.
 * In place  send_buf == WEFT_IN_PLACE on root: its contribution is in recv_buf.
 * Lent      both buffers are lent until *request completes.
 * Agree     root, count, type, op, and the order of starts on `comm`, are the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.7
 */
WEFT_API weft_status weft_ireduce(const void* send_buf, void* recv_buf, size_t count,
                                  weft_type type, weft_op op, int root, weft_comm comm,
                                  weft_request* request);

/** As weft_ireduce followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_reduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                 weft_op op, int root, weft_comm comm);

/**
 * Start combining `count` elements of every rank with `op`; every rank gets the result, the same to
 * the last bit. (Except NaNs: if operands are NaNs that differ in sign or payload, which of them
 * the result gets is unspecified.)
 *
 * Shapes    send_buf [count], recv_buf [count] of `type`.
 * In place  send_buf == WEFT_IN_PLACE: this rank's contribution is in recv_buf.
 * Lent      both buffers are lent until *request completes.
 * Agree     count, type, op, and the order of starts on `comm`, are the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.8
 */
WEFT_API weft_status weft_iallreduce(const void* send_buf, void* recv_buf, size_t count,
                                     weft_type type, weft_op op, weft_comm comm,
                                     weft_request* request);

/** As weft_iallreduce followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_allreduce(const void* send_buf, void* recv_buf, size_t count,
                                    weft_type type, weft_op op, weft_comm comm);

/**
 * Start combining [ranks] blocks of `count` elements of every rank with `op`; rank r gets block r
 * of the result.
 *
 * Shapes    send_buf [ranks][count], recv_buf [count] of `type`.
 * In place  send_buf == WEFT_IN_PLACE: this rank's contribution is in recv_buf [ranks][count],
 *           whose first block gets the result; the others are undefined afterwards.
 * Lent      both buffers are lent until *request completes.
 * Agree     count, type, op, and the order of starts on `comm`, are the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.9
 */
WEFT_API weft_status weft_ireduce_scatter_block(const void* send_buf, void* recv_buf, size_t count,
                                                weft_type type, weft_op op, weft_comm comm,
                                                weft_request* request);

/** As weft_ireduce_scatter_block followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_reduce_scatter_block(const void* send_buf, void* recv_buf, size_t count,
                                               weft_type type, weft_op op, weft_comm comm);

/**
 * Start gathering the blocks of all ranks, which may differ in size, into every rank.
 *
 * Shapes    send_buf [send_count], recv_buf with block r, of recv_counts[r] elements, from element
 *           displs[r] on; elements of `type`. displs == NULL: contiguous blocks.
 *           Displacements may be negative; blocks must not overlap.
 * In place  send_buf == WEFT_IN_PLACE: this rank's block is already in recv_buf; send_count is
 *           ignored.
 * Lent      both buffers are lent until *request completes. The arrays are copied.
 * Agree     recv_counts[r] * size of type for every r, and the order of starts on `comm`, are the
 *           same on every rank; recv_counts[r] equals rank r's send_count. displs may differ.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.5
 */
WEFT_API weft_status weft_iallgatherv(const void* send_buf, size_t send_count, void* recv_buf,
                                      const size_t recv_counts[], const ptrdiff_t displs[],
                                      weft_type type, weft_comm comm, weft_request* request);

/** As weft_iallgatherv followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_allgatherv(const void* send_buf, size_t send_count, void* recv_buf,
                                     const size_t recv_counts[], const ptrdiff_t displs[],
                                     weft_type type, weft_comm comm);

/**
 * Start combining vectors of all ranks with `op`; block r of the result, of recv_counts[r]
 * elements, goes to rank r.
 *
 * Shapes    send_buf [sum of recv_counts], block r behind block r - 1; recv_buf [recv_counts[own
 *           rank]]; of `type`.
 * In place  send_buf == WEFT_IN_PLACE: this rank's contribution is in recv_buf [sum of
 *           recv_counts], whose first elements get the result; the others are undefined afterwards.
 * Lent      both buffers are lent until *request completes. The array is copied.
 * Agree     recv_counts, type, op, and the order of starts on `comm`, are the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.10
 */
WEFT_API weft_status weft_ireduce_scatter(const void* send_buf, void* recv_buf,
                                          const size_t recv_counts[], weft_type type, weft_op op,
                                          weft_comm comm, weft_request* request);

/** As weft_ireduce_scatter followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_reduce_scatter(const void* send_buf, void* recv_buf,
                                         const size_t recv_counts[], weft_type type, weft_op op,
                                         weft_comm comm);

/**
 * Start an inclusive prefix reduction of `count` elements with `op`: rank r gets the result for
 * ranks 0..r.
 *
 * Shapes    send_buf [count], recv_buf [count] of `type`.
 * In place  send_buf == WEFT_IN_PLACE: this rank's contribution is in recv_buf.
 * Lent      both buffers are lent until *request completes.
 * Agree     count, type, op, and the order of starts on `comm`, are the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.11
 */
WEFT_API weft_status weft_iscan(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                weft_op op, weft_comm comm, weft_request* request);

/** As weft_iscan followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_scan(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                               weft_op op, weft_comm comm);

/**
 * Start an exclusive prefix reduction of `count` elements with `op`: rank r gets the result for
 * ranks 0..r-1.
 *
 * Shapes    send_buf [count], recv_buf [count] of `type`. Rank 0 gets nothing: unless in place, its
 *           recv_buf is ignored and may be NULL.
 * In place  send_buf == WEFT_IN_PLACE: this rank's contribution is in recv_buf.
 * Lent      both buffers are lent until *request completes.
 * Agree     count, type, op, and the order of starts on `comm`, are the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.12
 */
WEFT_API weft_status weft_iexscan(const void* send_buf, void* recv_buf, size_t count,
                                  weft_type type, weft_op op, weft_comm comm,
                                  weft_request* request);

/** As weft_iexscan followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_exscan(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                 weft_op op, weft_comm comm);

/**
 * Start gathering the blocks of all ranks, which may differ in size, at `root`.
 *
 * Shapes    send_buf [send_count]; at root recv_buf with block r, of recv_counts[r] elements, from
 *           element displs[r] on; elements of `type`. displs == NULL: contiguous blocks.
 *           Displacements may be negative; blocks do not overlap. Elsewhere recv_buf and the arrays
 *           are ignored.
 * In place  at root, send_buf == WEFT_IN_PLACE: its block is already in recv_buf; send_count is
 *           ignored.
 * Lent      both buffers are lent until *request completes. The arrays are copied.
 * Agree     root, and the order of starts on `comm`, are the same on every rank; recv_counts[r] at
 *           root is send_count of rank r.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.3
 */
WEFT_API weft_status weft_igatherv(const void* send_buf, size_t send_count, void* recv_buf,
                                   const size_t recv_counts[], const ptrdiff_t displs[],
                                   weft_type type, int root, weft_comm comm, weft_request* request);

/** As weft_igatherv followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_gatherv(const void* send_buf, size_t send_count, void* recv_buf,
                                  const size_t recv_counts[], const ptrdiff_t displs[],
                                  weft_type type, int root, weft_comm comm);

/**
 * Start scattering blocks, which may differ in size, from `root`.
 *
 * Shapes    at root send_buf with block r, of send_counts[r] elements, from element displs[r] on;
 *           recv_buf [recv_count]; elements of `type`. displs == NULL: contiguous blocks.
 *           Displacements may be negative. Elsewhere send_buf and the arrays are ignored.
 * In place  at root, recv_buf == WEFT_IN_PLACE: its block stays in send_buf; recv_count is ignored.
 * Lent      both buffers are lent until *request completes. The arrays are copied.
 * Agree     root, and the order of starts on `comm`, are the same on every rank; send_counts[r] at
 *           root is recv_count of rank r.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.4
 */
WEFT_API weft_status weft_iscatterv(const void* send_buf, const size_t send_counts[],
                                    const ptrdiff_t displs[], void* recv_buf, size_t recv_count,
                                    weft_type type, int root, weft_comm comm,
                                    weft_request* request);

/** As weft_iscatterv followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_scatterv(const void* send_buf, const size_t send_counts[],
                                   const ptrdiff_t displs[], void* recv_buf, size_t recv_count,
                                   weft_type type, int root, weft_comm comm);

/**
 * Start sending a block to every rank and receiving one from each; blocks may differ in size.
 *
 * Shapes    send_buf with the block for rank r, of send_counts[r] elements, from element
 *           send_displs[r] on; recv_buf likewise by recv_counts and recv_displs; elements of
 *           `type`. Displacements == NULL: contiguous blocks. They may be negative; blocks in
 *           recv_buf do not overlap.
 * In place  send_buf == WEFT_IN_PLACE, on every rank: the blocks to send are in recv_buf, and
 *           received ones replace them; send_counts and send_displs are ignored.
 * Lent      both buffers are lent until *request completes. The arrays are copied.
 * Agree     the order of starts on `comm` is the same on every rank; send_counts[r] of rank s is
 *           recv_counts[s] of rank r.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.6
 */
WEFT_API weft_status weft_ialltoallv(const void* send_buf, const size_t send_counts[],
                                     const ptrdiff_t send_displs[], void* recv_buf,
                                     const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                     weft_type type, weft_comm comm, weft_request* request);

/** As weft_ialltoallv followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_alltoallv(const void* send_buf, const size_t send_counts[],
                                    const ptrdiff_t send_displs[], void* recv_buf,
                                    const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                    weft_type type, weft_comm comm);

/**
 * Start sending a block to every rank and receiving one from each; blocks may differ in size and
 * type.
 *
 * Shapes    send_buf with the block for rank r, of send_counts[r] elements of send_types[r], from
 *           byte send_displs[r] on; recv_buf likewise by recv_counts, recv_displs and recv_types.
 *           Displacements == NULL: contiguous blocks. They may be negative; blocks in recv_buf do
 *           not overlap.
 * In place  send_buf == WEFT_IN_PLACE, on every rank: the blocks to send are in recv_buf, and
 *           received ones replace them; send_counts, send_displs and send_types are ignored.
 * Lent      both buffers are lent until *request completes. The arrays are copied.
 * Agree     the order of starts on `comm` is the same on every rank; the bytes that rank s sends to
 *           rank r are as many as rank r expects from rank s.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           Failures after the start come from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 6.12.6
 */
WEFT_API weft_status weft_ialltoallw(const void* send_buf, const size_t send_counts[],
                                     const ptrdiff_t send_displs[], const weft_type send_types[],
                                     void* recv_buf, const size_t recv_counts[],
                                     const ptrdiff_t recv_displs[], const weft_type recv_types[],
                                     weft_comm comm, weft_request* request);

/** As weft_ialltoallw followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_alltoallw(const void* send_buf, const size_t send_counts[],
                                    const ptrdiff_t send_displs[], const weft_type send_types[],
                                    void* recv_buf, const size_t recv_counts[],
                                    const ptrdiff_t recv_displs[], const weft_type recv_types[],
                                    weft_comm comm);

/**
 * Start sending `count` elements to all neighbors, and gathering theirs. `comm` has a topology: see
 * weft_comm_cart and weft_comm_graph.
 *
 * Shapes    send_buf [count], recv_buf [indegree][count]; block k comes from neighbor k. Elements
 *           of `type`. Blocks of missing neighbors (WEFT_RANK_NONE) stay as they are.
 * In place  never.
 * Lent      both buffers are lent until *request completes.
 * Agree     the order of starts on `comm` is the same on every rank; count * size of type is the
 *           same on neighbors.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           WEFT_REFUSED_ARGUMENT also if `comm` has no topology. Failures after the start come
 *           from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 8.7.1
 */
WEFT_API weft_status weft_ineighbor_allgather(const void* send_buf, void* recv_buf, size_t count,
                                              weft_type type, weft_comm comm,
                                              weft_request* request);

/** As weft_ineighbor_allgather followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_neighbor_allgather(const void* send_buf, void* recv_buf, size_t count,
                                             weft_type type, weft_comm comm);

/**
 * Start sending `send_count` elements to all neighbors, and gathering theirs, which may differ in
 * number.
 *
 * Shapes    send_buf [send_count], recv_buf with block k, of recv_counts[k] elements, from element
 *           displs[k] on; elements of `type`. displs == NULL: contiguous blocks. They may be
 *           negative; blocks do not overlap. Blocks of missing neighbors stay as they are; their
 *           counts and displacements are ignored: they take no room.
 * In place  never.
 * Lent      both buffers are lent until *request completes. The arrays are copied.
 * Agree     the order of starts on `comm` is the same on every rank; recv_counts[k] is the
 *           send_count of neighbor k.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           WEFT_REFUSED_ARGUMENT also if `comm` has no topology. Failures after the start come
 *           from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 8.7.1
 */
WEFT_API weft_status weft_ineighbor_allgatherv(const void* send_buf, size_t send_count,
                                               void* recv_buf, const size_t recv_counts[],
                                               const ptrdiff_t displs[], weft_type type,
                                               weft_comm comm, weft_request* request);

/** As weft_ineighbor_allgatherv followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_neighbor_allgatherv(const void* send_buf, size_t send_count,
                                              void* recv_buf, const size_t recv_counts[],
                                              const ptrdiff_t displs[], weft_type type,
                                              weft_comm comm);

/**
 * Start sending a block of `count` elements to each neighbor, and receiving one from each. `comm`
 * has a topology: see weft_comm_cart and weft_comm_graph, which say which block arrives where.
 *
 * Shapes    send_buf [outdegree][count], recv_buf [indegree][count]. Elements of `type`. Blocks of
 *           missing neighbors are neither sent nor received.
 * In place  never.
 * Lent      both buffers are lent until *request completes.
 * Agree     the order of starts on `comm` is the same on every rank; count * size of type is the
 *           same on neighbors.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           WEFT_REFUSED_ARGUMENT also if `comm` has no topology. Failures after the start come
 *           from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 8.7.2
 */
WEFT_API weft_status weft_ineighbor_alltoall(const void* send_buf, void* recv_buf, size_t count,
                                             weft_type type, weft_comm comm, weft_request* request);

/** As weft_ineighbor_alltoall followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_neighbor_alltoall(const void* send_buf, void* recv_buf, size_t count,
                                            weft_type type, weft_comm comm);

/**
 * Start sending a block to each neighbor, and receiving one from each; blocks may differ in size.
 *
 * Shapes    as weft_ialltoallv, with neighbors in place of ranks: send_counts and send_displs
 *           [outdegree], recv_counts and recv_displs [indegree]. Those of missing neighbors are
 *           ignored: their blocks take no room. Both buffers may lie in one array if no block that
 *           is sent overlaps one that is received.
 * In place  never.
 * Lent      both buffers are lent until *request completes. The arrays are copied.
 * Agree     the order of starts on `comm` is the same on every rank; both ends of an edge give its
 *           block the same count.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           WEFT_REFUSED_ARGUMENT also if `comm` has no topology. Failures after the start come
 *           from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 8.7.2
 */
WEFT_API weft_status weft_ineighbor_alltoallv(const void* send_buf, const size_t send_counts[],
                                              const ptrdiff_t send_displs[], void* recv_buf,
                                              const size_t recv_counts[],
                                              const ptrdiff_t recv_displs[], weft_type type,
                                              weft_comm comm, weft_request* request);

/** As weft_ineighbor_alltoallv followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_neighbor_alltoallv(const void* send_buf, const size_t send_counts[],
                                             const ptrdiff_t send_displs[], void* recv_buf,
                                             const size_t recv_counts[],
                                             const ptrdiff_t recv_displs[], weft_type type,
                                             weft_comm comm);

/**
 * Start sending a block to each neighbor, and receiving one from each; blocks may differ in size
 * and type.
 *
 * Shapes    as weft_ialltoallw, with neighbors in place of ranks: the arrays have outdegree and
 *           indegree elements. Those of missing neighbors are ignored: their blocks take no room.
 *           Both buffers may lie in one array if no block that is sent overlaps one that is
 *           received.
 * In place  never.
 * Lent      both buffers are lent until *request completes. The arrays are copied.
 * Agree     the order of starts on `comm` is the same on every rank; both ends of an edge give its
 *           block the same number of bytes.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Cost      the first call with a signature builds a schedule (allocates); later calls do not
 *           allocate.
 * Returns   WEFT_OK: started. WEFT_REFUSED_*: nothing started, *request untouched.
 *           WEFT_REFUSED_ARGUMENT also if `comm` has no topology. Failures after the start come
 *           from weft_test and weft_wait.
 * Undefined touching recv_buf, or writing send_buf, before completion.
 * Source    MPI-5.0 section 8.7.2
 */
WEFT_API weft_status weft_ineighbor_alltoallw(const void* send_buf, const size_t send_counts[],
                                              const ptrdiff_t send_displs[],
                                              const weft_type send_types[], void* recv_buf,
                                              const size_t recv_counts[],
                                              const ptrdiff_t recv_displs[],
                                              const weft_type recv_types[], weft_comm comm,
                                              weft_request* request);

/** As weft_ineighbor_alltoallw followed by weft_wait; see weft_barrier. */
WEFT_API weft_status weft_neighbor_alltoallw(const void* send_buf, const size_t send_counts[],
                                             const ptrdiff_t send_displs[],
                                             const weft_type send_types[], void* recv_buf,
                                             const size_t recv_counts[],
                                             const ptrdiff_t recv_displs[],
                                             const weft_type recv_types[], weft_comm comm);

/* --- Persistent forms ------------------------------------------------------------------------ */

/**
 * Make an inactive persistent request for a barrier; weft_start starts it, any number of times.
 * For all persistent forms:
 *
 * Shapes    as the nonblocking form. Every start uses the buffers named here.
 * Lent      the buffers, from a start until its completion; in between they are the caller's.
 * Agree     the order in which persistent requests are made on `comm` is the same on every rank.
 *           Starts may come in any order, also relative to nonblocking calls, but their number is
 *           the same on every rank.
 * Calling   any thread, one at a time per communicator. Local: sends nothing, waits for no rank.
 * Cost      the first request with a signature builds a schedule; every request allocates. Starts
 *           do not.
 * Returns   WEFT_OK: *request is inactive; weft_request_free frees it.
 *           WEFT_REFUSED_*: nothing was made, *request untouched; does not count in the order.
 * Source    MPI-5.0 section 6.13
 */
WEFT_API weft_status weft_barrier_init(weft_comm comm, weft_request* request);

/** The persistent form of weft_ibcast; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_bcast_init(void* buf, size_t count, weft_type type, int root,
                                     weft_comm comm, weft_request* request);

/** The persistent form of weft_iallgather; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_allgather_init(const void* send_buf, void* recv_buf, size_t count,
                                         weft_type type, weft_comm comm, weft_request* request);

/** The persistent form of weft_igather; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_gather_init(const void* send_buf, void* recv_buf, size_t count,
                                      weft_type type, int root, weft_comm comm,
                                      weft_request* request);

/** The persistent form of weft_iscatter; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_scatter_init(const void* send_buf, void* recv_buf, size_t count,
                                       weft_type type, int root, weft_comm comm,
                                       weft_request* request);

/** The persistent form of weft_ialltoall; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_alltoall_init(const void* send_buf, void* recv_buf, size_t count,
                                        weft_type type, weft_comm comm, weft_request* request);

/**
 * The persistent form of weft_ireduce; see weft_barrier_init. `op` may be freed at any time.
 * Source: MPI-5.0 section 6.13
 */
WEFT_API weft_status weft_reduce_init(const void* send_buf, void* recv_buf, size_t count,
                                      weft_type type, weft_op op, int root, weft_comm comm,
                                      weft_request* request);

/**
 * The persistent form of weft_iallreduce; see weft_barrier_init. `op` may be freed at any time.
 * Source: MPI-5.0 section 6.13
 */
WEFT_API weft_status weft_allreduce_init(const void* send_buf, void* recv_buf, size_t count,
                                         weft_type type, weft_op op, weft_comm comm,
                                         weft_request* request);

/**
 * The persistent form of weft_ireduce_scatter_block; see weft_barrier_init. `op` may be freed at
 * any time. Source: MPI-5.0 section 6.13
 */
WEFT_API weft_status weft_reduce_scatter_block_init(const void* send_buf, void* recv_buf,
                                                    size_t count, weft_type type, weft_op op,
                                                    weft_comm comm, weft_request* request);

/** The persistent form of weft_iallgatherv; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_allgatherv_init(const void* send_buf, size_t send_count, void* recv_buf,
                                          const size_t recv_counts[], const ptrdiff_t displs[],
                                          weft_type type, weft_comm comm, weft_request* request);

/**
 * The persistent form of weft_ireduce_scatter; see weft_barrier_init. `op` may be freed at any
 * time. Source: MPI-5.0 section 6.13
 */
WEFT_API weft_status weft_reduce_scatter_init(const void* send_buf, void* recv_buf,
                                              const size_t recv_counts[], weft_type type,
                                              weft_op op, weft_comm comm, weft_request* request);

/**
 * The persistent form of weft_iscan; see weft_barrier_init. `op` may be freed at any time.
 * Source: MPI-5.0 section 6.13
 */
WEFT_API weft_status weft_scan_init(const void* send_buf, void* recv_buf, size_t count,
                                    weft_type type, weft_op op, weft_comm comm,
                                    weft_request* request);

/**
 * The persistent form of weft_iexscan; see weft_barrier_init. `op` may be freed at any time.
 * Source: MPI-5.0 section 6.13
 */
WEFT_API weft_status weft_exscan_init(const void* send_buf, void* recv_buf, size_t count,
                                      weft_type type, weft_op op, weft_comm comm,
                                      weft_request* request);

/** The persistent form of weft_igatherv; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_gatherv_init(const void* send_buf, size_t send_count, void* recv_buf,
                                       const size_t recv_counts[], const ptrdiff_t displs[],
                                       weft_type type, int root, weft_comm comm,
                                       weft_request* request);

/** The persistent form of weft_iscatterv; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_scatterv_init(const void* send_buf, const size_t send_counts[],
                                        const ptrdiff_t displs[], void* recv_buf, size_t recv_count,
                                        weft_type type, int root, weft_comm comm,
                                        weft_request* request);

/** The persistent form of weft_ialltoallv; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_alltoallv_init(const void* send_buf, const size_t send_counts[],
                                         const ptrdiff_t send_displs[], void* recv_buf,
                                         const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                         weft_type type, weft_comm comm, weft_request* request);

/** The persistent form of weft_ialltoallw; see weft_barrier_init. Source: MPI-5.0 section 6.13 */
WEFT_API weft_status weft_alltoallw_init(const void* send_buf, const size_t send_counts[],
                                         const ptrdiff_t send_displs[],
                                         const weft_type send_types[], void* recv_buf,
                                         const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                         const weft_type recv_types[], weft_comm comm,
                                         weft_request* request);

/**
 * The persistent form of weft_ineighbor_allgather; see weft_barrier_init. Source: MPI-5.0 section
 * 8.8
 */
WEFT_API weft_status weft_neighbor_allgather_init(const void* send_buf, void* recv_buf,
                                                  size_t count, weft_type type, weft_comm comm,
                                                  weft_request* request);

/**
 * The persistent form of weft_ineighbor_allgatherv; see weft_barrier_init. Source: MPI-5.0 section
 * 8.8
 */
WEFT_API weft_status weft_neighbor_allgatherv_init(const void* send_buf, size_t send_count,
                                                   void* recv_buf, const size_t recv_counts[],
                                                   const ptrdiff_t displs[], weft_type type,
                                                   weft_comm comm, weft_request* request);

/**
 * The persistent form of weft_ineighbor_alltoall; see weft_barrier_init. Source: MPI-5.0 section
 * 8.8
 */
WEFT_API weft_status weft_neighbor_alltoall_init(const void* send_buf, void* recv_buf, size_t count,
                                                 weft_type type, weft_comm comm,
                                                 weft_request* request);

/**
 * The persistent form of weft_ineighbor_alltoallv; see weft_barrier_init. Source: MPI-5.0 section
 * 8.8
 */
WEFT_API weft_status weft_neighbor_alltoallv_init(const void* send_buf, const size_t send_counts[],
                                                  const ptrdiff_t send_displs[], void* recv_buf,
                                                  const size_t recv_counts[],
                                                  const ptrdiff_t recv_displs[], weft_type type,
                                                  weft_comm comm, weft_request* request);

/**
 * The persistent form of weft_ineighbor_alltoallw; see weft_barrier_init. Source: MPI-5.0 section
 * 8.8
 */
WEFT_API weft_status weft_neighbor_alltoallw_init(const void* send_buf, const size_t send_counts[],
                                                  const ptrdiff_t send_displs[],
                                                  const weft_type send_types[], void* recv_buf,
                                                  const size_t recv_counts[],
                                                  const ptrdiff_t recv_displs[],
                                                  const weft_type recv_types[], weft_comm comm,
                                                  weft_request* request);

#ifdef __cplusplus
}
#endif

#endif
