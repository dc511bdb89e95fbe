/* Included by calls.c twice, for int and for MPI_Count: it uses CALL_IT, COUNT, DISPL and L, the names' suffix. */

/* The names' suffix is a macro: one more step expands it. */
#define NAME_I(small, end) MPI_I##small##end
#define NAME_INIT(capital, end) MPI_##capital##_init##end
#define NAME_BLOCKING(capital, end) MPI_##capital##end
#define EXPANDED(macro, name, end) macro(name, end)
#define FORM_OF(capital, small, ...)                                               \
    (form == NONBLOCKING ? EXPANDED(NAME_I, small, L)(__VA_ARGS__, comm, request)  \
     : form == PERSISTENT                                                          \
         ? INIT(EXPANDED(NAME_INIT, capital, L)(__VA_ARGS__, comm, info, request)) \
         : EXPANDED(NAME_BLOCKING, capital, L)(__VA_ARGS__, comm))

static int CALL_IT(Case* of) {
    const Spec* spec = &of->spec;
    const Form form = spec->form;
    const MPI_Comm comm = spec->group->comm;
    const MPI_Info info = MPI_INFO_NULL;
    MPI_Request* request = &of->request;
    const Side *s = &of->send, *r = &of->recv, *one = s->blocks ? s : r;
    const size_t all = MAX_BLOCKS;
    COUNT scount = (COUNT)s->counts[0], rcount = (COUNT)r->counts[0];
    MPI_Datatype stype = s->types[0], rtype = r->types[0];
    COUNT *scounts = copied(of, all * sizeof *scounts),
          *rcounts = copied(of, all * sizeof *rcounts);
    DISPL *sdispls = copied(of, all * sizeof *sdispls),
          *rdispls = copied(of, all * sizeof *rdispls);
    MPI_Aint *saints = copied(of, all * sizeof *saints), *raints = copied(of, all * sizeof *raints);
    MPI_Datatype *stypes = copied(of, sizeof s->types), *rtypes = copied(of, sizeof r->types);
    int i;
    (void)info; /* without persistent collectives */
    for (i = 0; i < MAX_BLOCKS; ++i) {
        scounts[i] = (COUNT)s->counts[i];
        rcounts[i] = (COUNT)r->counts[i];
        sdispls[i] = (DISPL)s->displs[i];
        rdispls[i] = (DISPL)r->displs[i];
        saints[i] = s->displs[i];
        raints[i] = r->displs[i];
        stypes[i] = s->types[i];
        rtypes[i] = r->types[i];
    }
    switch (spec->function) {
        case BARRIER:
            return form == NONBLOCKING  ? MPI_Ibarrier(comm, request)
                   : form == PERSISTENT ? INIT(MPI_Barrier_init(comm, info, request))
                                        : MPI_Barrier(comm);
        case BCAST:
            return FORM_OF(Bcast, bcast, one->buffer, (COUNT)one->counts[0], one->types[0],
                           spec->root);
        case GATHER:
            return FORM_OF(Gather, gather, s->buffer, scount, stype, r->buffer, rcount, rtype,
                           spec->root);
        case GATHERV:
            return FORM_OF(Gatherv, gatherv, s->buffer, scount, stype, r->buffer, rcounts, rdispls,
                           rtype, spec->root);
        case SCATTER:
            return FORM_OF(Scatter, scatter, s->buffer, scount, stype, r->buffer, rcount, rtype,
                           spec->root);
        case SCATTERV:
            return FORM_OF(Scatterv, scatterv, s->buffer, scounts, sdispls, stype, r->buffer,
                           rcount, rtype, spec->root);
        case ALLGATHER:
            return FORM_OF(Allgather, allgather, s->buffer, scount, stype, r->buffer, rcount,
                           rtype);
        case ALLGATHERV:
            return FORM_OF(Allgatherv, allgatherv, s->buffer, scount, stype, r->buffer, rcounts,
                           rdispls, rtype);
        case ALLTOALL:
            return FORM_OF(Alltoall, alltoall, s->buffer, scount, stype, r->buffer, rcount, rtype);
        case ALLTOALLV:
            return FORM_OF(Alltoallv, alltoallv, s->buffer, scounts, sdispls, stype, r->buffer,
                           rcounts, rdispls, rtype);
        case ALLTOALLW:
            return FORM_OF(Alltoallw, alltoallw, s->buffer, scounts, sdispls, stypes, r->buffer,
                           rcounts, rdispls, rtypes);
        case REDUCE:
            return FORM_OF(Reduce, reduce, s->buffer, r->buffer, scount, stype, of->op, spec->root);
        case ALLREDUCE:
            return FORM_OF(Allreduce, allreduce, s->buffer, r->buffer, scount, stype, of->op);
        case REDUCE_SCATTER:
            return FORM_OF(Reduce_scatter, reduce_scatter, s->buffer, r->buffer, rcounts, stype,
                           of->op);
        case REDUCE_SCATTER_BLOCK:
            return FORM_OF(Reduce_scatter_block, reduce_scatter_block, s->buffer, r->buffer, rcount,
                           stype, of->op);
        case SCAN: return FORM_OF(Scan, scan, s->buffer, r->buffer, scount, stype, of->op);
        case EXSCAN: return FORM_OF(Exscan, exscan, s->buffer, r->buffer, scount, stype, of->op);
        case NEIGHBOR_ALLGATHER:
            return FORM_OF(Neighbor_allgather, neighbor_allgather, s->buffer, scount, stype,
                           r->buffer, rcount, rtype);
        case NEIGHBOR_ALLGATHERV:
            return FORM_OF(Neighbor_allgatherv, neighbor_allgatherv, s->buffer, scount, stype,
                           r->buffer, rcounts, rdispls, rtype);
        case NEIGHBOR_ALLTOALL:
            return FORM_OF(Neighbor_alltoall, neighbor_alltoall, s->buffer, scount, stype,
                           r->buffer, rcount, rtype);
        case NEIGHBOR_ALLTOALLV:
            return FORM_OF(Neighbor_alltoallv, neighbor_alltoallv, s->buffer, scounts, sdispls,
                           stype, r->buffer, rcounts, rdispls, rtype);
        default:
            return FORM_OF(Neighbor_alltoallw, neighbor_alltoallw, s->buffer, scounts, saints,
                           stypes, r->buffer, rcounts, raints, rtypes);
    }
}

#undef CALL_IT
#undef COUNT
#undef DISPL
#undef L
#undef NAME_I
#undef NAME_INIT
#undef NAME_BLOCKING
#undef EXPANDED
#undef FORM_OF
