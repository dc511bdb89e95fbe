// The int8 wire format: its bounds hold, and all versions of its loops give the same bits.
#include "reduce/int8_blocks.h"

#include <cmath>
#include <limits>

#include "base/random.h"
#include "reduce/reduce.h"
#include "support/float_states.h"
#include "support/test.h"

namespace weft::int8_blocks_test {

using Floats = std::vector<float>;
using Blocks = std::vector<Int8Block>;

constexpr std::size_t size = Int8Block::elements;

std::vector<LoopVersion> versions() {
    std::vector<LoopVersion> all;
    for (unsigned v = 0; v <= static_cast<unsigned>(best_loops()); ++v)
        all.push_back(static_cast<LoopVersion>(v));
    return all;
}

const char* name_of(LoopVersion version) {
    return loop_version_names[static_cast<unsigned>(version)];
}

// Blocks of every magnitude; in some of them there is a special number.
Floats operands(std::uint64_t seed) {
    using Limits = std::numeric_limits<float>;
    const float special[] = {0.0f,
                             -0.0f,
                             Limits::denorm_min(),
                             -Limits::min(),
                             int8_least,
                             std::nextafter(int8_least, 0.0f),
                             std::nextafter(int8_limit, 0.0f),
                             int8_limit,
                             -Limits::max(),
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::quiet_NaN(),
                             -Limits::signaling_NaN()};
    Prng random(seed);
    Floats all;
    for (int exponent = -149; exponent < 127; ++exponent) {
        for (std::size_t i = 0; i < size; ++i) {
            const auto fraction =
                static_cast<float>(static_cast<double>(random.next() >> 11) * 0x1p-52 - 1);
            all.push_back(std::ldexp(fraction, exponent));
        }
    }
    for (const float one : special) {
        for (std::size_t i = 0; i < size; ++i)
            all.push_back(static_cast<float>(random.below(1000)) - 500);
        all[all.size() - 1 - random.below(size)] = one;
        all.insert(all.end(), size, one);
    }
    return all;
}

Blocks encoded(const Floats& values, LoopVersion version = LoopVersion::portable) {
    Blocks blocks((values.size() + size - 1) / size);
    int8_loops_of(version).encode(values.data(), blocks.data(), values.size());
    return blocks;
}

bool have_same_bits(const Blocks& left, const Blocks& right) {
    return std::memcmp(left.data(), right.data(), left.size() * sizeof(Int8Block)) == 0;
}

TEST(Int8Blocks, HaveTheSameBitsInAllVersions) {
    const Floats left = operands(1);
    const Floats right = operands(2);
    const Blocks from = encoded(left);
    Blocks into = encoded(right);
    std::rotate(into.begin(), into.begin() + 1, into.end());
    Blocks sums(from.size());
    int8_loops_of(LoopVersion::portable).sum(from.data(), into.data(), sums.data(), sums.size());
    Floats values(left.size());
    const float error =
        int8_loops_of(LoopVersion::portable).decode(sums.data(), values.data(), values.size());
    for (const LoopVersion version : versions()) {
        const Int8Loops& loops = int8_loops_of(version);
        EXPECT_TRUE(have_same_bits(encoded(left, version), from)) << name_of(version);
        Blocks got = into;
        loops.sum(from.data(), got.data(), got.data(), got.size());
        EXPECT_TRUE(have_same_bits(got, sums)) << name_of(version);
        got = into;
        loops.sum(got.data(), from.data(), got.data(), got.size());
        EXPECT_TRUE(have_same_bits(got, sums)) << name_of(version) << ", operands exchanged";
        Floats decoded(values.size());
        EXPECT_EQ(loops.decode(sums.data(), decoded.data(), decoded.size()), error);
        EXPECT_EQ(std::memcmp(decoded.data(), values.data(), values.size() * sizeof(float)), 0)
            << name_of(version);
    }
}

// Each block's own, also of sums of sums.
TEST(Int8Blocks, BoundTheirErrors) {
    constexpr int ranks = 6;
    std::vector<Floats> of_rank;
    for (int r = 0; r < ranks; ++r) of_rank.push_back(operands(static_cast<std::uint64_t>(r)));
    Blocks sums = encoded(of_rank[0]);
    for (int r = 1; r < ranks; ++r) {
        const Blocks more = encoded(of_rank[static_cast<std::size_t>(r)]);
        int8_loops_of(best_loops()).sum(more.data(), sums.data(), sums.data(), sums.size());
    }
    int finite = 0;
    for (std::size_t b = 0; b < sums.size(); ++b) {
        Floats values(size);
        const float error =
            int8_loops_of(best_loops()).decode(&sums[b], values.data(), values.size());
        EXPECT_EQ(error, sums[b].error);
        if (!std::isfinite(error)) {
            for (const float value : values) EXPECT_TRUE(std::isnan(value));
            continue;
        }
        ++finite;
        double magnitudes = 0;  // the largest of each rank
        for (const Floats& operand : of_rank) {
            double largest = 0;
            for (std::size_t i = 0; i < size; ++i)
                largest = std::max(largest, std::fabs(double{operand[b * size + i]}));
            magnitudes += largest;
        }
        EXPECT_LE(double{error}, 1.001 * (ranks * magnitudes / 254 + 2 * ranks * 0x1p-100));
        for (std::size_t i = 0; i < size; ++i) {
            double exact = 0;
            for (const Floats& operand : of_rank) exact += double{operand[b * size + i]};
            ASSERT_LE(std::fabs(double{values[i]} - exact), double{error})
                << "block " << b << ", element " << i;
        }
    }
    EXPECT_GT(finite, 200);
}

TEST(Int8Blocks, OfWhichOneElementIsNoNumberHaveNone) {
    for (const float one : {std::numeric_limits<float>::quiet_NaN(),
                            -std::numeric_limits<float>::infinity(), int8_limit}) {
        Floats values(3 * size, 1.0f);
        values[size + 17] = one;
        Blocks blocks = encoded(values);
        int8_loops_of(best_loops()).sum(blocks.data(), blocks.data(), blocks.data(), 3);
        const float error =
            int8_loops_of(best_loops()).decode(blocks.data(), values.data(), values.size());
        EXPECT_EQ(error, std::numeric_limits<float>::infinity());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const bool is_spoilt = i / size == 1;
            EXPECT_TRUE(is_spoilt ? std::isnan(values[i]) : values[i] == 2.0f) << i;
        }
    }
}

// Sums of powers of two times the same numbers of at most 127.
TEST(Int8Blocks, KeepMultiplesOfTheirScale) {
    Floats values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i) - 127;
    const Floats before = values;
    Blocks blocks = encoded(values);
    EXPECT_EQ(blocks[0].scale, 1.0f);
    for (int i = 0; i < 3; ++i)
        int8_loops_of(best_loops()).sum(blocks.data(), blocks.data(), blocks.data(), 1);
    int8_loops_of(best_loops()).decode(blocks.data(), values.data(), values.size());
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(values[i], 8 * before[i]);
}

TEST(Int8Blocks, OfAnyNumberOfElements) {
    for (const LoopVersion version : versions()) {
        for (std::size_t count = 0; count < 2 * size + 3; ++count) {
            Floats values(count);
            for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 128);
            Floats whole(values);
            whole.resize((count + size - 1) / size * size);
            EXPECT_TRUE(have_same_bits(encoded(values, version), encoded(whole)))
                << name_of(version) << ", " << count;
            const Blocks blocks = encoded(values, version);
            Floats decoded(count + 1, 5.5f);
            int8_loops_of(version).decode(blocks.data(), decoded.data(), count);
            EXPECT_EQ(decoded[count], 5.5f) << name_of(version) << ", " << count;
        }
    }
}

// Whatever state the converting thread is in.
TEST(Int8Blocks, DoNotDependOnTheStateOfFloatingPointArithmetic) {
    const Floats values = operands(5);
    Reduction reduction = *bind_reduction(WEFT_SUM, WEFT_FLOAT32);
    float largest = 0;
    reduction.encode_as(WireFormat::int8, &largest);
    ASSERT_EQ(reduction.element_bytes, sizeof(Int8Block));
    const Blocks expected = encoded(values);
    Blocks sums = expected;
    reduction.apply(expected.data(), sums.data(), sums.size() * sizeof(Int8Block));
    for (int state = 1; state < test::float_states; ++state) {
        Blocks blocks(expected.size());
        test::set_float_state(state);
        const test::FloatState before = test::float_state();
        reduction.round_as_this_thread();
        reduction.encode(values.data(), blocks.data(), values.size());
        Blocks added = blocks;
        reduction.apply(blocks.data(), added.data(), added.size() * sizeof(Int8Block));
        const test::FloatState after = test::float_state();
        test::set_float_state(0);
        EXPECT_EQ(before, after) << "state " << state << " is not as before";
        EXPECT_TRUE(have_same_bits(blocks, expected)) << "state " << state;
        EXPECT_TRUE(have_same_bits(added, sums)) << "state " << state;
    }
}

}  // namespace weft::int8_blocks_test
