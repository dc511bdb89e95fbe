/* The collectives of LibNBC's interface: a part of weft/nbc.h, which programs include. */
#ifndef WEFT_NBC_COLLECTIVES_H
#define WEFT_NBC_COLLECTIVES_H

#ifndef WEFT_NBC_H
#error "include nbc.h"
#endif

enum {
    WEFT_NBC_BCAST,
    WEFT_NBC_GATHER,
    WEFT_NBC_SCATTER,
    WEFT_NBC_ALLGATHER,
    WEFT_NBC_ALLTOALL,
    WEFT_NBC_NEIGHBOR_ALLGATHER,
    WEFT_NBC_NEIGHBOR_ALLTOALL
};

/* Starts it in Weft, all in bytes. */
static WEFT_INLINE weft_status weft_nbc_start_move(int kind, const weft_nbc_side* send,
                                                   const weft_nbc_side* recv, int is_v,
                                                   int is_in_place, int root, weft_comm comm,
                                                   weft_request* request) {
    const void* from = is_in_place && kind != WEFT_NBC_SCATTER ? WEFT_IN_PLACE : send->data;
    void* into =
        is_in_place && kind == WEFT_NBC_SCATTER ? (void*)(intptr_t)WEFT_IN_PLACE : recv->data;
    const size_t bytes =
        send->bytes ? send->bytes : recv->bytes; /* 0 on a side that does not count */
    switch (kind) {
        case WEFT_NBC_BCAST:
            return weft_ibcast(send->data ? send->data : recv->data, bytes, WEFT_BYTE, root, comm,
                               request);
        case WEFT_NBC_GATHER:
            if (!is_v) return weft_igather(from, into, bytes, WEFT_BYTE, root, comm, request);
            return weft_igatherv(from, send->bytes, into, recv->sizes, recv->offsets, WEFT_BYTE,
                                 root, comm, request);
        case WEFT_NBC_SCATTER:
            if (!is_v) return weft_iscatter(from, into, bytes, WEFT_BYTE, root, comm, request);
            return weft_iscatterv(from, send->sizes, send->offsets, into, recv->bytes, WEFT_BYTE,
                                  root, comm, request);
        case WEFT_NBC_ALLGATHER:
            if (!is_v) return weft_iallgather(from, into, bytes, WEFT_BYTE, comm, request);
            return weft_iallgatherv(from, send->bytes, into, recv->sizes, recv->offsets, WEFT_BYTE,
                                    comm, request);
        case WEFT_NBC_ALLTOALL:
            if (!is_v) return weft_ialltoall(from, into, bytes, WEFT_BYTE, comm, request);
            return weft_ialltoallv(from, send->sizes, send->offsets, into, recv->sizes,
                                   recv->offsets, WEFT_BYTE, comm, request);
        case WEFT_NBC_NEIGHBOR_ALLGATHER:
            if (!is_v) return weft_ineighbor_allgather(from, into, bytes, WEFT_BYTE, comm, request);
            return weft_ineighbor_allgatherv(from, send->bytes, into, recv->sizes, recv->offsets,
                                             WEFT_BYTE, comm, request);
        default:
            if (!is_v) return weft_ineighbor_alltoall(from, into, bytes, WEFT_BYTE, comm, request);
            return weft_ineighbor_alltoallv(from, send->sizes, send->offsets, into, recv->sizes,
                                            recv->offsets, WEFT_BYTE, comm, request);
    }
}

/* All collectives that only move data. A side with -1 blocks has one for each rank. As in
   LibNBC, equal buffers also mean in place. */
static WEFT_INLINE int weft_nbc_move(int kind, weft_nbc_side send, weft_nbc_side recv, int root,
                                     MPI_Comm comm, NBC_Handle* handle) {
    const int is_v = send.is_v || recv.is_v;
    const int is_rooted = kind <= WEFT_NBC_SCATTER;
    const int is_among_neighbors = kind >= WEFT_NBC_NEIGHBOR_ALLGATHER;
    const void* marked = kind == WEFT_NBC_SCATTER ? recv.buf : send.buf;
    int sends, receives, is_in_place, first = 0, last = 0;
    struct weft_nbc_call* call = NULL;
    weft_nbc_comm* own = NULL;
    int code = weft_nbc_begin(handle, comm, &own, &call);
    if (code == NBC_OK && is_rooted && (root < 0 || root >= own->ranks)) code = NBC_INVALID_PARAM;
    if (code != NBC_OK) return weft_nbc_begun(handle, call, code);
    if (send.blocks < 0) send.blocks = own->ranks;
    if (recv.blocks < 0) recv.blocks = own->ranks;

    /* which sides count on this rank */
    sends = !is_rooted || kind == WEFT_NBC_GATHER || own->rank == root;
    receives =
        !is_rooted || kind == WEFT_NBC_SCATTER || (own->rank == root) == (kind == WEFT_NBC_GATHER);
    is_in_place = kind != WEFT_NBC_BCAST && !is_among_neighbors && sends && receives &&
                  (marked == MPI_IN_PLACE || (send.buf && send.buf == recv.buf && !send.types));
    if (is_in_place && kind == WEFT_NBC_SCATTER) {
        receives = 0;
    } else if (is_in_place) {
        sends = 0;
        first = kind == WEFT_NBC_ALLTOALL ? 0 : own->rank;
        last = kind == WEFT_NBC_ALLTOALL ? own->ranks : own->rank + 1;
    } else if (is_among_neighbors) {
        last = recv.blocks; /* those of neighbors that are not there stay as they are */
    }
    if (sends) code = weft_nbc_lay_out_send(call, &send);
    if (receives && code == NBC_OK) code = weft_nbc_lay_out_recv(call, &recv, first, last);
    if (sends && receives && !is_v && send.bytes != recv.bytes) code = NBC_INVALID_PARAM;
    if (code == NBC_OK) {
        code = weft_nbc_code(weft_nbc_start_move(kind, &send, &recv, is_v, is_in_place, root,
                                                 is_among_neighbors ? own->neighbors : own->comm,
                                                 &call->request));
    }
    return weft_nbc_begun(handle, call, code);
}

static WEFT_INLINE int NBC_Ibarrier(MPI_Comm comm, NBC_Handle* handle) {
    struct weft_nbc_call* call = NULL;
    weft_nbc_comm* own = NULL;
    int code = weft_nbc_begin(handle, comm, &own, &call);
    if (code == NBC_OK) code = weft_nbc_code(weft_ibarrier(own->comm, &call->request));
    return weft_nbc_begun(handle, call, code);
}

static WEFT_INLINE int NBC_Ibcast(void* buffer, int count, MPI_Datatype datatype, int root,
                                  MPI_Comm comm, NBC_Handle* handle) {
    const weft_nbc_side side = weft_nbc_blocks(buffer, count, datatype, 1);
    return weft_nbc_move(WEFT_NBC_BCAST, side, side, root, comm, handle);
}

static WEFT_INLINE int NBC_Ibcast_inter(void* buffer, int count, MPI_Datatype datatype, int root,
                                        MPI_Comm comm, NBC_Handle* handle) {
    (void)buffer, (void)count, (void)datatype, (void)root, (void)comm, (void)handle;
    return NBC_NOT_IMPLEMENTED;
}

/* What is sent and received, as MPI's calls say it: equal blocks, or of counts at displacements. */
#define WEFT_NBC_FROM const void *sendbuf, int sendcount, MPI_Datatype sendtype
#define WEFT_NBC_FROM_V \
    const void *sendbuf, const int *sendcounts, const int *sdispls, MPI_Datatype sendtype
#define WEFT_NBC_INTO void *recvbuf, int recvcount, MPI_Datatype recvtype
#define WEFT_NBC_INTO_V \
    void *recvbuf, const int *recvcounts, const int *rdispls, MPI_Datatype recvtype

/* The same as a side of so many blocks. */
#define WEFT_NBC_SENT(blocks) weft_nbc_blocks(sendbuf, sendcount, sendtype, blocks)
#define WEFT_NBC_SENT_V(blocks) weft_nbc_blocks_v(sendbuf, sendcounts, sdispls, sendtype, blocks)
#define WEFT_NBC_GOT(blocks) weft_nbc_blocks(recvbuf, recvcount, recvtype, blocks)
#define WEFT_NBC_GOT_V(blocks) weft_nbc_blocks_v(recvbuf, recvcounts, rdispls, recvtype, blocks)

/* Functions of those arguments, and a root if there is one. */
#define WEFT_NBC_ROOTED(name, kind, from, into, sent, got)                                 \
    static WEFT_INLINE int name(WEFT_NBC_##from, WEFT_NBC_##into, int root, MPI_Comm comm, \
                                NBC_Handle* handle) {                                      \
        return weft_nbc_move(WEFT_NBC_##kind, WEFT_NBC_##sent, WEFT_NBC_##got, root, comm, \
                             handle);                                                      \
    }
#define WEFT_NBC_ALL(name, kind, from, into, sent, got)                                          \
    static WEFT_INLINE int name(WEFT_NBC_##from, WEFT_NBC_##into, MPI_Comm comm,                 \
                                NBC_Handle* handle) {                                            \
        return weft_nbc_move(WEFT_NBC_##kind, WEFT_NBC_##sent, WEFT_NBC_##got, 0, comm, handle); \
    }

WEFT_NBC_ROOTED(NBC_Igather, GATHER, FROM, INTO, SENT(1), GOT(-1))
WEFT_NBC_ROOTED(NBC_Igatherv, GATHER, FROM, INTO_V, SENT(1), GOT_V(-1))
WEFT_NBC_ROOTED(NBC_Iscatter, SCATTER, FROM, INTO, SENT(-1), GOT(1))
WEFT_NBC_ROOTED(NBC_Iscatterv, SCATTER, FROM_V, INTO, SENT_V(-1), GOT(1))
WEFT_NBC_ALL(NBC_Iallgather, ALLGATHER, FROM, INTO, SENT(1), GOT(-1))
WEFT_NBC_ALL(NBC_Iallgatherv, ALLGATHER, FROM, INTO_V, SENT(1), GOT_V(-1))
WEFT_NBC_ALL(NBC_Ialltoall, ALLTOALL, FROM, INTO, SENT(-1), GOT(-1))
WEFT_NBC_ALL(NBC_Ialltoallv, ALLTOALL, FROM_V, INTO_V, SENT_V(-1), GOT_V(-1))

static WEFT_INLINE int NBC_Ialltoallw(const void* sendbuf, const int* sendcounts,
                                      const int* sdispls, const MPI_Datatype* sendtypes,
                                      void* recvbuf, const int* recvcounts, const int* rdispls,
                                      const MPI_Datatype* recvtypes, MPI_Comm comm,
                                      NBC_Handle* handle) {
    return weft_nbc_move(
        WEFT_NBC_ALLTOALL, weft_nbc_blocks_w(sendbuf, sendcounts, sdispls, NULL, sendtypes, -1),
        weft_nbc_blocks_w(recvbuf, recvcounts, rdispls, NULL, recvtypes, -1), 0, comm, handle);
}

/* --- Reductions ------------------------------------------------------------------------------ */

enum {
    WEFT_NBC_SIGNED = 1,
    WEFT_NBC_UNSIGNED = 2,
    WEFT_NBC_REAL = 4,
    WEFT_NBC_LOGICAL = 8,
    WEFT_NBC_BYTES = 16,
    WEFT_NBC_PAIR = 32,
    WEFT_NBC_COMPLEX = 64
};

static WEFT_INLINE int weft_nbc_is_among(MPI_Datatype type, const MPI_Datatype* types, int count) {
    int i;
    for (i = 0; i < count; ++i)
        if (type == types[i]) return 1;
    return 0;
}

/* The kind of a predefined type; 0 if Weft has none like it. */
static WEFT_INLINE int weft_nbc_kind(MPI_Datatype type) {
    const MPI_Datatype signeds[] = {
        MPI_INT,      MPI_LONG,    MPI_LONG_LONG_INT, MPI_SHORT, MPI_SIGNED_CHAR, MPI_INT8_T,
        MPI_INT16_T,  MPI_INT32_T, MPI_INT64_T,       MPI_AINT,  MPI_OFFSET,      MPI_INTEGER,
#ifdef MPI_COUNT
        MPI_COUNT,
#endif
#ifdef MPI_INTEGER1
        MPI_INTEGER1,
#endif
#ifdef MPI_INTEGER2
        MPI_INTEGER2,
#endif
#ifdef MPI_INTEGER4
        MPI_INTEGER4,
#endif
#ifdef MPI_INTEGER8
        MPI_INTEGER8,
#endif
    };
    const MPI_Datatype unsigneds[] = {MPI_UNSIGNED,      MPI_UNSIGNED_LONG,  MPI_UNSIGNED_LONG_LONG,
                                      MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UINT8_T,
                                      MPI_UINT16_T,      MPI_UINT32_T,       MPI_UINT64_T};
    const MPI_Datatype reals[] = {
        MPI_DOUBLE, MPI_FLOAT, MPI_REAL, MPI_DOUBLE_PRECISION,
#ifdef MPI_REAL4
        MPI_REAL4,
#endif
#ifdef MPI_REAL8
        MPI_REAL8,
#endif
    };
    const MPI_Datatype complexes[] = {
        MPI_C_FLOAT_COMPLEX,    MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX,
#ifdef MPI_CXX_FLOAT_COMPLEX
        MPI_CXX_FLOAT_COMPLEX,
#endif
#ifdef MPI_CXX_DOUBLE_COMPLEX
        MPI_CXX_DOUBLE_COMPLEX,
#endif
    };
    const MPI_Datatype logicals[] = {MPI_C_BOOL, MPI_LOGICAL};
    const MPI_Datatype pairs[] = {MPI_DOUBLE_INT, MPI_FLOAT_INT, MPI_2INT, MPI_LONG_INT,
                                  MPI_2INTEGER};
#define WEFT_NBC_IS_AMONG(types) weft_nbc_is_among(type, types, (int)(sizeof types / sizeof *types))
    if (type == MPI_DATATYPE_NULL) return 0;
    if (type == MPI_BYTE) return WEFT_NBC_BYTES;
    if (WEFT_NBC_IS_AMONG(signeds)) return WEFT_NBC_SIGNED;
    if (WEFT_NBC_IS_AMONG(reals)) return WEFT_NBC_REAL;
    if (WEFT_NBC_IS_AMONG(unsigneds)) return WEFT_NBC_UNSIGNED;
    if (WEFT_NBC_IS_AMONG(logicals)) return WEFT_NBC_LOGICAL;
    if (WEFT_NBC_IS_AMONG(complexes)) return WEFT_NBC_COMPLEX;
    return WEFT_NBC_IS_AMONG(pairs) ? WEFT_NBC_PAIR : 0;
#undef WEFT_NBC_IS_AMONG
}

/* Weft's names of a predefined type and operation. */
static WEFT_INLINE int weft_nbc_reduction(MPI_Datatype type, MPI_Op op, weft_type* element,
                                          weft_op* combines) {
    static const weft_type integers[2][4] = {{WEFT_INT8, WEFT_INT16, WEFT_INT32, WEFT_INT64},
                                             {WEFT_UINT8, WEFT_UINT16, WEFT_UINT32, WEFT_UINT64}};
    const struct {
        MPI_Op mpi;
        weft_op weft;
        int kinds;
    } ops[] = {
        {MPI_SUM, WEFT_SUM, 71},   {MPI_PROD, WEFT_PROD, 71},     {MPI_MIN, WEFT_MIN, 7},
        {MPI_MAX, WEFT_MAX, 7},    {MPI_LAND, WEFT_LAND, 11},     {MPI_LOR, WEFT_LOR, 11},
        {MPI_LXOR, WEFT_LXOR, 11}, {MPI_BAND, WEFT_BAND, 19},     {MPI_BOR, WEFT_BOR, 19},
        {MPI_BXOR, WEFT_BXOR, 19}, {MPI_MINLOC, WEFT_MINLOC, 32}, {MPI_MAXLOC, WEFT_MAXLOC, 32}};
    const int kind = weft_nbc_kind(type);
    int size, place = 0, i;
    if (kind == 0) return NBC_DATATYPE_NOT_SUPPORTED;
    MPI_Type_size(type, &size);
    while (place < 4 && 1 << place != size) ++place;
    if (kind == WEFT_NBC_BYTES) {
        *element = WEFT_BYTE;
    } else if (kind == WEFT_NBC_PAIR) {
        *element = type == MPI_DOUBLE_INT  ? WEFT_FLOAT64_INT32
                   : type == MPI_FLOAT_INT ? WEFT_FLOAT32_INT32
                   : size == 8             ? WEFT_INT32_INT32
                                           : WEFT_INT64_INT32;
        if (type == MPI_2INTEGER && size != 8) return NBC_DATATYPE_NOT_SUPPORTED;
    } else if (kind == WEFT_NBC_COMPLEX) {
        *element = size == 8 ? WEFT_COMPLEX64 : WEFT_COMPLEX128;
        if (size != 8 && size != 16) return NBC_DATATYPE_NOT_SUPPORTED;
    } else if (place == 4 || (kind == WEFT_NBC_REAL && place < 2)) {
        return NBC_DATATYPE_NOT_SUPPORTED;
    } else if (kind == WEFT_NBC_REAL) {
        *element = place == 2 ? WEFT_FLOAT32 : WEFT_FLOAT64;
    } else {
        *element = integers[kind != WEFT_NBC_SIGNED][place];
    }
    for (i = 0; i < (int)(sizeof ops / sizeof *ops); ++i) {
        if (op != ops[i].mpi || !(kind & ops[i].kinds)) continue;
        *combines = ops[i].weft;
        return NBC_OK;
    }
    return NBC_OP_NOT_SUPPORTED;
}

/* Weft calls this in the program's tests and waits. */
static WEFT_INLINE void weft_nbc_apply(const void* in, void* inout, size_t count, weft_type type,
                                       void* context) {
    const struct weft_nbc_call* call = (const struct weft_nbc_call*)context;
    const size_t at_once = (size_t)1 << 20;
    const char* from = (const char*)in;
    char* into = (char*)inout;
    int size;
    (void)type;
    MPI_Type_size(call->combined, &size);
    while (count > 0) {
        const size_t now = count < at_once ? count : at_once;
        MPI_Reduce_local((void*)(uintptr_t)from, into, (int)now, call->combined, call->combines);
        from += now * (size_t)size;
        into += now * (size_t)size;
        count -= now;
    }
}

static WEFT_INLINE int weft_nbc_is_predefined(MPI_Op op) {
    const MPI_Op all[] = {MPI_OP_NULL, MPI_SUM,    MPI_PROD,   MPI_MIN,    MPI_MAX,
                          MPI_LAND,    MPI_LOR,    MPI_LXOR,   MPI_BAND,   MPI_BOR,
                          MPI_BXOR,    MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE};
    int i;
    for (i = 0; i < (int)(sizeof all / sizeof *all); ++i)
        if (op == all[i]) return 1;
    return 0;
}

/* The program's operation and its elements, as Weft takes them. They must exist until the call is
   done. */
static WEFT_INLINE int weft_nbc_own_reduction(struct weft_nbc_call* call, MPI_Datatype type,
                                              MPI_Op op, weft_type* element, weft_op* combines) {
    int commutes = 0, size = 0;
    weft_status status;
    if (type == MPI_DATATYPE_NULL || !weft_nbc_is_plain(type)) return NBC_DATATYPE_NOT_SUPPORTED;
    MPI_Type_size(type, &size);
    if (size < 1 || size > WEFT_OPAQUE_MAX) return NBC_DATATYPE_NOT_SUPPORTED;
    MPI_Op_commutative(op, &commutes);
    call->combined = type;
    call->combines = op;
    status = weft_op_create_confined(weft_nbc_apply, commutes, call, &call->op);
    *element = WEFT_OPAQUE(size);
    *combines = call->op;
    return weft_nbc_code(status);
}

enum { WEFT_NBC_REDUCE, WEFT_NBC_ALLREDUCE, WEFT_NBC_SCAN, WEFT_NBC_REDUCE_SCATTER };

static WEFT_INLINE int weft_nbc_combine(int which, const void* sendbuf, void* recvbuf, int count,
                                        const int* counts, MPI_Datatype datatype, MPI_Op op,
                                        int root, MPI_Comm comm, NBC_Handle* handle) {
    const void* from = sendbuf;
    struct weft_nbc_call* call = NULL;
    weft_nbc_comm* own = NULL;
    weft_request* request;
    weft_type type = WEFT_BYTE;
    weft_op combines = WEFT_OP_NULL;
    weft_status status;
    size_t* sizes = NULL;
    int i, code = weft_nbc_begin(handle, comm, &own, &call);
    if (code == NBC_OK) {
        code = weft_nbc_is_predefined(op)
                   ? weft_nbc_reduction(datatype, op, &type, &combines)
                   : weft_nbc_own_reduction(call, datatype, op, &type, &combines);
    }
    if (code == NBC_OK && count < 0) code = NBC_INVALID_PARAM;
    if (code == NBC_OK && counts) {
        sizes = (size_t*)weft_nbc_own(call, (size_t)own->ranks * sizeof *sizes);
        if (!sizes) code = NBC_OOR;
    }
    for (i = 0; code == NBC_OK && counts && i < own->ranks; ++i) {
        if (counts[i] < 0) code = NBC_INVALID_PARAM;
        sizes[i] = (size_t)counts[i];
    }
    if (code != NBC_OK) return weft_nbc_begun(handle, call, code);
    if (sendbuf == MPI_IN_PLACE ||
        (sendbuf && sendbuf == recvbuf && (which != WEFT_NBC_REDUCE || own->rank == root)))
        from = WEFT_IN_PLACE;
    request = &call->request;
    switch (which) {
        case WEFT_NBC_REDUCE:
            status = weft_ireduce(from, recvbuf, (size_t)count, type, combines, root, own->comm,
                                  request);
            break;
        case WEFT_NBC_ALLREDUCE:
            status =
                weft_iallreduce(from, recvbuf, (size_t)count, type, combines, own->comm, request);
            break;
        case WEFT_NBC_SCAN:
            status = weft_iscan(from, recvbuf, (size_t)count, type, combines, own->comm, request);
            break;
        default:
            status = weft_ireduce_scatter(from, recvbuf, sizes, type, combines, own->comm, request);
    }
    return weft_nbc_begun(handle, call, weft_nbc_code(status));
}

static WEFT_INLINE int NBC_Ireduce(const void* sendbuf, void* recvbuf, int count,
                                   MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                                   NBC_Handle* handle) {
    return weft_nbc_combine(WEFT_NBC_REDUCE, sendbuf, recvbuf, count, NULL, datatype, op, root,
                            comm, handle);
}

static WEFT_INLINE int NBC_Iallreduce(const void* sendbuf, void* recvbuf, int count,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                      NBC_Handle* handle) {
    return weft_nbc_combine(WEFT_NBC_ALLREDUCE, sendbuf, recvbuf, count, NULL, datatype, op, 0,
                            comm, handle);
}

static WEFT_INLINE int NBC_Iscan(const void* sendbuf, void* recvbuf, int count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 NBC_Handle* handle) {
    return weft_nbc_combine(WEFT_NBC_SCAN, sendbuf, recvbuf, count, NULL, datatype, op, 0, comm,
                            handle);
}

static WEFT_INLINE int NBC_Ireduce_scatter(const void* sendbuf, void* recvbuf,
                                           const int* recvcounts, MPI_Datatype datatype, MPI_Op op,
                                           MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_combine(WEFT_NBC_REDUCE_SCATTER, sendbuf, recvbuf, 0, recvcounts, datatype, op,
                            0, comm, handle);
}

#endif
