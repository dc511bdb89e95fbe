// Communicators made from others: ENGINE CASE..., or one case with arguments. Every rank runs the same cases and ends
// with status 1 and a sentence when something does not hold.
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/in_fibers.h"
#include "conformance/rank_expect.h"
#include "support/any_call.h"

#if defined(__SANITIZE_ADDRESS__)
// libpmix does not free all that it has allocated.
extern "C" const char* __lsan_default_suppressions() { return "leak:libpmix\n"; }
#endif

namespace {

using weft::Collective;
using weft::collectives;
using weft::test::CollectiveEntry;
using weft::test::entry_of;
using weft::test::has_in_place;
using weft::test::OneCall;

bool detail_has(const std::string& text) {
    return std::strstr(weft_last_detail(), text.c_str()) != nullptr;
}

int rank_in(weft_comm comm) {
    int rank = -1;
    EXPECT(weft_comm_rank(comm, &rank) == WEFT_OK);
    return rank;
}

int size_of(weft_comm comm) {
    int size = -1;
    EXPECT(weft_comm_size(comm, &size) == WEFT_OK);
    return size;
}

weft_comm dup_of(weft_comm comm) {
    weft_comm made = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup(comm, &made) == WEFT_OK);
    EXPECT(made != WEFT_COMM_NULL && made != comm);
    return made;
}

weft_comm split_of(weft_comm comm, int color, int key) {
    weft_comm made = comm;
    EXPECT(weft_comm_split(comm, color, key, &made) == WEFT_OK);
    return made;
}

void free_comm(weft_comm& comm) {
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    EXPECT(comm == WEFT_COMM_NULL);
}

// A collective on each of `comms`, which have the same ranks, with every root; a long one, if there are
// several communicators or settings, with the first and the last. A short one also in place, if that is allowed.
void use(std::span<const weft_comm> comms, Collective collective, int size, std::size_t count,
         const weft::test::Neighbors& neighbors = {}) {
    const CollectiveEntry& entry = entry_of(collective);
    const int roots = entry.has_root ? size : 1;
    const bool has_all_roots = comms.size() == 1 && (count < 1000 || *setting == 0);
    for (int root = 0; root < roots; root += has_all_roots ? 1 : std::max(1, roots - 1)) {
        for (const bool in_place : {false, true}) {
            const bool is_short = comms.size() == 1 && count < 1000;
            if (in_place && !(is_short && has_in_place(entry.name))) continue;
            OneCall one(collective, rank_in(comms.front()), size,
                        {.root = root,
                         .count = count,
                         .in_place = in_place,
                         .has_places = true,
                         .neighbors = neighbors});
            for (weft_comm comm : comms) {
                one.reset();
                EXPECT(weft_start_call(&one.call(), WEFT_BLOCKING, comm, nullptr) == WEFT_OK);
                if (!one.is_right()) fail(__LINE__, entry.name);
            }
        }
    }
}

// All collectives but those among neighbors on communicators whose ranks are these ranks of the
// world, in this order.
void use(std::span<const weft_comm> comms, const std::vector<int>& members, std::size_t count) {
    const auto size = static_cast<int>(members.size());
    for (weft_comm comm : comms) {
        EXPECT(size_of(comm) == size);
        EXPECT(members[static_cast<std::size_t>(rank_in(comm))] == world_rank);
        std::vector<int> gathered(members.size());
        EXPECT(weft_allgather(&world_rank, gathered.data(), 1, WEFT_INT32, comm) == WEFT_OK);
        EXPECT(gathered == members);
    }
    for (std::size_t c = 0; c < collectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (!entry_of(collective).is_among_neighbors) use(comms, collective, size, count);
    }
}
void use(weft_comm comm, const std::vector<int>& members, std::size_t count = 3) {
    use(std::span(&comm, 1), members, count);
}

// All collectives among neighbors, in a ring of the ranks of `comm`.
void use_ring(weft_comm comm) {
    const int size = size_of(comm);
    const weft::test::Neighbors all = weft::test::neighbors("ring", size);
    weft_comm ring = WEFT_COMM_NULL;
    EXPECT(weft_comm_cart(comm, static_cast<int>(all.dims.size()), all.dims.data(),
                          all.periods.data(), &ring) == WEFT_OK);
    for (std::size_t c = 0; c < collectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (entry_of(collective).is_among_neighbors)
            use(std::span(&ring, 1), collective, size, 3, all);
    }
    free_comm(ring);
}

std::vector<int> everybody() {
    std::vector<int> ranks(static_cast<std::size_t>(world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

void all_collectives(weft_comm world) {
    use(weft_comm_self(), {world_rank});
    weft_comm copy = dup_of(world);
    use(copy, everybody());
    use(copy, everybody(), 20'000);
    use_ring(copy);
    weft_comm copy_of_copy = dup_of(copy);
    free_comm(copy);
    use(copy_of_copy, everybody());
    weft_comm self_copy = dup_of(weft_comm_self());
    use(self_copy, {world_rank});
    free_comm(self_copy);
    // One that weft_finalize frees.
}

// All collectives, on communicators with each of these settings.
void with_settings(weft_comm world, std::span<const char* const> settings) {
    EXPECT(!settings.empty());
    for (const char* own : settings) {
        setting = own;
        weft_comm made = WEFT_COMM_NULL;
        EXPECT(weft_comm_dup_with(world, own, &made) == WEFT_OK);
        use(made, everybody());
        use(made, everybody(), 20'000);
        use_ring(made);
        free_comm(made);
    }
}

void splits(weft_comm world) {
    // In reverse; then by parity, where equal keys leave the order of ranks.
    std::vector<int> reversed = everybody();
    std::reverse(reversed.begin(), reversed.end());
    weft_comm backwards = split_of(world, 5, -world_rank);
    use(backwards, reversed);
    weft_comm half = split_of(backwards, world_rank % 2, 0);
    std::vector<int> same_parity;
    for (int rank : reversed) {
        if (rank % 2 == world_rank % 2) same_parity.push_back(rank);
    }
    use(half, same_parity);
    // The halves go on by themselves: one makes more communicators than the other.
    std::vector<weft_comm> mine;
    for (int i = 0; i < 1 + 3 * (world_rank % 2); ++i) {
        mine.push_back(dup_of(half));
        use(mine.back(), same_parity);
    }
    // And both meet again in one.
    weft_comm joined = dup_of(world);
    use(joined, everybody());
    for (weft_comm comm : mine) use(comm, same_parity);

    // Without rank 0, which gets none.
    weft_comm rest = split_of(world, world_rank == 0 ? WEFT_COLOR_NONE : 0, 1);
    EXPECT((rest == WEFT_COMM_NULL) == (world_rank == 0));
    if (world_rank > 0) {
        std::vector<int> others = everybody();
        others.erase(others.begin());
        use(rest, others);
        free_comm(rest);
    }
    // A group of one each.
    weft_comm alone = split_of(joined, world_rank, 0);
    use(alone, {world_rank});
    free_comm(half);
    use(backwards, reversed);
}

// Operations outstanding on a freed communicator finish; its handle is invalid at once.
void frees(weft_comm world) {
    constexpr std::size_t count = 50'000;
    weft_comm comm = dup_of(world);
    weft_comm handle = comm;
    std::vector<float> values(count, 1);
    std::vector<float> more(count, 2);
    weft_request requests[3] = {};
    // The others free it with operations that cannot be done: rank 0 starts its own after that.
    weft_comm gate = dup_of(world);
    if (world_rank == 0) EXPECT(weft_barrier(gate) == WEFT_OK);
    EXPECT(weft_iallreduce(WEFT_IN_PLACE, values.data(), count, WEFT_FLOAT32, WEFT_SUM, comm,
                           &requests[0]) == WEFT_OK);
    EXPECT(weft_ibarrier(comm, &requests[1]) == WEFT_OK);
    EXPECT(weft_ibcast(more.data(), count, WEFT_FLOAT32, 0, comm, &requests[2]) == WEFT_OK);
    free_comm(comm);
    int unused;
    EXPECT(weft_comm_size(handle, &unused) == WEFT_REFUSED_HANDLE);
    EXPECT(weft_barrier(handle) == WEFT_REFUSED_HANDLE);
    EXPECT(detail_has("expected a communicator that has not been freed"));
    EXPECT(weft_comm_free(&handle) == WEFT_REFUSED_HANDLE);
    if (world_size > 1 && world_rank != 0) {
        EXPECT(weft_finalize() == WEFT_REFUSED_OUTSTANDING);
        // (Those of other fibers may come first.)
        EXPECT(world != weft_comm_world() ||
               detail_has("allreduce of 200000 bytes on dup of world"));
        EXPECT(weft_barrier(gate) == WEFT_OK);
    }
    free_comm(gate);
    weft_comm other = dup_of(world);
    use(other, everybody());
    EXPECT(weft_waitall(3, requests, nullptr) == WEFT_OK);
    for (float value : values) EXPECT(value == static_cast<float>(world_size));
    EXPECT(weft_comm_size(handle, &unused) == WEFT_REFUSED_HANDLE);
    use(other, everybody());
    // Freed with a request that is done but not completed: it stays until it is.
    weft_request late = WEFT_REQUEST_NULL;
    EXPECT(weft_ibarrier(other, &late) == WEFT_OK);
    EXPECT(weft_barrier(other) == WEFT_OK);
    free_comm(other);
    EXPECT(weft_finalize() == WEFT_REFUSED_OUTSTANDING);
    EXPECT(world != weft_comm_world() || detail_has("barrier of 0 bytes on dup of world"));
    EXPECT(weft_wait(&late) == WEFT_OK);
}

// Streams of different communicators do not wait for one another: every rank starts its operations
// in another order of communicators and waits in yet another.
void interleaved(weft_comm world) {
    constexpr std::size_t comms = 16;
    constexpr std::size_t count = 500;
    std::vector<weft_comm> made;
    for (std::size_t i = 0; i < comms; ++i) made.push_back(dup_of(world));
    for (unsigned round = 0; round < 20; ++round) {
        std::vector<std::vector<std::int32_t>> values(comms);
        std::vector<weft_request> requests(comms, WEFT_REQUEST_NULL);
        auto stride = static_cast<std::size_t>(2 * world_rank + 1);  // coprime to their number
        for (std::size_t i = 0; i < comms; ++i) {
            std::size_t at = (i * stride + round) % comms;
            values[at].assign(count, static_cast<std::int32_t>(at));
            EXPECT(weft_iallreduce(WEFT_IN_PLACE, values[at].data(), count, WEFT_INT32, WEFT_SUM,
                                   made[at], &requests[at]) == WEFT_OK);
        }
        for (std::size_t i = 0; i < comms; ++i) {
            std::size_t at = (comms - 1 - i) * stride % comms;
            EXPECT(weft_wait(&requests[at]) == WEFT_OK);
            for (std::int32_t value : values[at])
                EXPECT(value == static_cast<std::int32_t>(at) * world_size);
        }
    }
    for (std::size_t i = 0; i < comms; i += 2) free_comm(made[i]);
    for (std::size_t i = 1; i < comms; i += 2) use(made[i], everybody());
}

// Many communicators at once, each used by all collectives: they share the connections.
void many(weft_comm world) {
    constexpr int comms = 64;
    std::vector<weft_comm> made;
    for (int i = 0; i < comms; ++i) made.push_back(dup_of(world));
    use(made, everybody(), 3);
    std::reverse(made.begin(), made.end());
    use(made, everybody(), 2000);
    for (weft_comm& comm : made) free_comm(comm);
}

// A fast rank uses a new communicator while a slow one is still making it.
void ahead(weft_comm world) {
    for (int round = 0; round < 300; ++round) {
        weft_comm comm = dup_of(world);
        std::int64_t value = world_rank == round % world_size ? round : -1;
        std::vector<std::int64_t> large(3000, value);
        weft_request requests[2] = {};
        EXPECT(weft_ibcast(&value, 1, WEFT_INT64, round % world_size, comm, &requests[0]) ==
               WEFT_OK);
        EXPECT(weft_ibcast(large.data(), large.size(), WEFT_INT64, round % world_size, comm,
                           &requests[1]) == WEFT_OK);
        free_comm(comm);
        EXPECT(weft_waitall(2, requests, nullptr) == WEFT_OK);
        EXPECT(value == round);
        for (std::int64_t v : large) EXPECT(v == round);
    }
}

std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    std::size_t resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Making, using and freeing communicators forever takes no memory. (A sanitizer's allocator keeps freed
// memory: there the memory is not checked.)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_memory = false;
#else
constexpr bool counts_memory = true;
#endif

void growth(int cycles) {
    auto cycle = [](int times) {
        run_here_or_in_fibers([times](weft_comm world) {
            for (int i = 0; i < times; ++i) {
                weft_comm comm = i % 4 == 3 ? split_of(world, i % 3, world_rank) : dup_of(world);
                EXPECT(weft_barrier(comm) == WEFT_OK);
                free_comm(comm);
            }
        });
    };
    cycle(cycles / 10);
    std::size_t used = mallinfo2().uordblks;
    std::size_t resident = resident_bytes();
    cycle(cycles);
    std::size_t used_after = mallinfo2().uordblks;
    std::size_t resident_after = resident_bytes();
    if (!counts_memory) return;
    EXPECT(used > 0);
    // Chance decides how many messages of eight fibers are kept at once.
    const std::size_t may_grow = std::getenv("WEFT_TEST_IN_FIBERS") ? 256 << 10 : 8192;
    if (used_after > used + may_grow || resident_after > resident + (8u << 20)) {
        std::fprintf(stderr, "rank %d: %zu -> %zu bytes in use, %zu -> %zu resident\n", world_rank,
                     used, used_after, resident, resident_after);
        std::exit(1);
    }
}

// Bad calls are refused and leave the communicators as they were.
void refused(weft_comm world) {
    weft_comm made = world;
    EXPECT(weft_comm_dup(world, nullptr) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has("new_comm = null; expected an address (weft_comm_dup)"));
    EXPECT(weft_comm_dup(WEFT_COMM_NULL, &made) == WEFT_REFUSED_HANDLE);
    EXPECT(weft_comm_split(world, -3, 0, &made) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has("color = -3; expected 0 or more, or WEFT_COLOR_NONE (weft_comm_split)"));
    EXPECT(made == world);
    EXPECT(weft_comm_free(nullptr) == WEFT_REFUSED_HANDLE);
    weft_comm null = WEFT_COMM_NULL;
    EXPECT(weft_comm_free(&null) == WEFT_REFUSED_HANDLE);
    weft_comm self = weft_comm_self();
    weft_comm of_all = weft_comm_world();
    EXPECT(weft_comm_free(&of_all) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has("comm = world; expected a communicator that a constructor made"));
    EXPECT(weft_comm_free(&self) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has("comm = self;"));
    EXPECT(of_all == weft_comm_world() && self == weft_comm_self());
    if (world_size == 1) return;

    // Arguments that one rank alone gets wrong: nobody waits.
    const bool is_odd = world_rank == 1;
    EXPECT(weft_comm_split(world, is_odd ? -1 : 0, 0, &made) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has(is_odd
                          ? "color = -1; expected 0 or more, or WEFT_COLOR_NONE"
                          : "rank 1 of the job gave arguments that weft_comm_split refuses there"));
    EXPECT(weft_comm_dup(world, is_odd ? nullptr : &made) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has(is_odd
                          ? "new_comm = null; expected an address"
                          : "rank 1 of the job gave arguments that weft_comm_dup refuses there"));
    EXPECT(made == world);

    // Different constructors: everybody is told the same, and the parent goes on.
    weft_status status =
        world_rank == 1 ? weft_comm_split(world, 0, 0, &made) : weft_comm_dup(world, &made);
    EXPECT(status == WEFT_REFUSED_ARGUMENT && made == world);
    EXPECT(
        detail_has("rank 1 of the job called weft_comm_split where rank 0 called weft_comm_dup"));
    use(world, everybody());
    made = dup_of(world);
    use(made, everybody());
    free_comm(made);
}

// The ranks of a node are those in one network namespace, as Surroundings arranges nodes.
void nodes(weft_comm world) {
    struct stat network {};
    EXPECT(stat("/proc/self/ns/net", &network) == 0);
    const auto own = static_cast<std::int64_t>(network.st_ino);
    std::vector<std::int64_t> all(static_cast<std::size_t>(world_size));
    EXPECT(weft_allgather(&own, all.data(), 1, WEFT_INT64, world) == WEFT_OK);
    std::vector<int> members;
    for (int rank : everybody()) {
        if (all[static_cast<std::size_t>(rank)] == own) members.push_back(rank);
    }
    weft_comm made = WEFT_COMM_NULL;
    EXPECT(weft_comm_split_node(world, 0, &made) == WEFT_OK);
    use(made, members);
    free_comm(made);
    // By key, in a communicator whose ranks are in another order.
    weft_comm turned = split_of(world, 0, -world_rank);
    EXPECT(weft_comm_split_node(turned, world_rank, &made) == WEFT_OK);
    use(made, members);
    free_comm(made);
    EXPECT(weft_comm_split_node(turned, 0, &made) == WEFT_OK);
    std::reverse(members.begin(), members.end());
    use(made, members);
    free_comm(made);
    // An algorithm that goes by nodes.
    EXPECT(weft_comm_dup_with(turned, "bcast=hierarchical", &made) == WEFT_OK);
    members = everybody();
    std::reverse(members.begin(), members.end());
    use(made, members);
    free_comm(made);
    free_comm(turned);
}

struct Neighbors {
    std::vector<int> sources;
    std::vector<int> destinations;
};

Neighbors neighbors_of(weft_comm comm) {
    int in = -1;
    int out = -1;
    EXPECT(weft_comm_neighbors_count(comm, &in, &out) == WEFT_OK);
    // One element more, which stays.
    Neighbors neighbors{std::vector<int>(static_cast<std::size_t>(in + 1), 77),
                        std::vector<int>(static_cast<std::size_t>(out + 1), 77)};
    EXPECT(weft_comm_neighbors(comm, in + 1, neighbors.sources.data(), out + 1,
                               neighbors.destinations.data()) == WEFT_OK);
    EXPECT(neighbors.sources.back() == 77 && neighbors.destinations.back() == 77);
    neighbors.sources.pop_back();
    neighbors.destinations.pop_back();
    return neighbors;
}

// In a grid each rank sends each neighbor its number and the block's; blocks cross.
void use_grid(weft_comm comm) {
    const Neighbors neighbors = neighbors_of(comm);
    const int rank = rank_in(comm);
    std::vector<int> sent;
    for (std::size_t k = 0; k < neighbors.destinations.size(); ++k)
        sent.insert(sent.end(), {rank, static_cast<int>(k)});
    std::vector<int> got(2 * neighbors.sources.size(), -5);
    EXPECT(weft_neighbor_alltoall(sent.data(), got.data(), 2, WEFT_INT32, comm) == WEFT_OK);
    for (std::size_t k = 0; k < neighbors.sources.size(); ++k) {
        const bool is_there = neighbors.sources[k] != WEFT_RANK_NONE;
        EXPECT(got[2 * k] == (is_there ? neighbors.sources[k] : -5));
        EXPECT(got[2 * k + 1] == (is_there ? static_cast<int>(k ^ 1) : -5));
    }
}

void expect_refused_on_all(weft_status status, const std::string& detail) {
    EXPECT(status == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has(detail));
}

// Grids and graphs; what is wrong on one rank is told to all.
void topologies(weft_comm world) {
    weft_comm made = WEFT_COMM_NULL;
    const int open = 0;
    const int wraps = 1;
    const int places = std::max(1, world_size - 1);
    EXPECT(weft_comm_cart(world, 1, &places, &open, &made) == WEFT_OK);
    EXPECT((made == WEFT_COMM_NULL) == (world_rank >= places));
    if (made != WEFT_COMM_NULL) {
        const Neighbors row = neighbors_of(made);
        const int above = world_rank + 1 < places ? world_rank + 1 : WEFT_RANK_NONE;
        EXPECT(row.sources == (std::vector<int>{world_rank - 1, above}));
        EXPECT(row.destinations == row.sources);
        use_grid(made);
        weft_comm copy = dup_of(made);
        use_grid(copy);
        free_comm(copy);
        weft_comm part = split_of(made, 0, 0);
        int number = 0;
        EXPECT(weft_comm_neighbors_count(part, &number, &number) == WEFT_REFUSED_ARGUMENT);
        EXPECT(detail_has("has no topology; expected one made by weft_comm_cart or"));
        free_comm(part);
        free_comm(made);
    }
    // A ring backwards, as a grid and as a graph with an edge to itself in between.
    weft_comm turned = split_of(world, 0, -world_rank);
    EXPECT(weft_comm_cart(turned, 1, &world_size, &wraps, &made) == WEFT_OK);
    use_grid(made);
    const int rank = rank_in(made);
    free_comm(made);
    const int below = (rank + world_size - 1) % world_size;
    const int above = (rank + 1) % world_size;
    const int sources[] = {below, rank, below};
    const int destinations[] = {above, above, rank};
    EXPECT(weft_comm_graph(turned, 3, sources, 3, destinations, &made) == WEFT_OK);
    // Of a single rank all three edges are to itself: they meet in order.
    int sent[] = {0, 1, 2};
    int got[] = {-1, -1, -1};
    EXPECT(weft_neighbor_alltoall(sent, got, 1, WEFT_INT32, made) == WEFT_OK);
    const bool is_alone = world_size == 1;
    EXPECT(got[0] == 0 && got[1] == (is_alone ? 1 : 2) && got[2] == (is_alone ? 2 : 1));
    free_comm(made);
    EXPECT(weft_comm_graph(turned, 0, nullptr, 0, nullptr, &made) == WEFT_OK);
    EXPECT(weft_neighbor_alltoall(nullptr, nullptr, 1, WEFT_INT32, made) == WEFT_OK);
    free_comm(made);
    free_comm(turned);
    if (world_size == 1) return;

    const int size = world_rank == 1 ? 1 : 2;
    expect_refused_on_all(weft_comm_cart(world, 1, &size, &open, &made),
                          "rank 1 of the job gave another grid than rank 0");
    const int bad = world_rank == 1 ? world_size : 0;
    expect_refused_on_all(
        weft_comm_graph(world, 1, &bad, 0, nullptr, &made),
        world_rank == 1 ? "sources[0] = " + std::to_string(world_size) + "; expected 0.."
                        : "rank 1 of the job gave arguments that weft_comm_graph refuses there");
    // Rank 1 lists an edge to rank 0 twice.
    const int twice[] = {0, 0};
    const int one = 1;
    weft_status status = WEFT_OK;
    if (world_rank == 0)
        status = weft_comm_graph(world, 1, &one, 0, nullptr, &made);
    else
        status = weft_comm_graph(world, 0, nullptr, world_rank == 1 ? 2 : 0, twice, &made);
    expect_refused_on_all(status,
                          "rank 1 of the job lists rank 0 2 times as a destination, which lists it "
                          "1 times as a source; expected equally many");
    EXPECT(made == WEFT_COMM_NULL);
    use(world, everybody());
}

// Sums, blocks of all and of each pair, whose elements are one of two powers of two: exact in each
// wire format, as their sums are. Twice, by a persistent request and by two calls.
void send_floats(weft_comm comm, std::size_t count) {
    const auto ranks = static_cast<std::size_t>(world_size);
    std::vector<float> sums(count);
    std::vector<float> gathered(ranks * count);
    std::vector<float> sent(ranks * count);
    std::vector<float> got(ranks * count);
    weft_request persistent = WEFT_REQUEST_NULL;
    EXPECT(weft_allreduce_init(WEFT_IN_PLACE, sums.data(), count, WEFT_FLOAT32, WEFT_SUM, comm,
                               &persistent) == WEFT_OK);
    for (int turn = 0; turn < 2; ++turn) {
        const auto value = [&](std::size_t i, std::size_t block) {
            return (i + block + static_cast<std::size_t>(turn)) % 3 == 0 ? -0.25f : 0.25f;
        };
        std::vector<float> own(count);
        for (std::size_t i = 0; i < count; ++i) {
            own[i] = value(i, static_cast<std::size_t>(world_rank));
            sums[i] = value(i, 0);
            for (std::size_t block = 0; block < ranks; ++block)
                sent[block * count + i] = value(i, block + static_cast<std::size_t>(world_rank));
        }
        weft_request requests[3] = {persistent, WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
        EXPECT(weft_start(&requests[0]) == WEFT_OK);
        EXPECT(weft_iallgather(own.data(), gathered.data(), count, WEFT_FLOAT32, comm,
                               &requests[1]) == WEFT_OK);
        EXPECT(weft_ialltoall(sent.data(), got.data(), count, WEFT_FLOAT32, comm, &requests[2]) ==
               WEFT_OK);
        EXPECT(weft_waitall(3, requests, nullptr) == WEFT_OK);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT(sums[i] == static_cast<float>(world_size) * value(i, 0));
            for (std::size_t block = 0; block < ranks; ++block) {
                EXPECT(gathered[block * count + i] == value(i, block));
                EXPECT(got[block * count + i] ==
                       value(i, block + static_cast<std::size_t>(world_rank)));
            }
        }
    }
    double error = -1;
    EXPECT(weft_comm_wire_error(comm, &error) == WEFT_OK);
    const bool is_bounded = world_size > 1 && std::string_view(setting) == "wire=int8";
    EXPECT(is_bounded ? error > 0 && error < 0.01 * world_size * world_size : error == 0);
    EXPECT(weft_comm_wire_error(comm, &error) == WEFT_OK && error == 0);
    EXPECT(weft_request_free(&persistent) == WEFT_OK);
}

// Communicators with algorithms of their own.
void settings(weft_comm world) {
    weft_comm made = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup_with(world, nullptr, &made) == WEFT_OK);
    use(made, everybody());
    free_comm(made);
    EXPECT(weft_comm_dup_with(world, " allreduce=ring  bcast=chain:segment=64,window=2 offload=0 ",
                              &made) == WEFT_OK);
    use(made, everybody());
    free_comm(made);

    // In a wire format. (tests/spec/wire_test.cpp says what rounded elements are.)
    for (const char* wire : {"wire=bfloat16", "wire=int8", "wire=int8 wire=exact"}) {
        setting = wire;
        EXPECT(weft_comm_dup_with(world, wire, &made) == WEFT_OK);
        use(made, everybody());
        for (const std::size_t count : {100, 70'000}) send_floats(made, count);
        free_comm(made);
    }
    setting = "";

    // On fewer links of a node than there are.
    for (const char* links : {"links=1", "links=2", "links=8", "links=1 links=all"}) {
        EXPECT(weft_comm_dup_with(world, links, &made) == WEFT_OK);
        weft_comm made_of_it = dup_of(made);
        use(made, everybody());
        free_comm(made);
        use(made_of_it, everybody());
        free_comm(made_of_it);
    }

    made = world;
    for (const char* bad : {"allreduce", "alreduce=ring", "offload=2", "reproducible=yes", "=",
                            "ring", "accumulate=float64", "wire=float16", "wire=", "links=0",
                            "links=9", "links=", "links=one"}) {
        EXPECT(weft_comm_dup_with(world, bad, &made) == WEFT_REFUSED_ARGUMENT);
        EXPECT(detail_has(std::string("settings: \"") + bad + "\"; expected COLLECTIVE=ALGORITHM"));
    }
    EXPECT(weft_comm_wire_error(world, nullptr) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_comm_dup_with(world, "bcast=chian", &made) == WEFT_REFUSED_SETTING);
    EXPECT(detail_has("bcast: \"chian\" is not known; expected one of: binomial"));
    EXPECT(weft_comm_dup_with(world, "bcast=binomial:segment=4", &made) == WEFT_REFUSED_SETTING);
    EXPECT(made == world);

    // Algorithms that cannot be reproducible are refused by name; reduce has one that can. Integers
    // do not mind.
    std::vector<double> sum(1);
    const double one = 1;
    EXPECT(weft_comm_dup_with(world, "reproducible=1 allreduce=ring", &made) == WEFT_OK);
    EXPECT(weft_allreduce(&one, sum.data(), 1, WEFT_FLOAT64, WEFT_SUM, made) ==
           WEFT_REFUSED_SETTING);
    EXPECT(detail_has("allreduce=ring needs operands that may be combined in any order"));
    const std::int64_t integer = 1;
    std::int64_t integers = 0;
    EXPECT(weft_allreduce(&integer, &integers, 1, WEFT_INT64, WEFT_SUM, made) == WEFT_OK);
    EXPECT(integers == world_size);
    EXPECT(weft_reduce(&one, sum.data(), 1, WEFT_FLOAT64, WEFT_SUM, 0, made) == WEFT_OK);
    weft_comm free_again = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup_with(made, "reproducible=0", &free_again) == WEFT_OK);
    free_comm(made);
    EXPECT(weft_allreduce(&one, sum.data(), 1, WEFT_FLOAT64, WEFT_SUM, free_again) == WEFT_OK);
    EXPECT(sum.front() == world_size);
    free_comm(free_again);

    // What was made from it inherits them: 3 ports need a power of four ranks. Other calls do not mind.
    const bool is_possible = world_size == 1 || world_size == 4;
    EXPECT(weft_comm_dup_with(world, "allgather=standard_exchange:ports=3", &made) == WEFT_OK);
    weft_comm child = dup_of(made);
    free_comm(made);
    const int own = world_rank;
    std::vector<int> all(static_cast<std::size_t>(world_size));
    const weft_status status = weft_allgather(&own, all.data(), 1, WEFT_INT32, child);
    EXPECT(status == (is_possible ? WEFT_OK : WEFT_REFUSED_SETTING));
    if (!is_possible) EXPECT(detail_has("allgather=standard_exchange:ports=3 needs"));
    EXPECT(weft_comm_dup_with(child, "allgather=ring", &made) == WEFT_OK);
    use(made, everybody());
    free_comm(made);
    free_comm(child);
    if (world_size == 1) return;

    made = world;
    const char* mine = world_rank == 1 ? "allreduce=ring" : "allreduce=recursive_doubling";
    EXPECT(weft_comm_dup_with(world, mine, &made) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has("rank 1 of the job gave other settings than rank 0"));
    mine = world_rank == 1 ? "reproducible=1" : "reproducible=0";
    EXPECT(weft_comm_dup_with(world, mine, &made) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has("rank 1 of the job gave other settings than rank 0"));
    mine = world_rank == 1 ? "wire=int8" : "wire=bfloat16";
    EXPECT(weft_comm_dup_with(world, mine, &made) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has("rank 1 of the job gave other settings than rank 0"));
    mine = world_rank == 1 ? "links=1" : "links=2";
    EXPECT(weft_comm_dup_with(world, mine, &made) == WEFT_REFUSED_ARGUMENT);
    EXPECT(detail_has("rank 1 of the job gave other settings than rank 0"));
    EXPECT(made == world);
    // A bad word on one rank is refused on all, each with its own sentence.
    for (const char* bad : {"allreduce=rnig", "alreduce=ring"}) {
        const weft_status status_of_bad =
            weft_comm_dup_with(world, world_rank == world_size - 1 ? bad : "allreduce=ring", &made);
        if (world_rank == world_size - 1) {
            EXPECT(status_of_bad == WEFT_REFUSED_SETTING || status_of_bad == WEFT_REFUSED_ARGUMENT);
            EXPECT(detail_has(bad == std::string("alreduce=ring") ? bad : "rnig"));
        } else {
            EXPECT(status_of_bad == WEFT_REFUSED_ARGUMENT);
            EXPECT(detail_has("rank " + std::to_string(world_size - 1) +
                              " of the job gave other settings than rank 0"));
        }
    }
    EXPECT(made == world);
    // Whether operations are offloaded is each rank's own affair.
    EXPECT(weft_comm_dup_with(world, world_rank == 1 ? "offload=0" : "", &made) == WEFT_OK);
    use(made, everybody());
    free_comm(made);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 3);
    setenv("WEFT_ENGINE", argv[1], 1);
    EXPECT(weft_comm_self() == WEFT_COMM_NULL);
    join_job();
    const std::pair<std::string_view, void (*)(weft_comm)> cases[] = {
        {"all_collectives", all_collectives},
        {"splits", splits},
        {"frees", frees},
        {"interleaved", interleaved},
        {"many", many},
        {"ahead", ahead},
        {"refused", refused},
        {"nodes", nodes},
        {"settings", settings},
        {"topologies", topologies},
    };
    if (argv[2] == std::string_view("growth")) {
        growth(argc > 3 ? std::atoi(argv[3]) : 5'000);
    } else if (argv[2] == std::string_view("with_settings")) {
        with_settings(weft_comm_world(),
                      std::span(argv, static_cast<std::size_t>(argc)).subspan(3));
    } else {
        for (const char* name : std::span(argv, static_cast<std::size_t>(argc)).subspan(2)) {
            const auto* const found = std::ranges::find(cases, std::string_view(name),
                                                        [](const auto& one) { return one.first; });
            EXPECT(found != std::end(cases));
            run_here_or_in_fibers(found->second);
        }
    }
    EXPECT(weft_barrier(weft_comm_world()) == WEFT_OK);
    EXPECT(weft_finalize() == WEFT_OK);
    EXPECT(weft_comm_self() == WEFT_COMM_NULL);
    return 0;
}
