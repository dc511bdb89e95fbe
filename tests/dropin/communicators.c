/* Collectives on communicators of all origins. */
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

/* One call of every function that the communicator has. */
static void use(MPI_Comm comm, const char* name) {
    Group group;
    int f;
    if (comm == MPI_COMM_NULL) return;
    group_from(&group, comm, name);
    for (f = 0; f < FUNCTIONS; ++f) {
        Spec spec;
        memset(&spec, 0, sizeof spec);
        spec.function = (Function)f;
        spec.form = f % 3 == 1 && HAS_PERSISTENT ? PERSISTENT : NONBLOCKING;
        spec.group = &group;
        spec.size = 40;
        spec.root = group.ranks - 1;
        spec.number = number_at(1);
        spec.operation = SUM;
        spec.key = 5;
        if (is_neighbor(spec.function) && !group.has_topology) continue;
        run_case(spec);
    }
}

static void use_and_free(MPI_Comm comm, const char* name) {
    use(comm, name);
    if (comm != MPI_COMM_NULL) CALL(MPI_Comm_free(&comm));
}

static void duplicates(void) {
    MPI_Comm comm, again;
    MPI_Request request;
    MPI_Info info;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_dup(comm, &again));
    use_and_free(comm, "dup");
    use_and_free(again, "dup of dup");
    MPI_Info_create(&info);
    CALL(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    use_and_free(comm, "dup_with_info");
    CALL(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use_and_free(comm, "idup");
#if HAS_PERSISTENT
    CALL(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use_and_free(comm, "idup_with_info");
#endif
    MPI_Info_free(&info);
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    use_and_free(comm, "dup of self");
}

static void parts(void) {
    MPI_Comm comm;
    MPI_Group all, some, turned;
    int ranks[MAX_RANKS], i;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &comm));
    use_and_free(comm, "split, backwards");
    CALL(MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 1, world_rank, &comm));
    CHECK((comm == MPI_COMM_NULL) == (world_rank == 0));
    use_and_free(comm, "split without rank 0");
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    use_and_free(comm, "split_type");
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (i = 0; i < world_ranks; ++i) ranks[i] = world_ranks - 1 - i;
    MPI_Group_incl(all, world_ranks, ranks, &turned);
    CALL(MPI_Comm_create(MPI_COMM_WORLD, turned, &comm));
    use_and_free(comm, "create, backwards");
    MPI_Group_incl(all, (world_ranks + 1) / 2, ranks, &some);
    CALL(MPI_Comm_create(MPI_COMM_WORLD, some, &comm));
    use_and_free(comm, "create of some");
    if (world_rank >= world_ranks / 2) {
        CALL(MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &comm));
        use_and_free(comm, "create_group");
    }
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    MPI_Group_free(&turned);
}

static void from_group(void) {
#if MPI_VERSION >= 4
    MPI_Comm comm;
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    CALL(MPI_Comm_create_from_group(all, "corpus", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    use_and_free(comm, "create_from_group");
    MPI_Group_free(&all);
#endif
}

static void topologies(void) {
    Group group;
    MPI_Comm part;
    int t, keeps[2] = {0, 1};
    for (t = 0; t < TOPOLOGIES; ++t) {
        make_topology(&group, t, MPI_COMM_WORLD);
        use(group.comm, group.name);
        if (t == 1) {
            CALL(MPI_Cart_sub(group.comm, keeps, &part));
            use_and_free(part, "cart_sub");
        }
        if (group.comm != MPI_COMM_NULL) {
            CALL(MPI_Comm_dup(group.comm, &part));
            use_and_free(part, group.name);
            CALL(MPI_Comm_free(&group.comm));
        }
    }
}

static void intercommunicators(void) {
    MPI_Comm half, between, merged;
    MPI_Request request;
    int number = world_rank, sum = -1, i, wanted = 0;
    if (world_ranks < 2) return;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half));
    CALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, world_rank % 2 ? 0 : 1, 9, &between));
    CALL(MPI_Iallreduce(&number, &sum, 1, MPI_INT, MPI_SUM, between, &request));
    doing("Iallreduce between two groups");
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (i = 1 - world_rank % 2; i < world_ranks; i += 2) wanted += i;
    CHECK(sum == wanted);
    CALL(MPI_Ibarrier(between, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Intercomm_merge(between, world_rank % 2, &merged));
    use_and_free(merged, "merged");
    CALL(MPI_Comm_free(&between));
    CALL(MPI_Comm_disconnect(&half));
}

/* With processes of another job, which run the same section. They may have other libraries. */
static void spawned(void) {
    char section[] = "spawned", *arguments[2];
    MPI_Comm parent, between, merged;
    arguments[0] = section, arguments[1] = NULL;
    CALL(MPI_Comm_get_parent(&parent));
    between = parent;
    doing("Comm_spawn");
    if (parent == MPI_COMM_NULL)
        CALL(MPI_Comm_spawn(program_path, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                            MPI_ERRCODES_IGNORE));
    CALL(MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &merged));
    use(MPI_COMM_WORLD, "world beside another");
    use_and_free(merged, "merged with another world");
    doing("Comm_disconnect from another world");
    CALL(MPI_Comm_disconnect(&between));
}

/* Many are made and freed, with operations on several at once. */
static void many(void) {
    MPI_Comm comms[20], parent = MPI_COMM_WORLD;
    MPI_Request requests[20];
    int sums[20], i, round;
    for (round = 0; round < 5; ++round) {
        for (i = 0; i < 20; ++i) {
            CALL(MPI_Comm_dup(parent, &comms[i]));
            parent = i % 4 == 3 ? MPI_COMM_WORLD : comms[i];
            CALL(MPI_Iallreduce(&i, &sums[i], 1, MPI_INT, MPI_MAX, comms[i], &requests[i]));
            CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            CHECK(sums[i] == i);
            CALL(MPI_Ibcast(&sums[i], 1, MPI_INT, i % world_ranks, comms[i], &requests[i]));
        }
        CALL(MPI_Waitall(20, requests, MPI_STATUSES_IGNORE));
        for (i = 0; i < 20; ++i) CALL(MPI_Comm_free(&comms[i]));
        parent = MPI_COMM_WORLD;
        ++checks;
    }
}

const Section communicator_sections[] = {
    {"duplicates", duplicates, "dup, idup, with info"},
    {"parts", parts, "split, split_type, create, create_group, backwards"},
    {"from_group", from_group, "create_from_group"},
    {"topologies", topologies, "cart, cart_sub, graph, dist_graph, and their duplicates"},
    {"intercommunicators", intercommunicators, "intercomm_create, merge, disconnect"},
    {"spawned", spawned, "comm_spawn, merge"},
    {"many_communicators", many, "made and freed again and again"},
    {NULL, NULL, NULL}};
