/* LibNBC's collectives among the neighbors of a topology of the MPI: a part of weft/nbc.h, which
   programs include. */
#ifndef WEFT_NBC_NEIGHBORS_H
#define WEFT_NBC_NEIGHBORS_H

#ifndef WEFT_NBC_H
#error "include nbc.h"
#endif

/* How many blocks a rank gets from its neighbors in the topology and sends to them. */
static WEFT_INLINE int NBC_Comm_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree,
                                                int* weighted) {
    int topology = MPI_UNDEFINED, rank, dims;
    MPI_Topo_test(comm, &topology);
    *weighted = 0;
    if (topology == MPI_CART) {
        MPI_Cartdim_get(comm, &dims);
        *indegree = *outdegree = 2 * dims;
    } else if (topology == MPI_GRAPH) {
        MPI_Comm_rank(comm, &rank);
        MPI_Graph_neighbors_count(comm, rank, indegree);
        *outdegree = *indegree;
    } else if (topology == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(comm, indegree, outdegree, weighted);
    } else {
        return NBC_INVALID_TOPOLOGY_COMM;
    }
    return NBC_OK;
}

/* The neighbors: in a grid, for each dimension the one below, then the one above, or
   MPI_PROC_NULL. */
static WEFT_INLINE int NBC_Comm_neighbors(MPI_Comm comm, int maxindegree, int sources[],
                                          int sourceweights[], int maxoutdegree, int destinations[],
                                          int destweights[]) {
    int topology, indegree, outdegree, weighted, rank, i;
    const int code = NBC_Comm_neighbors_count(comm, &indegree, &outdegree, &weighted);
    if (code != NBC_OK) return code;
    if (indegree > maxindegree || outdegree > maxoutdegree) return NBC_INVALID_PARAM;
    MPI_Topo_test(comm, &topology);
    if (topology == MPI_DIST_GRAPH) {
        /* not the program's numbers: MPICH 5.0.2 reads that many */
        MPI_Dist_graph_neighbors(comm, indegree, sources, sourceweights, outdegree, destinations,
                                 destweights);
        return NBC_OK;
    }
    if (topology == MPI_GRAPH) {
        MPI_Comm_rank(comm, &rank);
        MPI_Graph_neighbors(comm, rank, indegree, sources);
    }
    for (i = 0; topology == MPI_CART && i < indegree; i += 2)
        MPI_Cart_shift(comm, i / 2, 1, &sources[i], &sources[i + 1]);
    for (i = 0; i < indegree; ++i) destinations[i] = sources[i];
    return NBC_OK;
}

/* Gives the communicator its topology in Weft at the first use, which is collective. */
static WEFT_INLINE int weft_nbc_meet_neighbors(MPI_Comm comm, int* indegree, int* outdegree) {
    int topology, weighted, dims, *numbers;
    weft_nbc_comm* own;
    weft_status status;
    int code = comm == MPI_COMM_NULL ? NBC_INVALID_PARAM : weft_nbc_comm_of(comm, &own);
    if (code == NBC_OK) code = NBC_Comm_neighbors_count(comm, indegree, outdegree, &weighted);
    if (code != NBC_OK || own->neighbors) return code;
    numbers = (int*)malloc((size_t)(2 * (*indegree + *outdegree) + 1) * sizeof *numbers);
    if (!numbers) return NBC_OOR;
    MPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        dims = *indegree / 2;
        MPI_Cart_get(comm, dims, numbers, numbers + dims, numbers + 2 * dims);
        status = weft_comm_cart(own->comm, dims, numbers, numbers + dims, &own->neighbors);
    } else {
        NBC_Comm_neighbors(comm, *indegree, numbers, numbers + *indegree + *outdegree, *outdegree,
                           numbers + *indegree, numbers + 2 * *indegree + *outdegree);
        status = weft_comm_graph(own->comm, *indegree, numbers, *outdegree, numbers + *indegree,
                                 &own->neighbors);
    }
    free(numbers);
    return weft_nbc_code(status);
}

static WEFT_INLINE int weft_nbc_move_among(int kind, weft_nbc_side send, weft_nbc_side recv,
                                           MPI_Comm comm, NBC_Handle* handle) {
    int indegree, outdegree, code = NBC_Init_handle(handle, comm);
    if (code == NBC_OK) code = weft_nbc_meet_neighbors(comm, &indegree, &outdegree);
    if (code != NBC_OK) return code;
    if (send.blocks < 0) send.blocks = outdegree;
    recv.blocks = indegree;
    return weft_nbc_move(kind, send, recv, 0, comm, handle);
}

#define WEFT_NBC_AMONG(name, kind, from, into, sent, got)                                  \
    static WEFT_INLINE int name(WEFT_NBC_##from, WEFT_NBC_##into, MPI_Comm comm,           \
                                NBC_Handle* handle) {                                      \
        return weft_nbc_move_among(WEFT_NBC_##kind, WEFT_NBC_##sent, WEFT_NBC_##got, comm, \
                                   handle);                                                \
    }

WEFT_NBC_AMONG(NBC_Ineighbor_allgather, NEIGHBOR_ALLGATHER, FROM, INTO, SENT(1), GOT(-1))
WEFT_NBC_AMONG(NBC_Ineighbor_allgatherv, NEIGHBOR_ALLGATHER, FROM, INTO_V, SENT(1), GOT_V(-1))
WEFT_NBC_AMONG(NBC_Ineighbor_alltoall, NEIGHBOR_ALLTOALL, FROM, INTO, SENT(-1), GOT(-1))
WEFT_NBC_AMONG(NBC_Ineighbor_alltoallv, NEIGHBOR_ALLTOALL, FROM_V, INTO_V, SENT_V(-1), GOT_V(-1))

static WEFT_INLINE int NBC_Ineighbor_alltoallw(const void* sbuf, const int* scounts,
                                               const MPI_Aint* sdispls, const MPI_Datatype* stypes,
                                               void* rbuf, const int* rcounts,
                                               const MPI_Aint* rdispls, const MPI_Datatype* rtypes,
                                               MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_move_among(
        WEFT_NBC_NEIGHBOR_ALLTOALL, weft_nbc_blocks_w(sbuf, scounts, NULL, sdispls, stypes, -1),
        weft_nbc_blocks_w(rbuf, rcounts, NULL, rdispls, rtypes, -1), comm, handle);
}

/* LibNBC's older names of alltoall and alltoallv. */
#define NBC_Ineighbor_xchg NBC_Ineighbor_alltoall
#define NBC_Ineighbor_xchgv NBC_Ineighbor_alltoallv

/* Sends along a dimension of a grid, `disp` places up, and receives from the same distance
   below. Equal buffers: the block is replaced. Only contiguous types. */
static WEFT_INLINE int NBC_Icart_shift_xchg(const void* sbuf, int scount, MPI_Datatype stype,
                                            void* rbuf, int rcount, MPI_Datatype rtype,
                                            int direction, int disp, MPI_Comm comm,
                                            NBC_Handle* handle) {
    const int is_in_place = sbuf == MPI_IN_PLACE || sbuf == rbuf;
    int topology = MPI_UNDEFINED, from = MPI_PROC_NULL, to = MPI_PROC_NULL, size;
    NBC_Schedule schedule;
    int code = NBC_Init_handle(handle, comm);
    if (code != NBC_OK) return code;
    MPI_Topo_test(comm, &topology);
    if (topology != MPI_CART) return NBC_INVALID_TOPOLOGY_COMM;
    MPI_Cart_shift(comm, direction, disp, &from, &to);
    if (is_in_place && rtype != MPI_DATATYPE_NULL) {
        MPI_Type_size(rtype, &size);
        if (!(handle->tmpbuf = malloc((size_t)rcount * (size_t)size + 1))) return NBC_OOR;
    }
    if ((code = NBC_Sched_create(&schedule)) == NBC_OK)
        code = NBC_Sched_recv(is_in_place ? NULL : rbuf, (char)is_in_place, rcount, rtype, from,
                              &schedule);
    if (code == NBC_OK)
        code = is_in_place ? NBC_Sched_send(rbuf, 0, rcount, rtype, to, &schedule)
                           : NBC_Sched_send(sbuf, 0, scount, stype, to, &schedule);
    if (code == NBC_OK) code = NBC_Sched_barrier(&schedule);
    if (code == NBC_OK && is_in_place && from != MPI_PROC_NULL)
        code = NBC_Sched_copy(NULL, 1, rcount, rtype, rbuf, 0, rcount, rtype, &schedule);
    if (code == NBC_OK) code = NBC_Sched_commit(&schedule);
    if (code == NBC_OK) code = NBC_Start(handle, &schedule);
    NBC_Sched_free(&schedule);
    if (code == NBC_OK) return NBC_OK;
    free(handle->tmpbuf);
    handle->tmpbuf = NULL;
    return code;
}

#endif
