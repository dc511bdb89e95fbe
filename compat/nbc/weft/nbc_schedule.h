/* The schedules of LibNBC's interface: a part of weft/nbc.h, which programs include. Messages,
   copies and ops are recorded in rounds; NBC_Start makes a schedule of weft/schedule.h of them,
   in which the rounds are joins. */
#ifndef WEFT_NBC_SCHEDULE_H
#define WEFT_NBC_SCHEDULE_H

#ifndef WEFT_NBC_H
#error "include nbc.h"
#endif

enum { WEFT_NBC_SEND, WEFT_NBC_RECV, WEFT_NBC_OP, WEFT_NBC_COPY, WEFT_NBC_ROUND };

/* An operation. bufs[0] is a message's memory, a copy's target or an op's result. If is_tmp, a
   buffer is an offset into the handle's tmpbuf. */
typedef struct weft_nbc_step {
    int what;
    int peer;
    size_t bytes;
    const void* bufs[3];
    char is_tmp[3];
} weft_nbc_step;

/* What an NBC_Schedule points to. */
typedef struct weft_nbc_rounds {
    int count;
    int room;
    int is_committed;
    weft_nbc_step* steps;
    weft_type type; /* of all its ops */
    weft_op op;
} weft_nbc_rounds;

static WEFT_INLINE int NBC_Sched_create(NBC_Schedule* schedule) {
    *schedule = calloc(1, sizeof(weft_nbc_rounds));
    return *schedule ? NBC_OK : NBC_OOR;
}

/* Frees a schedule that is not under way. Not in LibNBC, which frees schedules itself. */
static WEFT_INLINE int NBC_Sched_free(NBC_Schedule* schedule) {
    weft_nbc_rounds* rounds = (weft_nbc_rounds*)*schedule;
    if (rounds) free(rounds->steps);
    free(rounds);
    *schedule = NULL;
    return NBC_OK;
}

static WEFT_INLINE int weft_nbc_add(NBC_Schedule* schedule, int what, int peer, size_t bytes,
                                    const void* buf0, int tmp0, const void* buf1, int tmp1,
                                    const void* buf2, int tmp2) {
    weft_nbc_rounds* rounds = (weft_nbc_rounds*)*schedule;
    weft_nbc_step* step;
    if (!rounds || rounds->is_committed) return NBC_BAD_SCHED;
    if (rounds->count == rounds->room) {
        const int room = 2 * rounds->room + 8;
        step = (weft_nbc_step*)realloc(rounds->steps, (size_t)room * sizeof *step);
        if (!step) return NBC_OOR;
        rounds->steps = step;
        rounds->room = room;
    }
    step = &rounds->steps[rounds->count++];
    step->what = what;
    step->peer = peer;
    step->bytes = bytes;
    step->bufs[0] = buf0, step->is_tmp[0] = (char)(tmp0 != 0);
    step->bufs[1] = buf1, step->is_tmp[1] = (char)(tmp1 != 0);
    step->bufs[2] = buf2, step->is_tmp[2] = (char)(tmp2 != 0);
    return NBC_OK;
}

static WEFT_INLINE int weft_nbc_bytes(int count, MPI_Datatype type, size_t* bytes) {
    int size;
    if (count < 0 || (type == MPI_DATATYPE_NULL && count > 0)) return NBC_INVALID_PARAM;
    *bytes = 0;
    if (count == 0) return NBC_OK;
    MPI_Type_size(type, &size);
    *bytes = (size_t)count * (size_t)size;
    return weft_nbc_is_plain(type) ? NBC_OK : NBC_DATATYPE_NOT_SUPPORTED;
}

static WEFT_INLINE int weft_nbc_add_message(NBC_Schedule* schedule, int what, const void* buf,
                                            int tmpbuf, int count, MPI_Datatype datatype,
                                            int peer) {
    size_t bytes;
    const int code = weft_nbc_bytes(count, datatype, &bytes);
    if (code != NBC_OK) return code;
    if (peer < 0 && peer != MPI_PROC_NULL) return NBC_INVALID_PARAM;
    return weft_nbc_add(schedule, what, peer, bytes, buf, tmpbuf, NULL, 0, NULL, 0);
}

/* Adds a send to the round. Only contiguous types. */
static WEFT_INLINE int NBC_Sched_send(const void* buf, char tmpbuf, int count,
                                      MPI_Datatype datatype, int dest, NBC_Schedule* schedule) {
    return weft_nbc_add_message(schedule, WEFT_NBC_SEND, buf, tmpbuf, count, datatype, dest);
}

/* Adds a receive of exactly as many bytes as are sent. Only contiguous types. */
static WEFT_INLINE int NBC_Sched_recv(void* buf, char tmpbuf, int count, MPI_Datatype datatype,
                                      int source, NBC_Schedule* schedule) {
    return weft_nbc_add_message(schedule, WEFT_NBC_RECV, buf, tmpbuf, count, datatype, source);
}

/* The paper's forms, without the flags. */
static WEFT_INLINE int weft_nbc_send(const void* buf, int count, MPI_Datatype datatype, int dest,
                                     NBC_Schedule* schedule) {
    return NBC_Sched_send(buf, 0, count, datatype, dest, schedule);
}
static WEFT_INLINE int weft_nbc_recv(void* buf, int count, MPI_Datatype datatype, int source,
                                     NBC_Schedule* schedule) {
    return NBC_Sched_recv(buf, 0, count, datatype, source, schedule);
}
#ifdef WEFT_NBC_SEVENTH
#define NBC_Sched_send(...) \
    WEFT_NBC_SEVENTH(__VA_ARGS__, NBC_Sched_send, weft_nbc_send, 0)(__VA_ARGS__)
#define NBC_Sched_recv(...) \
    WEFT_NBC_SEVENTH(__VA_ARGS__, NBC_Sched_recv, weft_nbc_recv, 0)(__VA_ARGS__)
#endif

/* Adds buf3 = buf1 op buf2: buf3 may be one of the two. All ops of a schedule have one type and
   operation. */
static WEFT_INLINE int NBC_Sched_op(void* buf3, char tmpbuf3, const void* buf1, char tmpbuf1,
                                    const void* buf2, char tmpbuf2, int count,
                                    MPI_Datatype datatype, MPI_Op op, NBC_Schedule* schedule) {
    weft_nbc_rounds* rounds = (weft_nbc_rounds*)*schedule;
    weft_type type = WEFT_BYTE;
    weft_op combines = WEFT_OP_NULL;
    int code = weft_nbc_reduction(datatype, op, &type, &combines);
    if (code != NBC_OK) return code;
    if (!rounds) return NBC_BAD_SCHED;
    if (count < 0) return NBC_INVALID_PARAM;
    if (rounds->op != WEFT_OP_NULL && rounds->type != type) return NBC_DATATYPE_NOT_SUPPORTED;
    if (rounds->op != WEFT_OP_NULL && rounds->op != combines) return NBC_OP_NOT_SUPPORTED;
    code = weft_nbc_add(schedule, WEFT_NBC_OP, 0, (size_t)count * weft_type_size(type), buf3,
                        tmpbuf3, buf1, tmpbuf1, buf2, tmpbuf2);
    if (code != NBC_OK) return code;
    rounds->type = type;
    rounds->op = combines;
    return NBC_OK;
}

/* Adds a copy. Only contiguous types. */
static WEFT_INLINE int NBC_Sched_copy(const void* src, char tmpsrc, int srccount,
                                      MPI_Datatype srctype, void* tgt, char tmptgt, int tgtcount,
                                      MPI_Datatype tgttype, NBC_Schedule* schedule) {
    size_t bytes, room;
    int code = weft_nbc_bytes(srccount, srctype, &bytes);
    if (code == NBC_OK) code = weft_nbc_bytes(tgtcount, tgttype, &room);
    if (code != NBC_OK) return code;
    if (bytes > room) return NBC_INVALID_PARAM;
    return weft_nbc_add(schedule, WEFT_NBC_COPY, 0, bytes, tgt, tmptgt, src, tmpsrc, NULL, 0);
}

static WEFT_INLINE int NBC_Sched_unpack(void* inbuf, char tmpinbuf, int count,
                                        MPI_Datatype datatype, void* outbuf, char tmpoutbuf,
                                        NBC_Schedule* schedule) {
    (void)inbuf, (void)tmpinbuf, (void)count, (void)datatype;
    (void)outbuf, (void)tmpoutbuf, (void)schedule;
    return NBC_NOT_IMPLEMENTED;
}

/* Ends a round: what is added later starts when all before it is done on this rank. */
static WEFT_INLINE int NBC_Sched_barrier(NBC_Schedule* schedule) {
    return weft_nbc_add(schedule, WEFT_NBC_ROUND, 0, 0, NULL, 0, NULL, 0, NULL, 0);
}
#define NBC_Sched_barr NBC_Sched_barrier /* the paper's name */

static WEFT_INLINE int NBC_Sched_commit(NBC_Schedule* schedule) {
    const int code = NBC_Sched_barrier(schedule);
    if (code == NBC_OK) ((weft_nbc_rounds*)*schedule)->is_committed = 1;
    return code;
}

/* Builds Weft's schedule of the rounds. All addresses are in one buffer that begins at `base`. */
typedef struct weft_nbc_builder {
    const weft_nbc_rounds* rounds;
    uintptr_t tmp;
    uintptr_t base;
    int rank;
    weft_schedule schedule;
    weft_node ready;  /* what the next operation of the round waits for */
    weft_node* nodes; /* of the round */
    int count;
} weft_nbc_builder;

static WEFT_INLINE uintptr_t weft_nbc_address(const weft_nbc_builder* build,
                                              const weft_nbc_step* step, int buf) {
    return (uintptr_t)step->bufs[buf] + (step->is_tmp[buf] ? build->tmp : 0);
}

static WEFT_INLINE weft_region weft_nbc_region(const weft_nbc_builder* build,
                                               const weft_nbc_step* step, int buf) {
    weft_region region;
    region.buffer = WEFT_RECV_BUFFER;
    region.bytes = (int64_t)step->bytes;
    region.offset = step->bytes ? (int64_t)(weft_nbc_address(build, step, buf) - build->base) : 0;
    return region;
}

/* The operation was added: it belongs to the round, and starts when that is ready. Copies and ops
   happen in the order of the program, as in LibNBC, also within a round; messages do not. */
static WEFT_INLINE weft_status weft_nbc_added(weft_nbc_builder* build, weft_status status,
                                              const weft_node* node, int is_in_order) {
    if (status == WEFT_OK) status = weft_schedule_after(build->schedule, *node, build->ready);
    if (status != WEFT_OK) return status;
    build->nodes[build->count++] = *node;
    if (is_in_order) build->ready = *node;
    return WEFT_OK;
}

static WEFT_INLINE weft_status weft_nbc_add_copy(weft_nbc_builder* build, weft_region from,
                                                 weft_region into, int is_in_order) {
    weft_node node = WEFT_NODE_NONE;
    if (from.bytes == 0 || from.offset == into.offset) return WEFT_OK;
    return weft_nbc_added(build, weft_schedule_copy(build->schedule, from, into, &node), &node,
                          is_in_order);
}

/* A message to this rank itself: a copy by the later one of the send and the receive, which are
   in one round. */
static WEFT_INLINE int weft_nbc_to_self(weft_nbc_builder* build, int at) {
    const weft_nbc_step* steps = build->rounds->steps;
    int first = at, other, earlier = 0;
    weft_region from, into;
    while (first > 0 && steps[first - 1].what != WEFT_NBC_ROUND) {
        --first;
        if (steps[first].what == steps[at].what && steps[first].peer == build->rank) ++earlier;
    }
    for (other = first; steps[other].what != WEFT_NBC_ROUND; ++other) {
        if (steps[other].what > WEFT_NBC_RECV || steps[other].what == steps[at].what ||
            steps[other].peer != build->rank)
            continue;
        if (earlier-- > 0) continue;
        if (other > at) return NBC_OK;
        if (steps[other].bytes != steps[at].bytes) return NBC_INVALID_PARAM;
        from = weft_nbc_region(build, &steps[steps[at].what == WEFT_NBC_SEND ? at : other], 0);
        into = weft_nbc_region(build, &steps[steps[at].what == WEFT_NBC_SEND ? other : at], 0);
        return weft_nbc_code(weft_nbc_add_copy(build, from, into, 0));
    }
    return NBC_BAD_SCHED;
}

static WEFT_INLINE int weft_nbc_build_step(weft_nbc_builder* build, int at) {
    const weft_nbc_step* step = &build->rounds->steps[at];
    const weft_region into = weft_nbc_region(build, step, 0);
    weft_region from = weft_nbc_region(build, step, 1), right = weft_nbc_region(build, step, 2);
    weft_node node = WEFT_NODE_NONE;
    weft_status status = WEFT_OK;
    int i;
    switch (step->what) {
        case WEFT_NBC_SEND:
        case WEFT_NBC_RECV:
            if (step->peer == MPI_PROC_NULL) return NBC_OK;
            if (step->peer == build->rank) return weft_nbc_to_self(build, at);
            status = step->what == WEFT_NBC_SEND
                         ? weft_schedule_send(build->schedule, into, step->peer, &node)
                         : weft_schedule_recv(build->schedule, into, step->peer, &node);
            status = weft_nbc_added(build, status, &node, 0);
            break;
        case WEFT_NBC_COPY: status = weft_nbc_add_copy(build, from, into, 1); break;
        case WEFT_NBC_OP: /* predefined operations commute */
            if (step->bytes == 0) return NBC_OK;
            if (into.offset == from.offset)
                from = right;
            else
                status = weft_nbc_add_copy(build, right, into, 1);
            if (status == WEFT_OK) {
                status = weft_schedule_reduce(build->schedule, from, into, &node);
                status = weft_nbc_added(build, status, &node, 1);
            }
            break;
        default: /* the end of a round */
            if (build->count == 0) return NBC_OK;
            status = weft_schedule_join(build->schedule, &node);
            for (i = 0; status == WEFT_OK && i < build->count; ++i)
                status = weft_schedule_after(build->schedule, node, build->nodes[i]);
            build->ready = node;
            build->count = 0;
    }
    return weft_nbc_code(status);
}

/* Starts a committed schedule with a handle from NBC_Init_handle. If the program has allocated
   its tmpbuf, by malloc, it is freed when the schedule is done. Every rank of the communicator
   starts its own in the same order among all operations; it may be empty. A rank's message to
   itself needs send and receive in one round: otherwise NBC_BAD_SCHED. */
static WEFT_INLINE int NBC_Start(NBC_Handle* handle, NBC_Schedule* schedule) {
    struct weft_nbc_call* call = NULL;
    weft_nbc_comm* own = NULL;
    weft_nbc_builder build;
    weft_status status;
    int i, buf, code;
    memset(&build, 0, sizeof build);
    build.rounds = schedule ? (const weft_nbc_rounds*)*schedule : NULL;
    if (!build.rounds || !build.rounds->is_committed) return NBC_BAD_SCHED;
    if (!handle || handle->call) return NBC_INVALID_PARAM;
    code = weft_nbc_comm_of(handle->comm, &own);
    if (code != NBC_OK) return code;
    build.rank = own->rank;
    build.tmp = (uintptr_t)handle->tmpbuf;
    build.base = UINTPTR_MAX;
    for (i = 0; i < build.rounds->count; ++i) {
        const weft_nbc_step* step = &build.rounds->steps[i];
        const int bufs = step->what == WEFT_NBC_OP ? 3 : step->what == WEFT_NBC_COPY ? 2 : 1;
        for (buf = 0; buf < bufs && step->bytes; ++buf) {
            const uintptr_t address = weft_nbc_address(&build, step, buf);
            if (step->is_tmp[buf] && !handle->tmpbuf) return NBC_INVALID_PARAM;
            if (address < build.base) build.base = address;
        }
    }
    build.base -= build.base % 64; /* offsets have the alignment of their addresses */
    if (!(call = weft_nbc_new_call())) return NBC_OOR;
    call->is_schedule = 1;
    /* an op adds two nodes at most */
    build.nodes =
        (weft_node*)weft_nbc_own(call, 2 * (size_t)build.rounds->count * sizeof *build.nodes);
    if (!build.nodes) return weft_nbc_begun(handle, call, NBC_OOR);
    code = weft_nbc_code(weft_schedule_create(own->comm, &build.schedule));
    for (i = 0; code == NBC_OK && i < build.rounds->count; ++i)
        code = weft_nbc_build_step(&build, i);
    if (code == NBC_OK) code = weft_nbc_code(weft_schedule_seal(build.schedule));
    if (code == NBC_OK) {
        status = weft_schedule_init(build.schedule, NULL, (void*)build.base, build.rounds->type,
                                    build.rounds->op, &call->request);
        if (status == WEFT_OK) status = weft_start(&call->request);
        code = weft_nbc_code(status);
    }
    if (build.schedule) weft_schedule_free(&build.schedule);
    return weft_nbc_begun(handle, call, code);
}

#endif
