// With a wire format, elements of float32 are rounded on their way: by every algorithm within the bound that is told, and
// to the same bits on all ranks.
#include <cmath>
#include <numeric>

#include "reduce/half.h"
#include "support/cases.h"
#include "weft/collective.h"

namespace weft::test::wire_test {

using Floats = std::vector<float>;

// bfloat16 adds those of many ranks exactly.
float small(Rank rank, std::size_t i, std::uint64_t seed) {
    return static_cast<float>(input(rank, i, seed) % 8) - 3;
}

// Of another magnitude every 50 elements.
float wide(Rank rank, std::size_t i, std::uint64_t seed) {
    const float fraction = static_cast<float>(input(rank, i, seed)) * 0x1p-30f - 1;
    return std::ldexp(fraction, static_cast<int>(i / 50 % 40) - 20);
}

using Operand = float (*)(Rank, std::size_t, std::uint64_t);

// A call of all ranks, and its results.
struct Job {
    Collective collective;
    Case c;
    WireFormat format;
    Operand operand;
    weft_op op = WEFT_SUM;
    std::vector<Floats> operands = {};
    std::vector<Floats> recv = {};
    std::vector<float> error = {};         // told by each rank
    std::vector<std::int64_t> saved = {};  // bytes, by each rank
    bool is_checked = false;

    bool reduces() const { return collective == Collective::allreduce; }
    std::size_t contributed() const {
        return collective == Collective::alltoall ? c.count * static_cast<std::size_t>(c.ranks)
                                                  : c.count;
    }
    std::size_t received() const {
        return reduces() ? c.count : c.count * static_cast<std::size_t>(c.ranks);
    }
    bool is_encoded() const {
        const auto count = static_cast<std::int64_t>(c.count);
        return c.ranks > 1 && wire_block(format).bytes_of(count) < 4 * count;
    }
    // Element i of what `rank` gets from `source`.
    float from(Rank source, Rank rank, std::size_t i) const {
        const std::size_t begin =
            collective == Collective::alltoall ? static_cast<std::size_t>(rank) * c.count : 0;
        return operands[static_cast<std::size_t>(source)][begin + i];
    }

    void run(CommunicatorSettings settings) {
        settings.wire = format;
        World world(c.ranks, c.seed, sim_options(c.seed), settings, {}, is_checked);
        std::vector<Floats>& send = operands;
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            Floats& own = send.emplace_back(contributed());
            for (std::size_t i = 0; i < own.size(); ++i) own[i] = operand(rank, i, c.seed);
            Floats& into = recv.emplace_back(received(), -1234.5f);
            const std::size_t place =
                collective == Collective::allgather ? static_cast<std::size_t>(rank) * c.count : 0;
            if (c.in_place)
                std::copy(own.begin(), own.end(),
                          into.begin() + static_cast<std::ptrdiff_t>(place));
        }
        const std::vector<Floats> before = send;
        for (const weft_status code : world.run_all([&](Rank rank) -> Call {
                 const auto r = static_cast<std::size_t>(rank);
                 return {.collective = collective,
                         .send_buf = c.in_place ? WEFT_IN_PLACE : send[r].data(),
                         .recv_buf = recv[r].data(),
                         .count = c.count,
                         .type = WEFT_FLOAT32,
                         .op = reduces() ? op : WEFT_OP_NULL};
             })) {
            ASSERT_EQ(code, WEFT_OK);
        }
        EXPECT_EQ(send, before);
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            error.push_back(world.world(rank).take_wire_error());
            EXPECT_EQ(world.world(rank).take_wire_error(), 0.0f) << "it begins anew";
            saved.push_back(world.process(rank).saved_bytes());
            EXPECT_TRUE(is_encoded() || saved.back() == 0);
        }
        EXPECT_EQ(std::reduce(saved.begin(), saved.end()) > 0, is_encoded());
    }

    void expect_same_bits() const {
        if (collective == Collective::alltoall || c.count == 0) return;
        for (const Floats& own : recv)
            ASSERT_EQ(std::memcmp(own.data(), recv.front().data(), own.size() * sizeof(float)), 0);
    }
};

void expect_exact_sums(const Case& c, weft_op op, float factor, bool divides,
                       const CommunicatorSettings& settings) {
    Job job = {Collective::allreduce, c, WireFormat::bfloat16, small, op};
    job.run(settings);
    for (std::size_t i = 0; i < c.count; ++i) {
        float sum = 0;
        for (const Floats& operand : job.operands) sum += factor * operand[i];
        if (divides) sum /= static_cast<float>(c.ranks);
        for (const Floats& own : job.recv) ASSERT_EQ(own[i], sum) << "element " << i;
    }
    for (const float error : job.error) EXPECT_EQ(error, 0.0f);
}

void expect_rounded_blocks(Collective collective, const Case& c,
                           const CommunicatorSettings& settings) {
    Job job = {collective, c, WireFormat::bfloat16, wide};
    job.run(settings);
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        for (Rank source = 0; source < c.ranks; ++source) {
            for (std::size_t i = 0; i < c.count; ++i) {
                const float sent = job.from(source, rank, i);
                const float rounded = Bfloat16::widen(Bfloat16::narrow<RoundTo::nearest>(sent));
                ASSERT_EQ(job.recv[static_cast<std::size_t>(rank)]
                                  [static_cast<std::size_t>(source) * c.count + i],
                          c.ranks == 1 ? sent : rounded)
                    << "rank " << rank << ", element " << i << " of rank " << source;
            }
        }
    }
    job.expect_same_bits();
}

// The bound told may not be larger than what the header says of it.
void expect_within_bound(Collective collective, const Case& c, weft_op op, double divisor,
                         const CommunicatorSettings& settings) {
    Job job = {collective, c, WireFormat::int8, wide, op};
    job.run(settings);
    const bool reduces = job.reduces();
    double magnitudes = 0;  // of all ranks
    double largest = 0;
    for (const Floats& operand : job.operands) {
        double own = 0;
        for (const float one : operand) own = std::max(own, std::fabs(double{one}));
        magnitudes += own;
        largest = std::max(largest, own);
    }
    const double bound = (reduces ? c.ranks * magnitudes / divisor : largest) / 254 * 1.001;
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const double told = double{job.error[r]};
        EXPECT_LE(told, job.is_encoded() ? bound : 0.0);
        EXPECT_EQ(told > 0, job.is_encoded());
        for (std::size_t i = 0; i < job.received(); ++i) {
            double exact = 0;
            double roundings = 0;  // of float32, where the call is exact
            const auto source = static_cast<Rank>(i / std::max<std::size_t>(c.count, 1));
            for (Rank from = 0; from < c.ranks; ++from) {
                if (!reduces && from != source) continue;
                const double one = double{job.from(from, rank, i % c.count)};
                exact += one / divisor;
                roundings += std::fabs(one) * 2e-6;
            }
            ASSERT_LE(std::fabs(double{job.recv[r][i]} - exact),
                      told + (job.is_encoded() || !reduces ? 0 : roundings))
                << "rank " << rank << ", element " << i << ", " << exact;
        }
    }
    job.expect_same_bits();
}

void expect_right(Collective collective, const Case& c, weft_op premultiplied,
                  const CommunicatorSettings& settings) {
    if (collective != Collective::allreduce) {
        expect_rounded_blocks(collective, c, settings);
        expect_within_bound(collective, c, WEFT_SUM, 1, settings);
        return;
    }
    expect_exact_sums(c, WEFT_SUM, 1, false, settings);
    expect_exact_sums(c, WEFT_AVG, 1, true, settings);
    expect_exact_sums(c, premultiplied, 0.5f, false, settings);
    expect_within_bound(collective, c, WEFT_SUM, 1, settings);
    expect_within_bound(collective, c, WEFT_AVG, c.ranks, settings);
    expect_within_bound(collective, c, premultiplied, 2, settings);
}

constexpr Collective served[] = {Collective::allreduce, Collective::allgather,
                                 Collective::alltoall};

TEST(Wire, FormatsRoundAlikeByEveryAlgorithm) {
    weft_op premultiplied = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create_premul_sum(0.5, &premultiplied), WEFT_OK);
    for (const Collective collective : served) {
        for_all_cases(collective, [&](const Case& c) {
            if (c.seed % 50 != 0) return;
            expect_right(collective, c, premultiplied, forced(collective, c));
        });
    }
    EXPECT_EQ(weft_op_free(&premultiplied), WEFT_OK);
}

// Conversions in pieces, each when its data is there.
TEST(Wire, ConversionsOfLargeCallsOverlapWithTheirMessages) {
    weft_op premultiplied = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create_premul_sum(0.5, &premultiplied), WEFT_OK);
    for (const Collective collective : served) {
        for (const algorithm::Algorithm* known : algorithm::spec_of(collective).algorithms) {
            for (const Rank ranks : {2, 3, 4}) {
                const std::size_t count = collective == Collective::allreduce ? 140'003 : 70'001;
                algorithm::GlobalArgs size = {.ranks = ranks,
                                              .bytes = 4 * static_cast<std::int64_t>(count)};
                const Torus torus(squarest_torus(ranks));
                size.torus = &torus;
                const auto seed = static_cast<std::uint64_t>(ranks);
                const Topology nodes(nodes_of(ranks, seed));
                size.topology = &nodes;
                if (!known->unmet_need(size).empty()) continue;
                const Case c = {known->name, ranks, 0, count, ranks % 2 == 1, seed};
                SCOPED_TRACE(c.text());
                const CommunicatorSettings settings = forced(collective, c);
                if (collective == Collective::allreduce) {
                    expect_exact_sums(c, WEFT_AVG, 1, true, settings);
                    expect_within_bound(collective, c, premultiplied, 2, settings);
                } else {
                    expect_rounded_blocks(collective, c, settings);
                    expect_within_bound(collective, c, WEFT_SUM, 1, settings);
                }
                if (HasFailure()) return;
            }
        }
    }
    EXPECT_EQ(weft_op_free(&premultiplied), WEFT_OK);
}

// The association decides, not the algorithm.
TEST(Wire, ReproducibleSumsHaveTheSameBitsByEveryAlgorithm) {
    for (const WireFormat format : {WireFormat::bfloat16, WireFormat::int8}) {
        for (const Rank ranks : {2, 3, 4, 5, 8}) {
            Floats first;
            for (const algorithm::Algorithm* known :
                 algorithm::spec_of(Collective::allreduce).algorithms) {
                algorithm::GlobalArgs size = {
                    .ranks = ranks, .bytes = 4000, .commutative = false, .reproducible = true};
                const Torus torus(squarest_torus(ranks));
                size.torus = &torus;
                const Topology nodes(nodes_of(ranks, 1));
                size.topology = &nodes;
                if (!known->unmet_need(size).empty()) continue;
                const Case c = {known->name, ranks, 0, 1000, false, 1};
                SCOPED_TRACE(c.text());
                CommunicatorSettings settings = forced(Collective::allreduce, c);
                settings.reproducible = true;
                Job job = {Collective::allreduce, c, format, wide};
                job.run(settings);
                job.expect_same_bits();
                if (first.empty()) first = job.recv.front();
                ASSERT_EQ(job.recv.front(), first);
            }
            EXPECT_FALSE(first.empty());
        }
    }
}

// Other collectives, types and operations.
TEST(Wire, CallsThatNoFormatServesAreExact) {
    constexpr std::size_t count = 500;
    struct Other {
        Collective collective;
        weft_type type;
        weft_op op;
        WireFormat format;
    };
    for (const Other& other :
         {Other{Collective::allreduce, WEFT_FLOAT32, WEFT_MAX, WireFormat::int8},
          Other{Collective::allreduce, WEFT_INT32, WEFT_SUM, WireFormat::int8},
          Other{Collective::allreduce, WEFT_INT32, WEFT_SUM, WireFormat::bfloat16},
          Other{Collective::reduce_scatter_block, WEFT_FLOAT32, WEFT_MAX, WireFormat::bfloat16},
          Other{Collective::allgather, WEFT_INT32, WEFT_OP_NULL, WireFormat::bfloat16},
          Other{Collective::alltoall, WEFT_BYTE, WEFT_OP_NULL, WireFormat::int8}}) {
        CommunicatorSettings settings;
        settings.wire = other.format;
        World world(3, 1, {}, settings);
        // No bits that a format keeps.
        std::vector<std::vector<std::int32_t>> send(3, std::vector<std::int32_t>(3 * count));
        std::vector<std::vector<std::int32_t>> recv(3, std::vector<std::int32_t>(3 * count));
        for (auto& own : send)
            for (std::size_t i = 0; i < own.size(); ++i)
                own[i] = 0x3f812345 + static_cast<std::int32_t>(i);
        for (const weft_status code : world.run_all([&](Rank rank) -> Call {
                 const auto r = static_cast<std::size_t>(rank);
                 return {.collective = other.collective,
                         .send_buf = send[r].data(),
                         .recv_buf = recv[r].data(),
                         .count = other.type == WEFT_BYTE ? 4 * count : count,
                         .type = other.type,
                         .op = other.op};
             })) {
            ASSERT_EQ(code, WEFT_OK);
        }
        const bool adds = other.type == WEFT_INT32 && other.op == WEFT_SUM;
        for (Rank rank = 0; rank < 3; ++rank) {
            for (std::size_t i = 0; i < count; ++i) {
                // All ranks contribute the same.
                const std::size_t from = other.collective == Collective::reduce_scatter_block ||
                                                 other.collective == Collective::alltoall
                                             ? static_cast<std::size_t>(rank) * count + i
                                             : i;
                const std::int32_t one = send[0][from];
                const auto sum = static_cast<std::int32_t>(3 * static_cast<std::uint32_t>(one));
                ASSERT_EQ(recv[static_cast<std::size_t>(rank)][i], adds ? sum : one);
            }
            EXPECT_EQ(world.process(rank).saved_bytes(), 0);
            EXPECT_EQ(world.world(rank).take_wire_error(), 0.0f);
        }
    }
}

// A block of 33 elements has 132 bytes, of which int8 saves 4; bfloat16 saves half.
TEST(Wire, SavesWhatMessagesDoNotTake) {
    for (const bool is_checked : {false, true}) {
        for (const auto format : {WireFormat::int8, WireFormat::bfloat16}) {
            for (const auto collective : {Collective::allgather, Collective::alltoall}) {
                Job job = {collective, {.algorithm = {}, .ranks = 2, .count = 33}, format, small};
                job.is_checked = is_checked;
                job.run({});
                const std::int64_t expected = format == WireFormat::int8 ? 4 : 66;
                EXPECT_EQ(job.saved, (std::vector<std::int64_t>{expected, expected}));
            }
        }
    }
}

}  // namespace weft::test::wire_test
