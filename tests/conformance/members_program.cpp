// Communicators made from lists of ranks, without messages: ENGINE CASE. Every rank runs the same case and ends
// with status 1 and a sentence when something does not hold.
#include <signal.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/rank_expect.h"

namespace {

using Ranks = std::vector<int>;

// A list of ranks with its number, and this rank's place in it.
struct List {
    std::uint64_t number;
    Ranks ranks;

    int place() const {
        return static_cast<int>(std::ranges::find(ranks, world_rank) - ranks.begin());
    }
    bool has_me() const { return place() < size(); }
    int size() const { return static_cast<int>(ranks.size()); }
    weft_members members() const {
        weft_members all{};
        all.struct_bytes = sizeof all;
        all.number = number;
        all.ranks = size();
        all.world_ranks = ranks.data();
        return all;
    }
};

weft_comm make(const weft_members& members) {
    weft_comm made = WEFT_COMM_NULL;
    EXPECT(weft_comm_from_members(&members, &made) == WEFT_OK);
    int rank = -1;
    int size = -1;
    EXPECT(weft_comm_rank(made, &rank) == WEFT_OK);
    EXPECT(weft_comm_size(made, &size) == WEFT_OK);
    EXPECT(members.world_ranks[rank] == world_rank && size == members.ranks);
    return made;
}

void world_barrier() { EXPECT(weft_barrier(weft_comm_world()) == WEFT_OK); }

// All ranks, all in reversed order, each parity, all but one, the neighbors in a ring: they overlap.
std::vector<List> lists(std::uint64_t first_number) {
    std::vector<List> all;
    auto add = [&](const Ranks& ranks) { all.push_back({first_number + all.size(), ranks}); };
    Ranks everybody(static_cast<std::size_t>(world_size));
    std::iota(everybody.begin(), everybody.end(), 0);
    add(everybody);
    add({everybody.rbegin(), everybody.rend()});
    for (const int parity : {0, 1}) {
        Ranks some;
        for (int rank = parity; rank < world_size; rank += 2) some.push_back(rank);
        add(some);
    }
    for (int rank = 0; rank < world_size; ++rank) {
        Ranks others = everybody;
        std::erase(others, rank);
        add(others);
        if (world_size > 1) add({(rank + 1) % world_size, rank});
        add({rank});
    }
    return all;
}

// A few collectives on a list's communicator, started now and checked later.
class Traffic {
  public:
    Traffic(const List& list, weft_comm comm, std::size_t count) : list_(list), count_(count) {
        const auto size = static_cast<std::size_t>(list.size());
        const auto own = static_cast<std::size_t>(list.place());
        mine_.assign(count, world_rank + 1);
        sums_.resize(count);
        for (std::size_t r = 0; r < size; ++r)
            for (std::size_t i = 0; i < count; ++i) sent_.push_back(value(own, r, i));
        got_.resize(sent_.size());
        told_.assign(count, own == size - 1 ? 4711 : 0);
        EXPECT(weft_iallreduce(mine_.data(), sums_.data(), count, WEFT_INT64, WEFT_SUM, comm,
                               &requests_[0]) == WEFT_OK);
        EXPECT(weft_ialltoall(sent_.data(), got_.data(), count, WEFT_INT64, comm, &requests_[1]) ==
               WEFT_OK);
        EXPECT(weft_ibcast(told_.data(), count, WEFT_INT64, list.size() - 1, comm, &requests_[2]) ==
               WEFT_OK);
    }

    void finish() {
        EXPECT(weft_waitall(3, requests_, nullptr) == WEFT_OK);
        std::int64_t sum = 0;
        for (const int rank : list_.ranks) sum += rank + 1;
        const auto size = static_cast<std::size_t>(list_.size());
        const auto own = static_cast<std::size_t>(list_.place());
        for (std::size_t i = 0; i < count_; ++i) {
            EXPECT(sums_[i] == sum);
            EXPECT(told_[i] == 4711);
            for (std::size_t r = 0; r < size; ++r) EXPECT(got_[r * count_ + i] == value(r, own, i));
        }
    }

  private:
    std::int64_t value(std::size_t from, std::size_t to, std::size_t i) const {
        return static_cast<std::int64_t>((list_.number * 100 + from) * 100 + to + i);
    }

    List list_;
    std::size_t count_;
    std::vector<std::int64_t> mine_, sums_, sent_, got_, told_;
    weft_request requests_[3] = {};
};

constexpr std::size_t counts[] = {1, 100, 12'000};

// Many at a time, whose operations are all outstanding.
void overlapping() {
    for (const std::size_t count : counts) {
        EXPECT(weft_expect_comms(1) == WEFT_OK);
        world_barrier();
        std::vector<weft_comm> comms;
        std::vector<Traffic> traffic;
        for (const List& list : lists(count << 32)) {
            if (!list.has_me()) continue;
            comms.push_back(make(list.members()));
            traffic.emplace_back(list, comms.back(), count);
        }
        EXPECT(weft_expect_comms(0) == WEFT_OK);
        for (weft_comm& comm : comms) EXPECT(weft_comm_free(&comm) == WEFT_OK);
        for (Traffic& one : traffic) one.finish();
    }
}

// Each rank in turn makes its communicators only when all others have started operations on them.
void ahead() {
    std::uint64_t number = 0;
    for (int slow = 0; slow < world_size; ++slow) {
        for (const std::size_t count : {1, 12'000}) {
            const std::vector<List> all = lists(number += 1000);
            EXPECT(weft_expect_comms(1) == WEFT_OK);
            world_barrier();
            std::vector<weft_comm> comms;
            std::vector<Traffic> traffic;
            traffic.reserve(all.size());
            auto start = [&] {
                for (const List& list : all) {
                    if (!list.has_me()) continue;
                    comms.push_back(make(list.members()));
                    traffic.emplace_back(list, comms.back(), count);
                }
            };
            if (world_rank != slow) start();
            // Another communicator is made meanwhile: that ends no expectation of the program's.
            weft_comm dup = WEFT_COMM_NULL;
            EXPECT(weft_comm_dup(weft_comm_world(), &dup) == WEFT_OK);
            EXPECT(weft_expect_comms(1) == WEFT_OK);
            EXPECT(weft_expect_comms(0) == WEFT_OK);
            EXPECT(weft_barrier(dup) == WEFT_OK);
            EXPECT(weft_comm_free(&dup) == WEFT_OK);
            world_barrier();
            if (world_rank == slow) start();
            EXPECT(weft_expect_comms(0) == WEFT_OK);
            for (Traffic& one : traffic) one.finish();
            for (weft_comm& comm : comms) EXPECT(weft_comm_free(&comm) == WEFT_OK);
        }
    }
}

// The same numbers again and again, each time for other ranks.
void reused() {
    Ranks ranks(static_cast<std::size_t>(world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (int round = 0; round < 50; ++round) {
        std::ranges::rotate(ranks, ranks.begin() + (world_size > 1 ? 1 : 0));
        const List list{7, ranks};
        EXPECT(weft_expect_comms(1) == WEFT_OK);
        world_barrier();
        weft_comm comm = make(list.members());
        EXPECT(weft_expect_comms(0) == WEFT_OK);
        Traffic traffic(list, comm, 100);
        traffic.finish();
        EXPECT(weft_comm_free(&comm) == WEFT_OK);
        world_barrier();
    }
}

void topologies() {
    Ranks reversed;
    for (int rank = world_size; rank-- > 0;) reversed.push_back(rank);
    const List list{1u << 31, reversed};
    const int own = list.place();
    const int next = (own + 1) % world_size;
    const int previous = (own + world_size - 1) % world_size;
    EXPECT(weft_expect_comms(1) == WEFT_OK);
    world_barrier();

    weft_members members = list.members();
    const int dims[] = {1, world_size};
    const int periods[] = {0, 1};
    members.ndims = 2;
    members.dims = dims;
    members.periods = periods;
    weft_comm grid = make(members);
    const std::int64_t sent[] = {own * 10 + 0, own * 10 + 1, own * 10 + 2, own * 10 + 3};
    std::int64_t got[] = {-1, -1, -1, -1};
    EXPECT(weft_neighbor_alltoall(sent, got, 1, WEFT_INT64, grid) == WEFT_OK);
    EXPECT(got[0] == -1 && got[1] == -1);
    EXPECT(got[2] == previous * 10 + 3 && got[3] == next * 10 + 2);

    weft_members graph_members = list.members();
    graph_members.number = 1u << 30;
    graph_members.has_graph = 1;
    graph_members.indegree = graph_members.outdegree = 1;
    graph_members.sources = &previous;
    graph_members.destinations = &next;
    weft_comm graph = make(graph_members);
    int in = 0;
    int out = 0;
    EXPECT(weft_comm_neighbors_count(graph, &in, &out) == WEFT_OK && in == 1 && out == 1);
    const std::int64_t mine = own;
    std::int64_t its = -1;
    EXPECT(weft_neighbor_allgather(&mine, &its, 1, WEFT_INT64, graph) == WEFT_OK);
    EXPECT(its == previous);

    // A duplicate of it has the topology, too, and a split of it is a communicator like any other.
    weft_comm dup = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup(graph, &dup) == WEFT_OK);
    EXPECT(weft_neighbor_allgather(&mine, &its, 1, WEFT_INT64, dup) == WEFT_OK && its == previous);
    weft_comm half = WEFT_COMM_NULL;
    EXPECT(weft_comm_split(grid, own % 2, own, &half) == WEFT_OK);
    EXPECT(weft_barrier(half) == WEFT_OK);
    EXPECT(weft_expect_comms(0) == WEFT_OK);
    for (weft_comm* comm : {&grid, &graph, &dup, &half}) EXPECT(weft_comm_free(comm) == WEFT_OK);
}

void expect_refused(const weft_members* members, const std::string& sentence) {
    weft_comm comm = weft_comm_world();
    EXPECT(weft_comm_from_members(members, &comm) == WEFT_REFUSED_ARGUMENT);
    if (std::strstr(weft_last_detail(), sentence.c_str()) == nullptr)
        fail(__LINE__, sentence.c_str());
    EXPECT(comm == weft_comm_world());
}

void refused() {
    Ranks ranks(static_cast<std::size_t>(world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
    const List list{1, ranks};
    const weft_members good = list.members();
    weft_members bad = good;

    expect_refused(nullptr, "members = null; expected a weft_members of this version");
    bad.struct_bytes = 8;
    expect_refused(&bad, "members = unknown; expected a weft_members of this version");
    EXPECT(weft_comm_from_members(&good, nullptr) == WEFT_REFUSED_ARGUMENT);

    bad = good;
    bad.ranks = -1;
    expect_refused(&bad, "ranks = -1; expected 0 or more");
    bad.ranks = 0;
    expect_refused(&bad, "world_ranks does not have");
    bad.ranks = 1;
    bad.world_ranks = nullptr;
    expect_refused(&bad, "world_ranks = null; expected 1 numbers");
    for (const int outside : {-1, world_size}) {
        bad.world_ranks = &outside;
        expect_refused(&bad, "world_ranks[0] = " + std::to_string(outside));
    }
    Ranks twice = ranks;
    twice.push_back(0);
    bad.ranks = world_size + 1;
    bad.world_ranks = twice.data();
    expect_refused(&bad, "= 0, as world_ranks[0]; expected different ranks");
    const int another = (world_rank + 1) % world_size;
    bad.ranks = 1;
    bad.world_ranks = &another;
    if (world_size > 1)
        expect_refused(&bad, "world_ranks does not have " + std::to_string(world_rank));

    const int periods[] = {0, 0};
    const int too_many[] = {world_size, 2};
    const int too_few[] = {1, 1};
    bad = good;
    bad.ndims = 2;
    bad.periods = periods;
    expect_refused(&bad, "dims = null");
    bad.dims = too_many;
    expect_refused(&bad, "dims[1] = 2; expected 1..1");
    const int seven[] = {0, 7};
    bad.dims = too_few;
    bad.periods = seven;
    expect_refused(&bad, "periods[1] = 7; expected 0 or 1");
    bad.periods = periods;
    if (world_size > 1) expect_refused(&bad, "the grid has 1 places; expected");
    bad.has_graph = 1;
    expect_refused(&bad, "expected a grid or a graph");
    bad.ndims = 0;
    bad.indegree = 1;
    bad.sources = &world_size;
    expect_refused(&bad, "sources[0] = " + std::to_string(world_size));
    bad.ndims = -1;
    bad.has_graph = 0;
    expect_refused(&bad, "ndims = -1");

    weft_comm comm = make(good);
    expect_refused(&good, "number = 1 is that of communicator 1");
    // Freed with an operation outstanding, it still has its number.
    world_barrier();
    weft_request request = WEFT_REQUEST_NULL;
    std::int64_t value = 1;
    EXPECT(weft_iallreduce(WEFT_IN_PLACE, &value, 1, WEFT_INT64, WEFT_SUM, comm, &request) ==
           WEFT_OK);
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    expect_refused(&good, "number = 1 is that of communicator 1");
    EXPECT(weft_wait(&request) == WEFT_OK && value == world_size);
    comm = make(good);

    for (const int more : {-1, 2}) EXPECT(weft_expect_comms(more) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_expect_comms(0) == WEFT_REFUSED_STATE);
    EXPECT(weft_expect_comms(1) == WEFT_OK && weft_expect_comms(0) == WEFT_OK);
    EXPECT(weft_expect_comms(0) == WEFT_REFUSED_STATE);
}

// What undoes a step of splitmix64's finalizer, x ^= x >> bits, on the way back.
std::uint64_t without_shift(std::uint64_t mixed, int bits) {
    std::uint64_t number = mixed;
    for (int done = bits; done < 64; done += bits) number = mixed ^ number >> bits;
    return number;
}

// Another number of the same hash: the library mixes all 64 bits, and keeps the upper ones.
std::uint64_t twin_of(std::uint64_t number) {
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    number = without_shift((number ^ number >> 31) ^ 1, 31) * 0x319642b2d24d8ec3u;
    number = without_shift(number, 27) * 0x96de1b173f119089u;
    return without_shift(number, 30);
}

// Rank 1 has a communicator with rank 0, and cannot make one with the last rank: that is told. The first lives on.
void collision() {
    EXPECT(weft_expect_comms(1) == WEFT_OK);
    const List first{5, {0, 1}};
    const List second{twin_of(5), {world_size - 1, 1}};
    weft_comm one = WEFT_COMM_NULL;
    if (first.has_me()) one = make(first.members());
    if (second.has_me()) {
        const weft_members members = second.members();
        weft_comm two = WEFT_COMM_NULL;
        weft_status status = weft_comm_from_members(&members, &two);
        if (world_rank == 1) {
            EXPECT(status == WEFT_REFUSED_ARGUMENT);
            EXPECT(std::strstr(weft_last_detail(), "or has the same hash"));
        } else {
            if (status == WEFT_OK) status = weft_barrier(two);
            EXPECT(status == WEFT_BROKEN_MEMORY);
            EXPECT(std::strstr(weft_last_detail(),
                               "rank 1 of the job has another communicator of this number"));
        }
    }
    for (int i = 0; i < 3; ++i) {
        if (one) EXPECT(weft_barrier(one) == WEFT_OK);
    }
    world_barrier();
    EXPECT(weft_expect_comms(0) == WEFT_OK);
}

// The last rank comes when the others have waited in vain: their waits end as on other communicators.
void late() {
    Ranks ranks(static_cast<std::size_t>(world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
    weft_comm comm = make(List{1, ranks}.members());
    auto barrier = [](weft_comm on) {
        weft_request request = WEFT_REQUEST_NULL;
        EXPECT(weft_ibarrier(on, &request) == WEFT_OK);
        return request;
    };
    auto finish = [](weft_request request) {
        weft_status status = WEFT_TIMED_OUT;
        while (status == WEFT_TIMED_OUT) status = weft_wait(&request);
        EXPECT(status == WEFT_OK);
    };
    const bool is_late = world_size > 1 && world_rank == world_size - 1;
    weft_request request = WEFT_REQUEST_NULL;
    if (!is_late) request = barrier(comm);
    if (!is_late && world_size > 1) EXPECT(weft_wait(&request) == WEFT_TIMED_OUT);
    finish(barrier(weft_comm_world()));
    if (is_late) request = barrier(comm);
    finish(request);
}

// The last rank dies. Communicators with it break and can no longer be made, those without it live on.
void dies() {
    Ranks ranks(static_cast<std::size_t>(world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
    const int victim = world_size - 1;
    const Ranks others(ranks.begin(), ranks.end() - 1);
    EXPECT(weft_expect_comms(1) == WEFT_OK);
    weft_comm with = make(List{1, ranks}.members());
    // (It may die before its last message has left.)
    const weft_status met = weft_barrier(weft_comm_world());
    EXPECT(met == WEFT_OK || met == WEFT_BROKEN_RANK);
    if (world_rank == victim) kill(getpid(), SIGKILL);
    weft_comm without = make(List{2, others}.members());
    const std::string name = "rank " + std::to_string(victim);
    EXPECT(weft_barrier(with) == WEFT_BROKEN_RANK);
    EXPECT(std::strstr(weft_last_detail(), name.c_str()));
    // A rank that was told of the death may make it before it sees it itself.
    const List again{3, ranks};
    const weft_members members = again.members();
    weft_comm late = WEFT_COMM_NULL;
    weft_status status = weft_comm_from_members(&members, &late);
    if (status == WEFT_OK) status = weft_barrier(late);
    EXPECT(status == WEFT_BROKEN_RANK && std::strstr(weft_last_detail(), name.c_str()));
    EXPECT(weft_barrier(without) == WEFT_OK);
    std::printf("rank %d was told\n", world_rank);
}

// No more persistent requests than streams have numbers.
void streams() {
    weft_request request = WEFT_REQUEST_NULL;
    for (std::uint32_t made = 0; made < (1u << 24) - 1; ++made) {
        EXPECT(weft_barrier_init(weft_comm_self(), &request) == WEFT_OK);
        EXPECT(weft_request_free(&request) == WEFT_OK);
    }
    EXPECT(weft_barrier_init(weft_comm_self(), &request) == WEFT_REFUSED_MEMORY);
    EXPECT(std::strstr(weft_last_detail(), "16777215 persistent requests were made on self"));
    EXPECT(weft_barrier(weft_comm_self()) == WEFT_OK);
}

// Calls that a rank cannot make. If all refuse it, the communicator goes on; otherwise all ranks learn of it.
void refused_calls() {
    Ranks everybody(static_cast<std::size_t>(world_size));
    std::iota(everybody.begin(), everybody.end(), 0);
    for (const bool is_persistent : {false, true}) {
        EXPECT(weft_expect_comms(1) == WEFT_OK);
        world_barrier();
        weft_comm comm = make(List{is_persistent ? 2u : 1u, everybody}.members());
        EXPECT(weft_expect_comms(0) == WEFT_OK);
        EXPECT(weft_comm_refuse_call(comm, nullptr) == WEFT_REFUSED_ARGUMENT);
        EXPECT(weft_comm_refuse_call(WEFT_COMM_NULL, "") == WEFT_REFUSED_HANDLE);
        EXPECT(weft_comm_refuse_call(comm, "a count of rank 0") == WEFT_OK);
        EXPECT(weft_barrier(comm) == WEFT_OK);
        world_barrier();  // a communicator that breaks ends earlier calls that are pending, too
        const bool refuses = world_rank == 0;
        weft_request request = WEFT_REQUEST_NULL;
        weft_status status = WEFT_OK;
        if (refuses) {
            EXPECT(weft_comm_refuse_call(comm, "a count of rank 0") == WEFT_OK);
        } else if (is_persistent) {
            status = weft_barrier_init(comm, &request);
            if (status == WEFT_OK) status = weft_start(&request);
            if (status == WEFT_OK) status = weft_wait(&request);
        } else {
            status = weft_barrier(comm);
        }
        if (!refuses) {
            EXPECT(status == WEFT_BROKEN_MESSAGE);
            EXPECT(std::strstr(weft_last_detail(), "rank 0") != nullptr);
            EXPECT(std::strstr(weft_last_detail(), "a count of rank 0") != nullptr);
        }
        if (request != WEFT_REQUEST_NULL) EXPECT(weft_request_free(&request) == WEFT_OK);
        world_barrier();
        status = weft_barrier(comm);
        EXPECT(status == (world_size > 1 ? WEFT_BROKEN_MESSAGE : WEFT_OK));
        EXPECT(weft_comm_break(comm, "again") == WEFT_OK);
        EXPECT(weft_barrier(comm) == WEFT_BROKEN_MESSAGE);
        EXPECT(weft_comm_free(&comm) == WEFT_OK);
    }
}

struct Case {
    const char* name;
    void (*run)();
};
constexpr Case cases[] = {
    {"overlapping", overlapping},
    {"ahead", ahead},
    {"reused", reused},
    {"topologies", topologies},
    {"refused", refused},
    {"late", late},
    {"dies", dies},
    {"streams", streams},
    {"collision", collision},
    {"refused_calls", refused_calls},
};

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc > 2);
    const weft_members early{};
    weft_comm none = WEFT_COMM_NULL;
    EXPECT(weft_comm_from_members(&early, &none) == WEFT_REFUSED_STATE);
    EXPECT(weft_expect_comms(1) == WEFT_REFUSED_STATE);
    join_job();
    for (const Case& one : cases) {
        if (std::string_view(argv[2]) != one.name) continue;
        one.run();
        EXPECT(weft_finalize() == WEFT_OK);
        return 0;
    }
    std::fprintf(stderr, "no case %s\n", argv[2]);
    return 1;
}
