/* Communicators and the neighbors that their ranks have. */
#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"

static void learn_neighbors(Group* group) {
    int kind, i, ins = 0, outs = 0;
    int lists[2 * MAX_BLOCKS + 2], everyones[MAX_RANKS][2 * MAX_BLOCKS + 2];
    int weights[MAX_BLOCKS];
    MPI_Topo_test(group->comm, &kind);
    group->has_topology = kind != MPI_UNDEFINED;
    group->is_cart = kind == MPI_CART;
    if (!group->has_topology) return;
    for (i = 0; i < 2 * MAX_BLOCKS + 2; ++i) lists[i] = MPI_PROC_NULL;
    if (kind == MPI_CART) {
        int dimensions, d;
        MPI_Cartdim_get(group->comm, &dimensions);
        for (d = 0; d < dimensions; ++d) {
            MPI_Cart_shift(group->comm, d, 1, &lists[2 + 2 * d], &lists[3 + 2 * d]);
        }
        ins = outs = 2 * dimensions;
        for (i = 0; i < ins; ++i) lists[2 + MAX_BLOCKS + i] = lists[2 + i];
    } else if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(group->comm, group->rank, &ins);
        MPI_Graph_neighbors(group->comm, group->rank, MAX_BLOCKS, &lists[2]);
        outs = ins;
        for (i = 0; i < ins; ++i) lists[2 + MAX_BLOCKS + i] = lists[2 + i];
    } else {
        int weighted;
        MPI_Dist_graph_neighbors_count(group->comm, &ins, &outs, &weighted);
        MPI_Dist_graph_neighbors(group->comm, ins, &lists[2], weighted ? weights : MPI_UNWEIGHTED,
                                 outs, &lists[2 + MAX_BLOCKS], weighted ? weights : MPI_UNWEIGHTED);
    }
    lists[0] = ins;
    lists[1] = outs;
    CALL(MPI_Allgather(lists, 2 * MAX_BLOCKS + 2, MPI_INT, everyones, 2 * MAX_BLOCKS + 2, MPI_INT,
                       group->comm));
    for (i = 0; i < group->ranks; ++i) {
        int k;
        group->ins[i] = everyones[i][0];
        group->outs[i] = everyones[i][1];
        for (k = 0; k < MAX_BLOCKS; ++k) {
            group->in[i][k] = everyones[i][2 + k];
            group->out[i][k] = everyones[i][2 + MAX_BLOCKS + k];
        }
    }
}

void group_from(Group* group, MPI_Comm comm, const char* name) {
    group->comm = comm;
    group->name = name;
    group->rank = group->ranks = 0;
    group->has_topology = group->is_cart = 0;
    if (comm == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm, &group->rank);
    MPI_Comm_size(comm, &group->ranks);
    learn_neighbors(group);
}

int slot_at_source(const Group* group, int at) {
    const int source = group->in[group->rank][at];
    int i, before = 0;
    /* In a grid, what is sent one way along a dimension arrives from the other side. */
    if (group->is_cart) return at ^ 1;
    for (i = 0; i < at; ++i) before += group->in[group->rank][i] == source;
    for (i = 0; i < group->outs[source]; ++i) {
        if (group->out[source][i] == group->rank && before-- == 0) return i;
    }
    fail(__FILE__, __LINE__, "rank %d does not know its neighbor %d", source, group->rank);
    return -1;
}

/* How many edges lead from one rank to another in a random graph. */
static int edges(int from, int to) { return (int)(mixed((Word)from * 31 + 5, (Word)to) % 3); }

static MPI_Comm random_graph(MPI_Comm parent, int rank, int ranks) {
    MPI_Comm comm;
    int sources[2 * MAX_RANKS], targets[2 * MAX_RANKS], ins = 0, outs = 0, i, k;
    for (i = 0; i < ranks; ++i) {
        for (k = 0; k < edges(i, rank); ++k) sources[ins++] = i;
    }
    for (i = ranks - 1; i >= 0; --i) {
        for (k = 0; k < edges(rank, i); ++k) targets[outs++] = i;
    }
    CALL(MPI_Dist_graph_create_adjacent(parent, ins, sources, MPI_UNWEIGHTED, outs, targets,
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    return comm;
}

/* Every rank names the edges of the next one. */
static MPI_Comm foreign_graph(MPI_Comm parent, int rank, int ranks) {
    MPI_Comm comm;
    const int source = (rank + 1) % ranks;
    int targets[2], degree = ranks > 2 ? 2 : 1;
    targets[0] = (source + 1) % ranks;
    targets[1] = (source + 2) % ranks;
    CALL(MPI_Dist_graph_create(parent, 1, &source, &degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL,
                               0, &comm));
    return comm;
}

/* A ring without its last edge. */
static MPI_Comm line_graph(MPI_Comm parent, int ranks) {
    MPI_Comm comm;
    int index[MAX_RANKS], edge[2 * MAX_RANKS], i, count = 0;
    for (i = 0; i < ranks; ++i) {
        if (i > 0) edge[count++] = i - 1;
        if (i + 1 < ranks) edge[count++] = i + 1;
        index[i] = count;
    }
    CALL(MPI_Graph_create(parent, ranks, index, edge, 0, &comm));
    return comm;
}

void make_topology(Group* group, int which, MPI_Comm parent) {
    static const char* const names[TOPOLOGIES] = {"line",         "grid of two dimensions",
                                                  "random graph", "foreign graph",
                                                  "graph",        "periodic grid"};
    MPI_Comm comm = MPI_COMM_NULL;
    int rank, ranks, sides[3] = {0, 0, 0}, periods[3] = {0, 0, 0};
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &ranks);
    switch (which) {
        case 0:
            sides[0] = ranks;
            CALL(MPI_Cart_create(parent, 1, sides, periods, 0, &comm));
            break;
        case 1:
            MPI_Dims_create(ranks, 2, sides);
            CALL(MPI_Cart_create(parent, 2, sides, periods, 0, &comm));
            break;
        case 2: comm = random_graph(parent, rank, ranks); break;
        case 3: comm = foreign_graph(parent, rank, ranks); break;
        case 4: comm = line_graph(parent, ranks); break;
        default: /* has dimensions of size 1 and, with an even number of ranks, of size 2 */
            periods[0] = periods[2] = 1;
            periods[1] = 7; /* any number but 0 is true, and some MPIs give it back */
            MPI_Dims_create(ranks, 2, sides);
            sides[2] = 1;
            CALL(MPI_Cart_create(parent, 3, sides, periods, 0, &comm));
    }
    group_from(group, comm, names[which]);
}
