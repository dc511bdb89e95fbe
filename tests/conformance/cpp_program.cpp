// The C++ interface between ranks: ENGINE CASE. Every rank runs the same case and ends with status 1
// and a sentence when something does not hold.
#include <unistd.h>
#include <weft/pipeline.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using weft::Communicator;
using weft::Request;
using Values = std::vector<std::int64_t>;
using std::chrono::milliseconds;

int rank = -1;
int ranks = 0;

[[noreturn]] void fail(int line, const char* condition) {
    std::fprintf(stderr, "rank %d, line %d: %s does not hold; detail: %s\n", rank, line, condition,
                 weft_last_detail());
    std::_Exit(1);
}

#define EXPECT(condition)                             \
    do {                                              \
        if (!(condition)) fail(__LINE__, #condition); \
    } while (0)

}  // namespace

#include "conformance/in_fibers.h"

namespace {

template <class F>
weft::Error error_of(F&& call) {
    try {
        call();
    } catch (const weft::Error& error) {
        return error;
    }
    fail(__LINE__, "an error is thrown");
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::int64_t sum_of_ranks() { return std::int64_t{ranks} * (ranks - 1) / 2; }

// Ranks other than 0 are held here until rank 0 passes, which does not wait for them.
void pass(const Communicator& gate) {
    std::byte token{};
    gate.bcast(std::span(&token, 1), 0);
}

// --- Collectives ---------------------------------------------------------------------------------

void collectives() {
    const Communicator world = Communicator::world();
    const auto n = static_cast<std::size_t>(ranks);
    const Values own = {rank, 2 * rank};
    Values gathered(2 * n), reduced(2), cast(3);
    for (int form = 0; form < 6; ++form) {
        const bool in_place = form >= 3;
        const int root = form % ranks;
        gathered.assign(2 * n, -1);
        reduced.assign(2, -1);
        if (in_place) {
            std::copy(own.begin(), own.end(), gathered.begin() + 2 * rank);
            reduced = own;
        }
        cast.assign(3, rank == root ? root + 5 : -1);
        std::vector<Request> requests;
        const auto start = [&](auto&& send_gather, auto&& send_reduce) {
            if (form % 3 == 0) {
                world.barrier();
                world.allgather(send_gather, gathered);
                world.allreduce(send_reduce, reduced, weft::sum);
                world.bcast(cast, root);
            } else if (form % 3 == 1) {
                requests.push_back(world.ibarrier());
                requests.push_back(world.iallgather(send_gather, gathered));
                requests.push_back(world.iallreduce(send_reduce, reduced, weft::sum));
                requests.push_back(world.ibcast(cast, root));
            } else {
                requests.push_back(world.barrier_init());
                requests.push_back(world.allgather_init(send_gather, gathered));
                requests.push_back(world.allreduce_init(send_reduce, reduced, weft::sum));
                requests.push_back(world.bcast_init(cast, root));
                weft::start_all(requests);
            }
        };
        if (in_place)
            start(weft::in_place, weft::in_place);
        else
            start(own, own);
        weft::wait_all(requests);
        for (std::size_t r = 0; r < n; ++r) {
            EXPECT(gathered[2 * r] == static_cast<std::int64_t>(r));
            EXPECT(gathered[2 * r + 1] == static_cast<std::int64_t>(2 * r));
        }
        EXPECT(reduced == (Values{sum_of_ranks(), 2 * sum_of_ranks()}));
        EXPECT(cast == Values(3, root + 5));
    }
    EXPECT(world.allreduce(rank + 1, weft::max) == ranks);
    weft::ValueIndex<double> far =
        world.allreduce(weft::ValueIndex<double>{static_cast<double>(-rank), rank}, weft::minloc);
    EXPECT(far.index == ranks - 1);

    // Of pairs (a, b), read as x -> a x + b: rank order matters.
    struct Line {
        std::int32_t a, b;
    };
    const weft::Operation<std::int64_t> digits(
        [](std::int64_t left, std::int64_t right) {
            std::int64_t shift = 10;
            while (shift <= right) shift *= 10;
            return left * shift + right;
        },
        weft::Operands::in_rank_order);
    std::int64_t expected = 0;
    for (int r = 1; r <= ranks; ++r) expected = 10 * expected + r;
    EXPECT(world.allreduce(std::int64_t{rank} + 1, digits) == expected);

    // Bytes, where there is no type: a struct.
    std::vector<Line> lines(n);
    const Line mine[1] = {{rank, -rank}};
    world.allgather(mine, lines);
    for (int r = 0; r < ranks; ++r) {
        EXPECT(lines[static_cast<std::size_t>(r)].a == r);
        EXPECT(lines[static_cast<std::size_t>(r)].b == -r);
    }

    // Gathering needs a block for every rank.
    if (ranks > 1) {
        const weft::Error error = error_of([&] { (void)world.iallgather(own, reduced); });
        EXPECT(error.code() == WEFT_REFUSED_ARGUMENT);
        EXPECT(std::string(error.what()) == "recv has 2 elements; expected " +
                                                std::to_string(2 * ranks) +
                                                " (weft::Communicator::iallgather)");
        gathered.resize(2 * n + 1);
        EXPECT(error_of([&] { world.allgather(weft::in_place, gathered); }).code() ==
               WEFT_REFUSED_ARGUMENT);
    }
    world.barrier();
}

// What goes from or to a root, or from everybody to everybody; every root, in place and not.
enum class Form { nonblocking, blocking, persistent };

void complete(weft::Request request, Form form) {
    if (form == Form::persistent) request.start();
    request.wait();
}

// Calls start(form, in_place) for every form, in place and not.
template <class Start>
void in_every_form(Start start) {
    for (const bool in_place : {false, true}) {
        for (const Form form : {Form::nonblocking, Form::blocking, Form::persistent})
            start(form, in_place);
    }
}

// Rank r contributes r + 1 in every element; so the ranks below r contribute r (r + 1) / 2.
void combined() {
    const Communicator world = Communicator::world();
    const auto n = static_cast<std::size_t>(ranks);
    const auto below = [](std::int64_t r) { return r * (r + 1) / 2; };
    std::vector<std::size_t> counts;  // 1, 2, 3, ...: the last block ends at element below(ranks)
    for (std::size_t r = 0; r < n; ++r) counts.push_back(r + 1);
    const auto all = static_cast<std::size_t>(below(ranks));
    const auto mine = static_cast<std::size_t>(rank);
    in_every_form([&](Form form, bool in_place) {
        const auto run = [&](auto&& send, Values& recv, auto start, auto block, auto init) {
            if (form == Form::nonblocking) start(send, recv).wait();
            if (form == Form::blocking) block(send, recv);
            if (form == Form::persistent) complete(init(send, recv), form);
        };
        const auto call = [&](const Values& send, Values& recv, auto start, auto block, auto init) {
            if (in_place) {
                recv = send;
                run(weft::in_place, recv, start, block, init);
            } else {
                run(send, recv, start, block, init);
            }
        };
        Values got(2);
        call(
            Values(2, rank + 1), got,
            [&](auto& s, auto& r) { return world.iscan(s, r, weft::sum); },
            [&](auto& s, auto& r) { world.scan(s, r, weft::sum); },
            [&](auto& s, auto& r) { return world.scan_init(s, r, weft::sum); });
        EXPECT(got == Values(2, below(rank + 1)));
        call(
            Values(2, rank + 1), got,
            [&](auto& s, auto& r) { return world.iexscan(s, r, weft::sum); },
            [&](auto& s, auto& r) { world.exscan(s, r, weft::sum); },
            [&](auto& s, auto& r) { return world.exscan_init(s, r, weft::sum); });
        if (rank > 0) EXPECT(got == Values(2, below(rank)));
        got.assign(2, -1);
        call(
            Values(2 * n, rank + 1), got,
            [&](auto& s, auto& r) { return world.ireduce_scatter_block(s, r, weft::sum); },
            [&](auto& s, auto& r) { world.reduce_scatter_block(s, r, weft::sum); },
            [&](auto& s, auto& r) { return world.reduce_scatter_block_init(s, r, weft::sum); });
        got.resize(2);
        EXPECT(got == Values(2, below(ranks)));
        got.assign(counts[mine], -1);
        call(
            Values(all, rank + 1), got,
            [&](auto& s, auto& r) { return world.ireduce_scatter(s, r, counts, weft::sum); },
            [&](auto& s, auto& r) { world.reduce_scatter(s, r, counts, weft::sum); },
            [&](auto& s, auto& r) { return world.reduce_scatter_init(s, r, counts, weft::sum); });
        got.resize(counts[mine]);
        EXPECT(got == Values(counts[mine], below(ranks)));

        Values gathered(all, -1);
        const Values own(counts[mine], rank);
        if (in_place) std::copy(own.begin(), own.end(), gathered.begin() + below(rank));
        const auto gather = [&](auto&& send) {
            run(
                send, gathered, [&](auto& s, auto& r) { return world.iallgatherv(s, r, counts); },
                [&](auto& s, auto& r) { world.allgatherv(s, r, counts); },
                [&](auto& s, auto& r) { return world.allgatherv_init(s, r, counts); });
        };
        if (in_place)
            gather(weft::in_place);
        else
            gather(own);
        Values expected;
        for (std::size_t r = 0; r < n; ++r)
            expected.insert(expected.end(), counts[r], static_cast<std::int64_t>(r));
        EXPECT(gathered == expected);
        for (int root = 0; root < ranks; ++root) {
            const bool is_root = rank == root;
            Values at_root(is_root ? all : 0, -1);
            if (is_root && in_place)
                std::copy(own.begin(), own.end(), at_root.begin() + below(rank));
            const auto gather_at_root = [&](auto&& send) {
                run(
                    send, at_root,
                    [&](auto& s, auto& r) { return world.igatherv(s, r, counts, root); },
                    [&](auto& s, auto& r) { world.gatherv(s, r, counts, root); },
                    [&](auto& s, auto& r) { return world.gatherv_init(s, r, counts, root); });
            };
            if (in_place && is_root)
                gather_at_root(weft::in_place);
            else
                gather_at_root(own);
            if (is_root) EXPECT(at_root == expected);
            Values part(counts[mine], -1);
            const auto scatter = [&](auto&& recv) {
                if (form == Form::nonblocking)
                    world.iscatterv(at_root, recv, counts, root).wait();
                else if (form == Form::blocking)
                    world.scatterv(at_root, recv, counts, root);
                else
                    complete(world.scatterv_init(at_root, recv, counts, root), form);
            };
            if (in_place && is_root) {
                scatter(weft::in_place);
            } else {
                scatter(part);
                EXPECT(part == own);
            }
        }
        // Rank s sends s + r elements of its number to rank r.
        std::vector<std::size_t> both;
        for (std::size_t r = 0; r < n; ++r) both.push_back(mine + r);
        Values incoming, outgoing;
        for (std::size_t r = 0; r < n; ++r) {
            outgoing.insert(outgoing.end(), both[r], rank);
            incoming.insert(incoming.end(), both[r], static_cast<std::int64_t>(r));
        }
        call(
            outgoing, got,
            [&](auto& s, auto& r) {
                r.resize(outgoing.size());
                return world.ialltoallv(s, r, both, both);
            },
            [&](auto& s, auto& r) {
                r.resize(outgoing.size());
                world.alltoallv(s, r, both, both);
            },
            [&](auto& s, auto& r) {
                r.resize(outgoing.size());
                return world.alltoallv_init(s, r, both, both);
            });
        EXPECT(got == incoming);
    });
    if (ranks > 1) {
        Values got(counts[mine] + 1);
        const Values send(all, 1);
        const weft::Error error =
            error_of([&] { world.reduce_scatter(send, got, counts, weft::sum); });
        EXPECT(error.code() == WEFT_REFUSED_ARGUMENT);
        EXPECT(std::string(error.what()).find("(weft::Communicator::reduce_scatter)") !=
               std::string::npos);
    }
}

// Blocks with types of their own: of 2 numbers, described as such and as bytes in turn.
struct Typed {
    explicit Typed(std::size_t blocks) {
        for (std::size_t i = 0; i < blocks; ++i) {
            counts.push_back(i % 2 == 0 ? 2 : 16);
            types.push_back(i % 2 == 0 ? WEFT_INT64 : WEFT_BYTE);
        }
    }
    weft::TypedBlocks<const void> from(const Values& data) const {
        return {data.data(), counts, types};
    }
    weft::TypedBlocks<void> into(Values& data) const { return {data.data(), counts, types}; }
    std::vector<std::size_t> counts;
    std::vector<weft_type> types;
};

// On a ring, where both neighbors may be one rank, and along a path in one direction.
void neighbors() {
    const Communicator world = Communicator::world();
    const auto n = static_cast<std::size_t>(ranks);
    const int below = (rank + ranks - 1) % ranks;
    const int above = (rank + 1) % ranks;
    const int periods[] = {1};
    const Communicator ring = world.cart(std::span(&ranks, 1), periods);
    const Communicator circle = world.graph(std::span(&below, 1), std::span(&above, 1));
    EXPECT(ring && circle && circle.size() == ranks);
    EXPECT(ring.sources() == (std::vector<int>{below, above}) &&
           ring.destinations() == ring.sources());
    EXPECT(circle.sources() == std::vector<int>{below} &&
           circle.destinations() == std::vector<int>{above});
    const auto same_block = [](int r) { return Values{r, 10 * r}; };
    // What rank r sends down and up.
    const auto both_blocks = [](int r) { return Values{4 * r, 4 * r + 1, 4 * r + 2, 4 * r + 3}; };
    const Values expected_same = {below, 10 * below, above, 10 * above};
    const Values expected_own = {4 * below + 2, 4 * below + 3, 4 * above, 4 * above + 1};
    const std::vector<std::size_t> counts = {2, 2};
    const Typed typed(2);
    for (const Form form : {Form::nonblocking, Form::blocking, Form::persistent}) {
        const auto complete_or = [&](auto nonblocking, auto blocking, auto persistent) {
            if (form == Form::nonblocking)
                nonblocking().wait();
            else if (form == Form::blocking)
                blocking();
            else
                complete(persistent(), form);
        };
        Values got(4, -1);
        const Values same = same_block(rank);
        const Values own = both_blocks(rank);
        complete_or([&] { return ring.ineighbor_allgather(same, got); },
                    [&] { ring.neighbor_allgather(same, got); },
                    [&] { return ring.neighbor_allgather_init(same, got); });
        EXPECT(got == expected_same);
        got.assign(4, -1);
        complete_or([&] { return ring.ineighbor_allgatherv(same, got, counts); },
                    [&] { ring.neighbor_allgatherv(same, got, counts); },
                    [&] { return ring.neighbor_allgatherv_init(same, got, counts); });
        EXPECT(got == expected_same);
        got.assign(4, -1);
        complete_or([&] { return ring.ineighbor_alltoall(own, got); },
                    [&] { ring.neighbor_alltoall(own, got); },
                    [&] { return ring.neighbor_alltoall_init(own, got); });
        EXPECT(got == expected_own);
        got.assign(4, -1);
        complete_or([&] { return ring.ineighbor_alltoallv(own, got, counts, counts); },
                    [&] { ring.neighbor_alltoallv(own, got, counts, counts); },
                    [&] { return ring.neighbor_alltoallv_init(own, got, counts, counts); });
        EXPECT(got == expected_own);
        got.assign(4, -1);
        complete_or([&] { return ring.ineighbor_alltoallw(typed.from(own), typed.into(got)); },
                    [&] { ring.neighbor_alltoallw(typed.from(own), typed.into(got)); },
                    [&] { return ring.neighbor_alltoallw_init(typed.from(own), typed.into(got)); });
        EXPECT(got == expected_own);
        Values came(2, -1);
        complete_or([&] { return circle.ineighbor_alltoall(same, came); },
                    [&] { circle.neighbor_alltoall(same, came); },
                    [&] { return circle.neighbor_alltoall_init(same, came); });
        EXPECT(came == same_block(below));
        Values outgoing, incoming, arrived(2 * n, -1);
        for (int r = 0; r < ranks; ++r) {
            outgoing.insert(outgoing.end(), {rank, r});
            incoming.insert(incoming.end(), {r, rank});
        }
        const Typed all(n);
        complete_or([&] { return world.ialltoallw(all.from(outgoing), all.into(arrived)); },
                    [&] { world.alltoallw(all.from(outgoing), all.into(arrived)); },
                    [&] { return world.alltoallw_init(all.from(outgoing), all.into(arrived)); });
        EXPECT(arrived == incoming);
    }
    // At the ends of a row a neighbor is missing: its block takes no room.
    const int open[] = {0};
    const Communicator row = world.cart(std::span(&ranks, 1), open);
    Values same_of_others, own_for_others, own_of_others;
    for (const int other : {rank - 1, rank + 1}) {
        if (other < 0 || other >= ranks) continue;
        same_of_others.insert(same_of_others.end(), {other, 10 * other});
        own_for_others.insert(own_for_others.end(), {rank, other});
        own_of_others.insert(own_of_others.end(), {other, rank});
    }
    Values got(same_of_others.size(), -1);
    const Values same = same_block(rank);
    row.neighbor_allgatherv(same, got, counts);
    EXPECT(got == same_of_others);
    got.assign(got.size(), -1);
    row.neighbor_alltoallv(own_for_others, got, counts, counts);
    EXPECT(got == own_of_others);

    Values none;
    const Values odd(3);
    EXPECT(error_of([&] { ring.neighbor_alltoall(odd, none); }).code() == WEFT_REFUSED_ARGUMENT);
    EXPECT(error_of([&] { world.neighbor_alltoall(none, none); }).code() == WEFT_REFUSED_ARGUMENT);
}

void rooted() {
    const Communicator world = Communicator::world();
    const auto n = static_cast<std::size_t>(ranks);
    const auto block_of = [](int r) { return Values{r, 2 * r}; };
    Values blocks_of_all;
    for (int r = 0; r < ranks; ++r) {
        blocks_of_all.push_back(r);
        blocks_of_all.push_back(2 * r);
    }
    const Values own = block_of(rank);
    const Values sums = {sum_of_ranks(), 2 * sum_of_ranks()};
    for (int root = 0; root < ranks; ++root) {
        const bool is_root = rank == root;
        for (bool in_place : {false, true}) {
            for (Form form : {Form::nonblocking, Form::blocking, Form::persistent}) {
                Values gathered(is_root ? 2 * n : 0), scattered(2), reduced(is_root ? 2 : 0);
                Values all = is_root ? blocks_of_all : Values();
                if (is_root && in_place) {
                    std::copy(own.begin(), own.end(), gathered.begin() + 2 * rank);
                    reduced = own;
                }
                const auto gather = [&](const auto& send) {
                    if (form == Form::blocking) return world.gather(send, gathered, root);
                    complete(form == Form::persistent ? world.gather_init(send, gathered, root)
                                                      : world.igather(send, gathered, root),
                             form);
                };
                const auto reduce = [&](const auto& send) {
                    if (form == Form::blocking) return world.reduce(send, reduced, weft::sum, root);
                    complete(form == Form::persistent
                                 ? world.reduce_init(send, reduced, weft::sum, root)
                                 : world.ireduce(send, reduced, weft::sum, root),
                             form);
                };
                const auto scatter = [&](auto& recv) {
                    if (form == Form::blocking) return world.scatter(all, recv, root);
                    complete(form == Form::persistent ? world.scatter_init(all, recv, root)
                                                      : world.iscatter(all, recv, root),
                             form);
                };
                if (is_root && in_place) {
                    gather(weft::in_place);
                    reduce(weft::in_place);
                    scatter(weft::in_place);
                } else {
                    gather(own);
                    reduce(own);
                    scatter(scattered);
                    EXPECT(scattered == own);
                }
                EXPECT(gathered == (is_root ? blocks_of_all : Values()));
                EXPECT(reduced == (is_root ? sums : Values()));
                EXPECT(all == (is_root ? blocks_of_all : Values()));
            }
        }
    }
    for (Form form : {Form::nonblocking, Form::blocking, Form::persistent}) {
        Values from(n), to(n, -1), expected(n);
        for (std::size_t r = 0; r < n; ++r) {
            from[r] = 10 * rank + static_cast<std::int64_t>(r);
            expected[r] = 10 * static_cast<std::int64_t>(r) + rank;
        }
        if (form == Form::blocking) {
            world.alltoall(from, to);
            world.alltoall(weft::in_place, from);
        } else if (form == Form::nonblocking) {
            world.ialltoall(from, to).wait();
            world.ialltoall(weft::in_place, from).wait();
        } else {
            complete(world.alltoall_init(from, to), form);
            complete(world.alltoall_init(weft::in_place, from), form);
        }
        EXPECT(to == expected);
        EXPECT(from == expected);
    }

    // Structs go as bytes, a block for every rank.
    struct Pair {
        std::int16_t a;
        std::int64_t b;
    };
    std::vector<Pair> pairs(n, Pair{static_cast<std::int16_t>(rank), -rank}), got(n);
    world.alltoall(pairs, got);
    for (std::size_t r = 0; r < n; ++r) EXPECT(got[r].b == -static_cast<std::int64_t>(r));
    Pair one[1];
    world.scatter(got, one, 0);
    EXPECT(one[0].a == rank && one[0].b == -rank);
    world.gather(one, pairs, 0);
    for (std::size_t r = 0; r < n; ++r) EXPECT(pairs[r].b == (rank == 0 ? got[r].b : -rank));

    // Sizes that do not fit are refused before anything is sent; so is in place elsewhere than on root.
    Values odd(2 * n + 1), as_odd(2 * n + 1), two(2);
    EXPECT(error_of([&] { (void)world.igather(two, odd, rank); }).code() == WEFT_REFUSED_ARGUMENT);
    EXPECT(std::string(error_of([&] { (void)world.iscatter(odd, two, rank); }).what()) ==
           "send has " + std::to_string(2 * n + 1) + " elements; expected " +
               std::to_string(2 * n) + " (weft::Communicator::iscatter)");
    EXPECT(error_of([&] { world.alltoall(odd, two); }).code() == WEFT_REFUSED_ARGUMENT);
    EXPECT(error_of([&] { world.alltoall(odd, as_odd); }).code() == WEFT_REFUSED_ARGUMENT);
    EXPECT(error_of([&] { world.reduce(two, odd, weft::sum, rank); }).code() ==
           WEFT_REFUSED_ARGUMENT);
    const int other = (rank + 1) % ranks;
    EXPECT(std::string(error_of([&] { world.gather(weft::in_place, odd, other); }).what()) ==
           "send = in_place; expected a buffer, only the root can be in place "
           "(weft::Communicator::gather)");
    EXPECT(std::string(error_of([&] { world.scatter(odd, weft::in_place, other); }).what()) ==
           "recv = in_place; expected a buffer, only the root can be in place "
           "(weft::Communicator::scatter)");
    world.barrier();
}

void communicators() {
    const Communicator world = Communicator::world();
    EXPECT(world.size() == ranks && world.rank() == rank);
    EXPECT(Communicator::self().size() == 1);
    const Communicator backwards = world.split(0, -rank);
    EXPECT(backwards.rank() == ranks - 1 - rank);
    const Communicator half = backwards.split(rank % 2);
    EXPECT(half.size() == (ranks + 1 - rank % 2) / 2);
    const Communicator rest = world.split(rank == 0 ? WEFT_COLOR_NONE : 0);
    EXPECT(static_cast<bool>(rest) == (rank != 0));
    if (rest) EXPECT(rest.allreduce(1, weft::sum) == ranks - 1);
    EXPECT(half.allreduce(1, weft::sum) == half.size());
    // An operation outlives its communicator.
    std::vector<float> values(50'000, 1);
    Request request = world.dup().iallreduce(weft::in_place, values, weft::sum);
    request.wait();
    for (float value : values) EXPECT(value == static_cast<float>(ranks));
}

// --- Requests ------------------------------------------------------------------------------------

// Rank 0 looks at operations that the others have not started.
void pending() {
    const Communicator world = Communicator::world();
    const Communicator gate = world.dup();
    std::vector<std::size_t> indices(3);
    std::size_t index = 0;
    if (rank != 0) pass(gate);
    std::vector<Request> requests(3);
    requests[1] = world.ibarrier();
    requests[2] = world.barrier_init();
    requests[2].start();
    if (rank == 0) {
        EXPECT(!requests[1].test() && !weft::test_all(requests));
        EXPECT(!weft::test_any(requests, index) && index == weft::none);
        EXPECT(weft::test_some(requests, indices) == 0);
        EXPECT(!requests[1].wait_for(milliseconds(5)));
        EXPECT(has(weft_last_detail(), "on world waits for messages from rank"));
        EXPECT(!requests[2].wait_until(std::chrono::steady_clock::now() + milliseconds(5)));
        EXPECT(has(weft_last_detail(), "persistent"));
        EXPECT(!weft::wait_all_for(requests, milliseconds(5)));
        EXPECT(!weft::wait_all_until(requests, std::chrono::steady_clock::now()));
        EXPECT(!requests[1].wait_for(std::chrono::nanoseconds::min()));
        const weft::Error error = error_of([&] { requests[2].start(); });
        EXPECT(error.code() == WEFT_REFUSED_STATE && has(error.what(), "is active; expected"));

        weft_interrupt();
        EXPECT(error_of([&] { requests[1].wait(); }).code() == WEFT_INTERRUPTED);
        EXPECT(requests[1] && !requests[1].test());
        pass(gate);
    }
    index = weft::wait_any(requests);
    EXPECT(index == 1 || index == 2);
    EXPECT(weft::wait_some(requests, indices) == 1 && indices[0] == 3 - index);
    EXPECT(!requests[0] && !requests[1] && requests[2]);
    requests[2].start();
    requests[0] = world.ibarrier();
    EXPECT(weft::wait_all_for(requests, std::chrono::nanoseconds::max()));
    EXPECT(!requests[0] && requests[2]);
}

// A request that ends waits first: its buffer is the program's again.
void ends() {
    constexpr std::size_t count = 200'000;
    const Communicator world = Communicator::world();
    const Communicator gate = world.dup();
    const auto start = [&](Values& values) {
        values.assign(count, rank);
        if (rank != 0) pass(gate);
        Request request = world.iallreduce(weft::in_place, values, weft::sum);
        if (rank == 0) {
            EXPECT(!request.test());
            pass(gate);
        }
        return request;
    };
    const auto is_done = [&](const Values& values) {
        return values == Values(count, sum_of_ranks());
    };
    Values values, others;
    { Request request = start(values); }
    EXPECT(is_done(values));

    Request request = start(values);
    request = start(others);
    EXPECT(is_done(values));
    request = Request();
    EXPECT(is_done(others));

    try {
        Request lost = start(values);
        throw 5;
    } catch (int) {
        EXPECT(is_done(values));
    }

    // An interruption does not end that wait, and is kept for one that can tell. The gate opens late
    // enough for the interruption to be seen by the first of them.
    if (rank == 0) {
        std::thread opens;
        values.assign(count, rank);
        {
            Request lent = world.iallreduce(weft::in_place, values, weft::sum);
            weft_interrupt();
            opens = std::thread([&] {
                usleep(50'000);
                pass(gate);
            });
        }
        EXPECT(is_done(values));
        opens.join();
        Request next = world.ibarrier();
        EXPECT(error_of([&] { next.wait(); }).code() == WEFT_INTERRUPTED);
        pass(gate);
        next.wait();
    } else {
        start(values).wait();
        pass(gate);
        world.barrier();
    }
}

// Rank 1 leaves when the others have started what needs it.
void left() {
    const Communicator gate = Communicator::world().dup();
    std::vector<Request> requests(2);
    requests[0] = Communicator::world().barrier_init();
    if (rank != 1) {
        requests[0].start();
        requests[1] = Communicator::world().ibarrier();
    }
    gate.barrier();
    if (rank == 1) throw 1;
    const weft::Error error = error_of([&] { weft::wait_all(requests); });
    EXPECT(error.code() == WEFT_BROKEN_RANK);
    EXPECT(has(error.what(), "on world: rank 1 of the job died or left; 2 requests failed"));
    EXPECT(!requests[1]);
    EXPECT(error_of([&] { requests[0].start(); }).code() == WEFT_BROKEN_RANK);
    EXPECT(error_of([&] { (void)Communicator::world().ibarrier(); }).code() == WEFT_BROKEN_RANK);
}

// An operation throws on one rank, in whichever thread it runs: all ranks hear of it and go on.
void operation_throws() {
    const weft::Operation<double> sum(
        [](double left, double right) {
            if (rank == 1) throw 1;
            return left + right;
        },
        weft::Operands::in_any_order);
    // In a ring every rank reduces; and it breaks only when all have it.
    const Communicator one = Communicator::world().dup("allreduce=ring");
    Communicator::world().barrier();
    std::vector<double> values(static_cast<std::size_t>(ranks) * 4, rank);
    const weft::Error error = error_of([&] { one.allreduce(weft::in_place, values, sum); });
    EXPECT(error.code() == WEFT_BROKEN_FUNCTION);
    EXPECT(has(error.what(), "a function of the program on rank 1 of the job threw an exception"));
    EXPECT(error_of([&] { one.barrier(); }).code() == WEFT_BROKEN_FUNCTION);
    Communicator::world().barrier();
}

template <weft_status expected>
void expect_terminate() {
    std::set_terminate([] {
        try {
            std::rethrow_exception(std::current_exception());
        } catch (const weft::Error& error) {
            weft_finalize();  // where it can: the others may not have passed the gate
            if (error.code() == expected) _exit(0);
        }
        _exit(1);
    });
}

// A failure that nobody asked for does not pass silently.
void unseen() {
    const Communicator gate = Communicator::world().dup();
    {
        Request request;
        if (rank != 1) request = Communicator::world().ibarrier();
        gate.barrier();
        if (rank == 1) throw 1;
        expect_terminate<WEFT_BROKEN_RANK>();
    }
    fail(__LINE__, "the program is terminated");
}

// An operation that has timed out still uses its buffers: a program that would free them is terminated,
// even with an exception in flight.
void timed_out() {
    const Communicator world = Communicator::world();
    Request never_on_rank_0 = world.barrier_init();
    if (rank == 0) {
        expect_terminate<WEFT_TIMED_OUT>();
        try {
            Request request = world.ibarrier();
            request.wait();
        } catch (const weft::Error&) {
        }
        fail(__LINE__, "the program is terminated");
    }
    never_on_rank_0.start();
    weft_status status = WEFT_TIMED_OUT;
    while (status == WEFT_TIMED_OUT) status = error_of([&] { never_on_rank_0.wait(); }).code();
    EXPECT(status == WEFT_BROKEN_RANK);
}

// --- The pipeline --------------------------------------------------------------------------------

void pipeline() {
    const Communicator world = Communicator::world();
    for (std::size_t buffers = 1; buffers <= 5; ++buffers) {
        for (std::size_t blocks : {0, 1, 3, 60}) {
            std::vector<Values> storage(buffers, Values(3000));
            std::size_t finished = 0;
            weft::pipeline(
                blocks, storage,
                [&](std::size_t block, Values& buffer) {
                    std::iota(buffer.begin(), buffer.end(),
                              static_cast<std::int64_t>(block) + rank);
                },
                [&](std::size_t, Values& buffer) {
                    return world.iallreduce(weft::in_place, buffer, weft::sum);
                },
                [&](std::size_t block, const Values& buffer) {
                    EXPECT(block == finished++);
                    for (std::size_t i = 0; i < buffer.size(); ++i) {
                        EXPECT(buffer[i] ==
                               ranks * static_cast<std::int64_t>(block + i) + sum_of_ranks());
                    }
                });
            EXPECT(finished == blocks);
        }
    }
}

// Rank 0 computes as many blocks as there are other buffers before any other rank has begun.
void pipeline_overlaps() {
    const Communicator world = Communicator::world();
    const Communicator gate = world.dup();
    for (std::size_t buffers = 2; buffers <= 5; ++buffers) {
        std::vector<Values> storage(buffers, Values(1000));
        weft::pipeline(
            10, storage,
            [&](std::size_t block, Values&) {
                if (block == (rank == 0 ? buffers - 1 : 0)) pass(gate);
            },
            [&](std::size_t, Values& buffer) {
                return world.iallreduce(weft::in_place, buffer, weft::sum);
            });
    }
}

// Whichever function throws, at whichever block: what was started is done, the buffers are free.
void pipeline_throws() {
    const Communicator world = Communicator::world();
    const std::size_t last = 7;
    for (int thrower = 0; thrower < 3; ++thrower) {
        for (std::size_t buffers = 1; buffers <= 4; ++buffers) {
            for (std::size_t at = 0; at <= last; ++at) {
                std::vector<Values> storage(buffers, Values(40'000, -1));
                std::size_t started = 0;
                const auto step = [&](int function, std::size_t block) {
                    if (function == thrower && block == at) throw at;
                };
                bool is_thrown = false;
                try {
                    weft::pipeline(
                        last + 1, storage,
                        [&](std::size_t block, Values& buffer) {
                            step(0, block);
                            buffer.assign(buffer.size(), static_cast<std::int64_t>(block) + rank);
                        },
                        [&](std::size_t block, Values& buffer) {
                            step(1, block);
                            ++started;
                            return world.iallreduce(weft::in_place, buffer, weft::sum);
                        },
                        [&](std::size_t block, Values&) { step(2, block); });
                } catch (std::size_t block) {
                    is_thrown = block == at;
                }
                EXPECT(is_thrown);
                for (std::size_t i = 0; i < buffers && i < started; ++i) {
                    const std::size_t block = started - 1 - i;
                    // The thrower of block `at` may have begun to fill its buffer anew.
                    if (thrower == 1 && block % buffers == at % buffers) continue;
                    EXPECT(
                        storage[block % buffers] ==
                        Values(40'000, ranks * static_cast<std::int64_t>(block) + sum_of_ranks()));
                }
            }
        }
    }
}

// One rank leaves in the middle: the others get the error, and nothing of theirs is pending.
void pipeline_left() {
    std::vector<Values> storage(3, Values(100));
    std::size_t finished = 0;
    const weft::Error error = error_of([&] {
        weft::pipeline(
            100, storage,
            [&](std::size_t block, Values&) {
                if (rank == 1 && block == 50) throw 1;
            },
            [&](std::size_t, Values& buffer) {
                return Communicator::world().iallreduce(weft::in_place, buffer, weft::sum);
            },
            [&](std::size_t, Values&) { ++finished; });
    });
    EXPECT(error.code() == WEFT_BROKEN_RANK && has(error.what(), "rank 1 of the job died or left"));
    EXPECT(finished <= 50);
}

// What is only destroyed after the job was left.
void outlives() {
    Communicator comm;
    Request inactive;
    {
        const weft::Environment environment;
        comm = Communicator::world().dup();
        inactive = comm.barrier_init();
    }
    EXPECT(weft_is_initialized() == 0);
}

// The job cannot be left while an operation is pending: rank 0 is terminated, as the others see.
void outstanding() {
    weft_request forgotten = WEFT_REQUEST_NULL;
    const weft::Environment environment;
    const Communicator world = Communicator::world();
    rank = world.rank();
    Request never_on_rank_0 = world.barrier_init();
    if (rank == 0) {
        expect_terminate<WEFT_REFUSED_OUTSTANDING>();
        weft::check(weft_ibarrier(world.handle(), &forgotten));
    } else {
        const weft::Error error = error_of([&] {
            never_on_rank_0.start();
            never_on_rank_0.wait();
        });
        EXPECT(error.code() == WEFT_BROKEN_RANK);
    }
}

void run_case(std::string_view name) {
    if (name == "collectives")
        collectives();
    else if (name == "rooted")
        rooted();
    else if (name == "neighbors")
        neighbors();
    else if (name == "combined")
        combined();
    else if (name == "communicators")
        communicators();
    else if (name == "pending")
        pending();
    else if (name == "ends")
        ends();
    else if (name == "left")
        left();
    else if (name == "operation_throws")
        operation_throws();
    else if (name == "unseen")
        unseen();
    else if (name == "timed_out")
        timed_out();
    else if (name == "pipeline")
        pipeline();
    else if (name == "pipeline_overlaps")
        pipeline_overlaps();
    else if (name == "pipeline_throws")
        pipeline_throws();
    else if (name == "pipeline_left")
        pipeline_left();
    else
        fail(__LINE__, "the case is known");
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 3);
    setenv("WEFT_ENGINE", argv[1], 1);
    if (std::string_view(argv[2]) == "timed_out") setenv("WEFT_TIMEOUT", "0.2", 1);
    if (std::string_view(argv[2]) == "outlives") return outlives(), 0;
    if (std::string_view(argv[2]) == "outstanding") return outstanding(), rank == 0;
    try {
        const weft::Environment environment;
        rank = Communicator::world().rank();
        ranks = Communicator::world().size();
        run_here_or_beside_fibers([&] { run_case(argv[2]); });
    } catch (int who) {
        EXPECT(who == rank);  // the one that leaves
    }
    EXPECT(weft_is_initialized() == 0);
}
