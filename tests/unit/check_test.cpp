// The checker proves every algorithm of the catalogue, and says what is wrong with wrong schedules.
#include "schedule/check/check.h"
#include "shape/power.h"
#include "support/problems.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::check_test {

using algorithm::Tuning;

constexpr std::int64_t gib = std::int64_t{1} << 30;

void prove(const Subject& subject, const Trial& problem) {
    SCOPED_TRACE(to_text(subject, problem));
    Result<std::vector<Schedule>> schedules = build_all(subject, problem);
    ASSERT_TRUE(schedules.is_ok()) << last_detail();
    Verdict verdict = check(*schedules, promise_of(*subject.first, problem));
    ASSERT_TRUE(verdict.holds()) << flaw_name(verdict.findings[0].flaw) << ": "
                                 << verdict.findings[0].sentence;
}

class Checker : public testing::TestWithParam<Subject> {
  protected:
    void SetUp() override {
        if (!is_its_turn(5)) GTEST_SKIP() << not_its_turn;
    }
    // Several elements a segment, and for large sizes some dozens of segments. (Those among leaders
    // of nodes have 64 KiB.)
    void prove_all(Grid grid) {
        const std::int64_t large = GetParam().second->follows_topology ? 2 * 1024 * 1024 : gib;
        for (std::int64_t segment_bytes : {std::int64_t{16}, gib / 40}) {
            grid.bytes = {large + 8};
            if (segment_bytes == 16) grid.bytes = {0, 8, 152};
            grid.pipelines.clear();
            for (std::uint32_t window : {1, 2, 3, 8}) {
                grid.pipelines.push_back({segment_bytes, window});
            }
            for_each_problem(GetParam(), grid, [&](const Trial& p) { prove(GetParam(), p); });
        }
    }
};

TEST_P(Checker, ProvesSmallNumbersOfRanks) {
    Grid grid;
    for (Rank ranks = 1; ranks <= 33; ++ranks) grid.ranks.push_back(ranks);
    if (!runs_all()) grid.all_roots_ranks = 9;
    prove_all(grid);
}

TEST_P(Checker, ProvesLargeNumbersOfRanks) {
    Grid grid;
    grid.ranks = large_ranks(GetParam());
    grid.any_root = false;
    grid.all_kinds = false;
    prove_all(grid);
    if (!runs_all()) return;
    grid.ranks = {64, 100, 128, 257};
    grid.all_kinds = true;
    prove_all(grid);
}

// An algorithm that keeps the association of reproducible reductions, for all numbers of ranks or for
// powers of two, says so.
TEST_P(Checker, DisprovesWhatIsNotClaimedToBeReproducible) {
    using algorithm::Reproducible;
    const Reproducible claimed = GetParam().second->reproducible;
    if (!GetParam().first->reduces || claimed == Reproducible::always) return;
    bool is_possible = false;
    for (Rank ranks : {4, 8, 16, 5, 9, 11}) {
        if (claimed == Reproducible::powers_of_two && is_power_of_two(ranks)) continue;
        Trial t = {{.ranks = ranks, .bytes = 152, .element_bytes = 8, .commutative = false}};
        t.make_differ(*GetParam().first, t.bytes);
        // With one port some are binomial trees.
        if (GetParam().second->tunes == algorithm::Tunes::ports) t.tuning.ports = 2;
        if (!GetParam().second->unmet_need(t).empty()) continue;
        is_possible = true;
        Result<std::vector<Schedule>> schedules = build_all(GetParam(), t);
        ASSERT_TRUE(schedules.is_ok()) << last_detail();
        t.reproducible = true;
        if (!check(*schedules, promise_of(*GetParam().first, t)).holds()) return;
    }
    EXPECT_FALSE(is_possible) << "it is reproducible";
}

INSTANTIATE_TEST_SUITE_P(All, Checker, testing::ValuesIn(everything()), subject_name);

Subject known(const char* collective, const char* name) {
    const algorithm::CollectiveSpec* spec = algorithm::find_spec(collective);
    return {spec, spec->find(name)};
}

Trial trial(Rank ranks, Rank root, std::int64_t bytes, algorithm::Tuning tuning = {}) {
    Trial t;
    t.ranks = ranks;
    t.root = root;
    t.bytes = bytes;
    t.element_bytes = 8;
    t.tuning = tuning;
    return t;
}

// Thousands of iterations, followed without writing them out.
TEST(Check, ProvesAPipelineOfManySegments) {
    const Subject chain = known("bcast", "chain");
    for (Rank ranks : {1, 2, 3, 7, 16, 33}) {
        prove(chain, trial(ranks, ranks / 2, gib + 8, {128 * 1024, 8}));
    }
    prove(chain, trial(3, 1, gib, {64 * 1024, 1000}));
}

// --- Schedules made by hand ----------------------------------------------------------------------

using Build = std::function<void(Rank, ScheduleBuilder&)>;

std::vector<Schedule> build(Rank ranks, const Build& one) {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < ranks; ++r) {
        ScheduleBuilder builder(r, ranks);
        one(r, builder);
        Result<Schedule> schedule = builder.seal();
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
}

Postcondition promised(const char* collective, Rank ranks, std::int64_t bytes,
                       bool in_place = false, bool commutative = false) {
    Trial t = trial(ranks, 0, bytes);
    t.in_place = in_place;
    t.commutative = commutative;
    return promise_of(*algorithm::find_spec(collective), t);
}

// One finding of this kind at least, and `part` in its sentence.
void expect_flaw(const std::vector<Schedule>& schedules, const Postcondition& promise, Flaw flaw,
                 const std::string& part) {
    Verdict verdict = check(schedules, promise);
    ASSERT_FALSE(verdict.holds());
    const Finding& first = verdict.findings[0];
    EXPECT_STREQ(flaw_name(first.flaw), flaw_name(flaw)) << first.sentence;
    EXPECT_NE(first.sentence.find(part), std::string::npos) << first.sentence;
}

Region recv_part(std::int64_t offset, std::int64_t bytes) { return {Buffer::recv, offset, bytes}; }
Region send_part(std::int64_t offset, std::int64_t bytes) { return {Buffer::send, offset, bytes}; }

// A broadcast along the chain 0, 1, 2, with a rank 1 of the test's own.
std::vector<Schedule> chain_of_three(const std::function<void(ScheduleBuilder&)>& on_rank_1) {
    return build(3, [&](Rank r, ScheduleBuilder& b) {
        if (r == 0) b.send(recv_part(0, 8), 1);
        if (r == 1) on_rank_1(b);
        if (r == 2) b.recv(recv_part(0, 8), 1);
    });
}

TEST(Check, AMissingEdgeIsAHazard) {
    expect_flaw(chain_of_three([](ScheduleBuilder& b) {
                    b.recv(recv_part(0, 8), 0);
                    b.send(recv_part(0, 8), 2);
                }),
                promised("bcast", 3, 8), Flaw::hazard,
                "operation 0 of rank 1 (recv recv[0..8) <- rank 0) and operation 1 of rank 1 "
                "(send recv[0..8) -> rank 2) are not ordered");
}

TEST(Check, ALostMessageHasNoPartner) {
    expect_flaw(chain_of_three([](ScheduleBuilder& b) { b.recv(recv_part(0, 8), 0); }),
                promised("bcast", 3, 8), Flaw::matching,
                "no operation sends what operation 0 of rank 2");
}

TEST(Check, AMessageTooManyHasNoPartner) {
    expect_flaw(chain_of_three([](ScheduleBuilder& b) {
                    OpId ready = b.recv(recv_part(0, 8), 0);
                    b.send(recv_part(0, 8), 2, {ready});
                    b.send(recv_part(0, 8), 2, {ready});
                }),
                promised("bcast", 3, 8), Flaw::matching, "no operation receives what operation 2");
}

TEST(Check, AMessageToTheNeighbourOfItsReceiverHasNoPartner) {
    expect_flaw(chain_of_three([](ScheduleBuilder& b) {
                    OpId ready = b.recv(recv_part(0, 8), 0);
                    b.send(recv_part(0, 8), 0, {ready});
                }),
                promised("bcast", 3, 8), Flaw::matching, "no operation receives what operation 1");
}

TEST(Check, EndsOfDifferentSize) {
    expect_flaw(chain_of_three([](ScheduleBuilder& b) {
                    OpId ready = b.recv(recv_part(0, 8), 0);
                    b.send(recv_part(0, 4), 2, {ready});
                }),
                promised("bcast", 3, 8), Flaw::matching, "sends 4 bytes, operation 0 of rank 2");
}

TEST(Check, SendingFirstNeedsABuffer) {
    expect_flaw(build(2,
                      [](Rank r, ScheduleBuilder& b) {
                          OpId own = b.copy(send_part(0, 8), recv_part(8 * r, 8));
                          OpId sent = b.send(recv_part(8 * r, 8), 1 - r, {own});
                          b.recv(recv_part(8 * (1 - r), 8), 1 - r, {sent});
                      }),
                promised("allgather", 2, 8), Flaw::deadlock,
                "waits forever: operation 2 of rank 1");
}

// The lanes agree, but rank 1 receives the first only after it has sent what waits for the second.
TEST(Check, ALaneInAnotherOrderBlocks) {
    expect_flaw(build(2,
                      [](Rank r, ScheduleBuilder& b) {
                          if (r == 0) {
                              OpId arrived = b.recv(recv_part(8, 8), 1);
                              b.send(recv_part(0, 8), 1, {arrived});
                          } else {
                              OpId arrived = b.recv(recv_part(0, 8), 0);
                              b.send(recv_part(8, 8), 0, {arrived});
                          }
                      }),
                promised("allgather", 2, 8, true), Flaw::deadlock, "never posted");
}

TEST(Check, SwappedOffsetsPutBlocksInEachOthersPlace) {
    expect_flaw(build(2,
                      [](Rank r, ScheduleBuilder& b) {
                          b.copy(send_part(0, 8), recv_part(8 * (1 - r), 8));
                          b.send(send_part(0, 8), 1 - r);
                          b.recv(recv_part(8 * r, 8), 1 - r);
                      }),
                promised("allgather", 2, 8), Flaw::result,
                "recv[0..8) of rank 0 holds rank 1's bytes [0..8); promised: rank 0's bytes");
}

TEST(Check, AMissingBlock) {
    expect_flaw(build(2,
                      [](Rank r, ScheduleBuilder& b) {
                          if (r == 0) b.copy(send_part(0, 8), recv_part(0, 8));
                          b.send(send_part(0, 8), 1 - r);
                          b.recv(recv_part(8 * (1 - r), 8), 1 - r);
                      }),
                promised("allgather", 2, 8), Flaw::result,
                "recv[8..16) of rank 1 holds unwritten bytes");
}

TEST(Check, AnotherRootsData) {
    Result<std::vector<Schedule>> schedules = build_all(known("bcast", "binomial"), trial(5, 3, 8));
    expect_flaw(*schedules, promised("bcast", 5, 8), Flaw::result, "promised: rank 0's");
}

TEST(Check, OutsideTheBuffer) {
    expect_flaw(
        build(1, [](Rank, ScheduleBuilder& b) { b.copy(send_part(0, 8), recv_part(4, 8)); }),
        promised("allgather", 1, 8), Flaw::region, "reaches outside the receive buffer of 8 bytes");
}

TEST(Check, ARepeatThatRunsOneIterationTooFar) {
    expect_flaw(build(1,
                      [](Rank, ScheduleBuilder& b) {
                          b.repeat_begin({.total_bytes = 48, .block_bytes = 8, .window = 2});
                          b.copy(send_part(0, 8), recv_part(0, 8));
                          b.repeat_end();
                      }),
                promised("allgather", 1, 40), Flaw::region, "outside the send buffer of 40 bytes");
}

TEST(Check, TheSendBufferIsNotWritten) {
    expect_flaw(build(1,
                      [](Rank, ScheduleBuilder& b) {
                          OpId copied = b.copy(send_part(0, 8), recv_part(0, 8));
                          b.reduce_right(send_part(0, 8), recv_part(0, 8), {copied});
                      }),
                promised("allreduce", 1, 8), Flaw::region, "writes the send buffer");
}

TEST(Check, ACopyOntoItselfIsAHazard) {
    expect_flaw(
        build(1, [](Rank, ScheduleBuilder& b) { b.copy(recv_part(0, 8), recv_part(0, 8)); }),
        promised("allreduce", 1, 8, true), Flaw::hazard, "reads and writes the same bytes");
}

// Two ranks exchange operands, which `combine` combines when `ready` has completed.
using Combine = std::function<void(Rank, ScheduleBuilder&, Region operand, OpId ready)>;

std::vector<Schedule> exchange_and(const Combine& combine) {
    return build(2, [&](Rank r, ScheduleBuilder& b) {
        Region operand = b.scratch(16);
        OpId own = b.copy(send_part(0, 16), recv_part(0, 16));
        b.send(send_part(0, 16), 1 - r);
        OpId arrived = b.recv(operand, 1 - r);
        combine(r, b, operand, b.join({own, arrived}));
    });
}

TEST(Check, OperandsInTheOrderOfTheRanks) {
    std::vector<Schedule> right = exchange_and([](Rank r, ScheduleBuilder& b, Region o, OpId a) {
        if (r == 1) b.reduce(o, recv_part(0, 16), {a});
        if (r == 0) b.reduce_right(o, recv_part(0, 16), {a});
    });
    EXPECT_TRUE(check(right, promised("allreduce", 2, 16)).holds());
    std::vector<Schedule> turned = exchange_and(
        [](Rank, ScheduleBuilder& b, Region o, OpId a) { b.reduce(o, recv_part(0, 16), {a}); });
    expect_flaw(turned, promised("allreduce", 2, 16), Flaw::result,
                "holds the combination of ranks 1, 0 (in this order) bytes [0..16); promised: the "
                "combination of all ranks in rank order");
    EXPECT_TRUE(check(turned, promised("allreduce", 2, 16, false, true)).holds());
}

TEST(Check, AnOperandTwiceIsNotEveryOperand) {
    std::vector<Schedule> twice = exchange_and([](Rank, ScheduleBuilder& b, Region o, OpId a) {
        OpId once = b.reduce(o, recv_part(0, 16), {a});
        b.reduce(o, recv_part(0, 16), {once});
    });
    expect_flaw(twice, promised("allreduce", 2, 16, false, true), Flaw::result,
                "holds the combination of ranks");
}

TEST(Check, OperandsOfDifferentPlacesAreNotCombined) {
    std::vector<Schedule> shifted = exchange_and([](Rank, ScheduleBuilder& b, Region o, OpId a) {
        b.reduce(o.part(8, 8), recv_part(0, 8), {a});
    });
    expect_flaw(shifted, promised("allreduce", 2, 16, false, true), Flaw::result,
                "combines byte 8 of rank");
}

TEST(Check, ElementsAreCombinedWhole) {
    std::vector<Schedule> halves = exchange_and([](Rank, ScheduleBuilder& b, Region o, OpId a) {
        OpId first = b.reduce(o.part(0, 4), recv_part(0, 4), {a});
        b.reduce(o.part(4, 12), recv_part(4, 12), {first});
    });
    expect_flaw(halves, promised("allreduce", 2, 16, false, true), Flaw::result,
                "combines parts of elements");
}

TEST(Check, ReduceRightSpoilsItsOperand) {
    std::vector<Schedule> reused = exchange_and([](Rank, ScheduleBuilder& b, Region o, OpId a) {
        OpId once = b.reduce_right(o, recv_part(0, 16), {a});
        b.copy(o, recv_part(0, 16), {once});
    });
    expect_flaw(reused, promised("allreduce", 2, 16), Flaw::result, "holds unwritten bytes");
}

// Everybody combines everything itself, each in an order of its own: equal but for rounding.
TEST(Check, AllRanksGetTheSameBits) {
    auto schedules = build(3, [](Rank r, ScheduleBuilder& b) {
        OpId last = b.copy(send_part(0, 8), recv_part(0, 8));
        for (Rank i = 1; i < 3; ++i) {
            Region operand = b.scratch(8);
            b.send(send_part(0, 8), (r + i) % 3);
            OpId arrived = b.recv(operand, (r + 3 - i) % 3);
            last = b.reduce(operand, recv_part(0, 8), {last, arrived});
        }
    });
    expect_flaw(schedules, promised("allreduce", 3, 8, false, true), Flaw::result,
                "rounding may differ");
}

// Everybody gets all operands, and combines those of ranks 0, 1 and 2 from one end or the other.
std::vector<Schedule> all_at_each_of_three(bool from_the_first) {
    return build(3, [&](Rank r, ScheduleBuilder& b) {
        Region operands[3];
        OpId there[3];
        for (Rank i = 0; i < 3; ++i) {
            operands[i] = b.scratch(8);
            if (i != r) b.send(send_part(0, 8), i);
            there[i] = i == r ? b.copy(send_part(0, 8), operands[i]) : b.recv(operands[i], i);
        }
        const OpId ready = b.join({there[0], there[1], there[2]});
        OpId last;
        if (from_the_first) {
            last = b.reduce(operands[0], operands[1], {ready});
            last = b.reduce(operands[1], operands[2], {last});
        } else {
            last = b.reduce(operands[1], operands[2], {ready});
            last = b.reduce(operands[0], operands[2], {last});
        }
        b.copy(operands[2], recv_part(0, 8), {last});
    });
}

TEST(Check, AReproducibleResultHasOneAssociation) {
    Postcondition promise = promised("allreduce", 3, 8);
    EXPECT_TRUE(check(all_at_each_of_three(true), promise).holds());
    EXPECT_TRUE(check(all_at_each_of_three(false), promise).holds());
    promise.reproducible = true;
    EXPECT_TRUE(check(all_at_each_of_three(true), promise).holds());
    expect_flaw(all_at_each_of_three(false), promise, Flaw::result,
                "is combined as (0 (1 2)); promised, to be reproducible: ((0 1) 2)");
}

// The second operand may land in scratch while the first is still being read.
TEST(Check, ScratchReusedTooEarlyIsAHazard) {
    auto schedules = [](bool ordered) {
        return build(3, [ordered](Rank r, ScheduleBuilder& b) {
            OpId last = b.copy(send_part(0, 8), recv_part(0, 8));
            if (r > 0) {
                b.send(send_part(0, 8), 0);
                b.recv(recv_part(0, 8), 0, {last});
                return;
            }
            Region operand = b.scratch(8);
            OpId reduced = no_op;
            for (Rank from = 1; from < 3; ++from) {
                OpId arrived = b.recv(operand, from, {ordered ? reduced : no_op});
                last = reduced = b.reduce_right(operand, recv_part(0, 8), {last, arrived});
            }
            for (Rank to = 1; to < 3; ++to) b.send(recv_part(0, 8), to, {last});
        });
    };
    EXPECT_TRUE(check(schedules(true), promised("allreduce", 3, 8)).holds());
    expect_flaw(schedules(false), promised("allreduce", 3, 8), Flaw::hazard, "scratch[0..8)");
}

TEST(Check, ABarrierLetsNobodyLeaveEarly) {
    auto pass_on = [](Rank rounds) {
        return build(4, [rounds](Rank r, ScheduleBuilder& b) {
            OpId last = no_op;
            for (Rank reach = 1; reach < rounds; reach *= 2) {
                b.send({}, (r + reach) % 4, {last});
                last = b.recv({}, (r + 4 - reach) % 4);
            }
        });
    };
    EXPECT_TRUE(check(pass_on(4), promised("barrier", 4, 0)).holds());
    expect_flaw(pass_on(2), promised("barrier", 4, 0), Flaw::result,
                "rank 0 may leave before rank 1 has entered");
}

// --- Repeats -------------------------------------------------------------------------------------

// Rank 0 passes blocks through scratch to rank 1. `shared`: all iterations through one place.
std::vector<Schedule> through_scratch(bool shared, bool carried, std::uint32_t window,
                                      bool ends_differ = false) {
    return build(2, [=](Rank r, ScheduleBuilder& b) {
        Region place = shared ? b.scratch(8) : Region{};
        const std::int64_t total = ends_differ && r == 1 ? 36 : 44;
        b.repeat_begin({.total_bytes = total, .block_bytes = 8, .window = window});
        if (!shared) place = b.scratch(8);
        if (r == 0) {
            OpId copied = b.copy(recv_part(0, 8), place);
            OpId sent = b.send(place, 1, {copied});
            if (carried) b.order(sent, copied, 1);
        } else {
            OpId arrived = b.recv(place, 0);
            OpId copied = b.copy(place, recv_part(0, 8), {arrived});
            if (carried) b.order(copied, arrived, 1);
        }
        b.repeat_end();
    });
}

TEST(CheckRepeat, ScratchThatRotatesIsSafe) {
    for (std::uint32_t window : {1, 2, 3, 5, 8}) {
        EXPECT_TRUE(check(through_scratch(false, false, window), promised("bcast", 2, 44)).holds());
    }
}

TEST(CheckRepeat, SharedScratchNeedsACarriedEdge) {
    EXPECT_TRUE(check(through_scratch(true, false, 1), promised("bcast", 2, 44)).holds());
    for (std::uint32_t window : {2, 3, 5, 8}) {
        EXPECT_TRUE(check(through_scratch(true, true, window), promised("bcast", 2, 44)).holds());
        expect_flaw(through_scratch(true, false, window), promised("bcast", 2, 44), Flaw::hazard,
                    "in iteration");
    }
}

TEST(CheckRepeat, AnIterationLessHasNoPartner) {
    expect_flaw(through_scratch(false, false, 2, true), promised("bcast", 2, 44), Flaw::matching,
                "in iteration 4 sends 8 bytes, operation 1 of rank 1 (recv scratch[0..4) <- rank "
                "0) in iteration 4 expects 4");
}

// One step back in the data: iteration i reads what iteration i - 1 writes.
TEST(CheckRepeat, NeighbouringIterationsConflict) {
    auto schedules = build(1, [](Rank, ScheduleBuilder& b) {
        OpId first = b.copy(send_part(0, 8), recv_part(0, 8));
        b.repeat_begin({.total_bytes = 800, .block_bytes = 8, .window = 3}, {first});
        b.copy(recv_part(0, 8), recv_part(8, 8));
        b.repeat_end();
    });
    expect_flaw(schedules, promised("allgather", 1, 808), Flaw::hazard,
                "operation 2 of rank 0 (copy recv[0..8) -> recv[8..16)) in iteration 0 and "
                "operation 2 of rank 0 (copy recv[8..16) -> recv[16..24)) in iteration 1");
}

TEST(CheckRepeat, AnOperationBesideARepeatConflictsWithALateIteration) {
    auto schedules = [](bool ordered) {
        return build(1, [ordered](Rank, ScheduleBuilder& b) {
            b.repeat_begin({.total_bytes = 800, .block_bytes = 8, .window = 3});
            b.copy(send_part(0, 8), recv_part(0, 8));
            OpId repeated = b.repeat_end();
            b.copy(send_part(792, 8), recv_part(792, 8), {ordered ? repeated : no_op});
        });
    };
    EXPECT_TRUE(check(schedules(true), promised("allgather", 1, 800)).holds());
    expect_flaw(schedules(false), promised("allgather", 1, 800), Flaw::hazard, "recv[");
}

// Two blocks an iteration, of which the repeat copies the first; another operation copies the
// second, in the midst of it.
TEST(CheckRepeat, GapsBetweenIterationsAreLeftAlone) {
    auto schedules = [](std::int64_t at) {
        return build(1, [at](Rank, ScheduleBuilder& b) {
            b.repeat_begin({.total_bytes = 160, .block_bytes = 8, .window = 3, .per_iteration = 2});
            b.copy(send_part(0, 8), recv_part(0, 8));
            b.repeat_end();
            for (std::int64_t i = 0; i < 10; ++i) {
                b.copy(send_part(16 * i + at, 8), recv_part(16 * i + at, 8));
            }
        });
    };
    EXPECT_TRUE(check(schedules(8), promised("allgather", 1, 160)).holds());
    expect_flaw(schedules(4), promised("allgather", 1, 160), Flaw::hazard, "recv[");
}

// Each rank's send waits for the receive of the same iteration of the other.
TEST(CheckRepeat, ADeadlockInsideARepeat) {
    auto schedules = build(2, [](Rank r, ScheduleBuilder& b) {
        b.repeat_begin({.total_bytes = 32, .block_bytes = 8, .window = 2});
        OpId arrived = b.recv(recv_part(r == 0 ? 32 : 0, 8), 1 - r);
        b.send(recv_part(r == 0 ? 0 : 32, 8), 1 - r, {arrived});
        b.repeat_end();
    });
    expect_flaw(schedules, promised("allgather", 2, 32, true), Flaw::deadlock, "in iteration 0");
}

// The receiver takes its second block first; with a window of one nothing can overtake.
TEST(CheckRepeat, TheWindowIsRespected) {
    auto schedules = [](std::uint32_t window) {
        return build(3, [window](Rank r, ScheduleBuilder& b) {
            // Rank 2 takes all blocks from rank 1 before any from rank 0; rank 1 has them from 0.
            Region block = recv_part(0, 8);
            if (r == 2) {
                OpId last = no_op;
                for (int i = 0; i < 4; ++i) {
                    last = b.recv(recv_part(8 * i, 8), 1, {last});
                }
                for (int i = 0; i < 4; ++i) {
                    last = b.recv(recv_part(8 * i, 8), 0, {last});
                }
                return;
            }
            b.repeat_begin({.total_bytes = 32, .block_bytes = 8, .window = window});
            if (r == 0) b.send(block, 1);
            if (r == 0) b.send(block, 2);
            if (r == 1) b.send(block, 2, {b.recv(block, 0)});
            b.repeat_end();
        });
    };
    EXPECT_TRUE(check(schedules(4), promised("bcast", 3, 32)).holds());
    expect_flaw(schedules(3), promised("bcast", 3, 32), Flaw::deadlock, "waits forever");
}

}  // namespace weft::test::check_test
