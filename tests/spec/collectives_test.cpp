// Every collective does, with every algorithm, what its definition says.
#include <array>
#include <bit>

#include "support/cases.h"
#include "support/reference.h"
#include "support/surroundings.h"
#include "weft/collective.h"

namespace weft::test::collectives_test {

// How elements are combined, by the library and by the reference.
struct Operation {
    weft_type type;
    weft_op op;
    void (*combine)(const std::byte* left, std::byte* right);
    algorithm::GlobalArgs kind = {};
    // What the reference does with every operand of a rank before, and with every result at the end,
    // if the operation scales; and the operation that a rank passes, if they differ.
    void (*prepare)(std::byte* operand, Rank rank) = nullptr;
    void (*finish)(std::byte* result, Rank ranks) = nullptr;
    weft_op (*op_of)(Rank rank) = nullptr;
};

void add(const std::byte* left, std::byte* right) {
    std::uint32_t l;
    std::uint32_t r;
    std::memcpy(&l, left, sizeof l);
    std::memcpy(&r, right, sizeof r);
    r += l;
    std::memcpy(right, &r, sizeof r);
}

void compose_one(const std::byte* left, std::byte* right) {
    compose(left, right, 1, WEFT_UINT32, nullptr);
}

// Neither commutes nor associates.
std::uint32_t mixed(std::uint32_t left, std::uint32_t right) {
    return 3 * std::rotl(left, 9) ^ 5 * right;
}

void mix(const void* in, void* inout, size_t count, weft_type, void*) {
    const auto* left = static_cast<const std::uint32_t*>(in);
    auto* right = static_cast<std::uint32_t*>(inout);
    for (size_t i = 0; i < count; ++i) right[i] = mixed(left[i], right[i]);
}

void mix_one(const std::byte* left, std::byte* right) { mix(left, right, 1, WEFT_UINT32, nullptr); }

// As floats, the elements are whole numbers, whose sums are exact.
void to_float(std::byte* element) {
    std::int32_t number;
    std::memcpy(&number, element, sizeof number);
    const auto real = static_cast<float>(number % 1000);
    std::memcpy(element, &real, sizeof real);
}

template <class Function>
void change_float(std::byte* element, Function function) {
    float value;
    std::memcpy(&value, element, sizeof value);
    value = function(value);
    std::memcpy(element, &value, sizeof value);
}

void add_floats(const std::byte* left, std::byte* right) {
    float l;
    std::memcpy(&l, left, sizeof l);
    change_float(right, [l](float r) { return l + r; });
}

void divide(std::byte* result, Rank ranks) {
    change_float(result, [ranks](float sum) { return sum / static_cast<float>(ranks); });
}

// Ranks have different factors.
float factor_of(Rank rank) { return static_cast<float>(rank % 3) - 0.5f; }

void multiply(std::byte* operand, Rank rank) {
    change_float(operand, [rank](float value) { return value * factor_of(rank); });
}

weft_op premultiplied(Rank rank) {
    static const std::array<weft_op, 3> ops = [] {
        std::array<weft_op, 3> made{};
        for (Rank r = 0; r < 3; ++r)
            EXPECT_EQ(weft_op_create_premul_sum(factor_of(r), &made[static_cast<std::size_t>(r)]),
                      WEFT_OK);
        return made;
    }();
    return ops[static_cast<std::size_t>(rank % 3)];
}

// Element i of a buffer; all of them different.
void fill(Guarded& buffer, Rank number, std::uint64_t seed) {
    for (std::size_t i = 0; i < buffer.bytes() / 4; ++i)
        buffer.as<std::int32_t>()[i] = input(number, i, seed);
}

std::vector<std::byte> content(Guarded& buffer) {
    return {buffer.as<std::byte>(), buffer.as<std::byte>() + buffer.bytes()};
}

// Blocks of different sizes; with every second seed in an order of their own, and with gaps.
void differ(const Case& c, Arguments& arguments, std::vector<std::int64_t>& counts) {
    Prng random(c.seed);
    for (Rank r = 0; r < c.ranks; ++r) {
        arguments.counts.push_back(random.below(2 * c.count + 1));
        counts.push_back(static_cast<std::int64_t>(arguments.counts.back()));
    }
    if (c.seed % 2 == 0) return;
    arguments.displacements.resize(counts.size());
    std::ptrdiff_t end = 0;
    for (std::size_t r = counts.size(); r-- > 0;) {
        end += static_cast<std::ptrdiff_t>(random.below(3));
        arguments.displacements[r] = end;
        end += static_cast<std::ptrdiff_t>(arguments.counts[r]);
    }
}

// What each pair of ranks sends each other; in place, both the same.
void differ_by_pairs(const Case& c, Arguments& arguments) {
    Prng random(c.seed);
    const auto ranks = static_cast<std::size_t>(c.ranks);
    arguments.amounts.resize(ranks * ranks);
    for (std::size_t from = 0; from < ranks; ++from) {
        for (std::size_t to = 0; to < ranks; ++to) {
            std::size_t& amount = arguments.amounts[from * ranks + to];
            amount = c.in_place && to < from ? arguments.amounts[to * ranks + from]
                                             : random.below(2 * c.count + 1);
        }
    }
    arguments.has_gaps = c.seed % 2 == 1;
}

// The arrays of one rank's call, for a buffer with a block for every rank or neighbor.
struct Arrays {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> displacements;
    std::vector<weft_type> types;

    // With types, every second block is described as bytes.
    void add(const Place& place, weft_type type, bool has_types) {
        const auto bytes = static_cast<std::int64_t>(has_types ? weft_type_size(type) : 1);
        const bool is_bytes = has_types && counts.size() % 2 == 1;
        counts.push_back(static_cast<std::int64_t>(place.count) * (is_bytes ? bytes : 1));
        displacements.push_back(static_cast<std::int64_t>(place.begin) * bytes);
        if (has_types) types.push_back(is_bytes ? WEFT_BYTE : type);
    }
    BlockArrays blocks(bool has_displacements) const {
        return {counts.data(), has_displacements ? displacements.data() : nullptr,
                types.empty() ? nullptr : types.data()};
    }
};

bool is_listed(algorithm::Blocks blocks) {
    return blocks == algorithm::Blocks::all || blocks == algorithm::Blocks::neighbors;
}

// A buffer without content may be null.
void* start_of(Guarded& buffer, const Case& c) {
    return buffer.bytes() == 0 && c.seed % 2 == 1 ? nullptr : buffer.data();
}

// Of an operation that scales; everything but the results stays as it was.
void perform_scaled(const Arguments& arguments, const Operation& operation, AllBuffers& expected) {
    AllBuffers computed = expected;
    for (auto* side : {&computed.send, &computed.recv}) {
        for (std::size_t r = 0; operation.prepare && r < side->size(); ++r) {
            std::vector<std::byte>& buffer = (*side)[r];
            for (std::size_t at = 0; at < buffer.size(); at += 4)
                operation.prepare(buffer.data() + at, static_cast<Rank>(r));
        }
    }
    perform(arguments, computed);
    for (Rank rank = 0; rank < arguments.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        for (int block = 0; block < arguments.received(rank); ++block) {
            const Place place = arguments.result(rank, block);
            for (std::size_t i = place.begin; i < place.begin + place.count; ++i) {
                std::byte* const result = expected.recv[r].data() + 4 * i;
                std::memcpy(result, computed.recv[r].data() + 4 * i, 4);
                if (operation.finish) operation.finish(result, arguments.ranks);
            }
        }
    }
}

void expect_right(const algorithm::CollectiveSpec& spec, const Case& c,
                  const Operation& operation) {
    Arguments arguments = {.collective = spec.name,
                           .ranks = c.ranks,
                           .root = spec.has_root ? c.root : 0,
                           .count = c.count,
                           .in_place = c.in_place,
                           .element_bytes = 4,
                           .combine = operation.combine,
                           .reproducible = operation.kind.reproducible};
    std::vector<std::int64_t> counts;
    if (spec.sizes == algorithm::Sizes::known_to_all) differ(c, arguments, counts);
    if (spec.reduces) arguments.displacements.clear();  // reduce_scatter has none
    if (spec.sizes == algorithm::Sizes::rank_local) differ_by_pairs(c, arguments);
    std::vector<Neighborhood> neighborhoods;
    if (spec.is_among_neighbors()) {
        arguments.neighbors =
            neighbors(neighbor_kinds[c.seed % std::size(neighbor_kinds)], c.ranks);
        neighborhoods = arguments.neighbors.for_library();
    }
    const bool scales = operation.prepare != nullptr || operation.finish != nullptr;
    std::vector<Guarded> send;
    std::vector<Guarded> recv;
    AllBuffers expected;
    for (Rank r = 0; r < c.ranks; ++r) {
        fill(send.emplace_back(4 * arguments.send_elements(r)), r, c.seed);
        fill(recv.emplace_back(4 * arguments.recv_elements(r)), c.ranks + r, c.seed);
        for (Guarded* buffer : {&send.back(), &recv.back()}) {
            for (std::size_t at = 0; scales && at < buffer->bytes(); at += 4)
                to_float(buffer->as<std::byte>() + at);
        }
        expected.send.push_back(content(send.back()));
        expected.recv.push_back(content(recv.back()));
    }
    if (scales)
        perform_scaled(arguments, operation, expected);
    else
        perform(arguments, expected);

    std::vector<Arrays> arrays(2 * static_cast<std::size_t>(c.ranks));
    CommunicatorSettings settings = forced(spec.collective, c);
    settings.reproducible = operation.kind.reproducible;
    World world(c.ranks, c.seed, sim_options(c.seed), settings);
    for (std::size_t r = 0; r < neighborhoods.size(); ++r) {
        world.world(static_cast<Rank>(r))
            .set_neighbors(std::make_unique<const Neighborhood>(neighborhoods[r]));
    }
    for (weft_status code : world.run_all([&](Rank rank) -> Call {
             const auto r = static_cast<std::size_t>(rank);
             const bool in_place =
                 c.in_place && spec.has_in_place() && arguments.is_in_place_on(rank);
             const bool spares_recv = arguments.spares_recv();
             Call call = {
                 .collective = spec.collective,
                 .send_buf = in_place && !spares_recv ? WEFT_IN_PLACE : start_of(send[r], c),
                 .recv_buf = in_place && spares_recv ? const_cast<void*>(WEFT_IN_PLACE)
                                                     : start_of(recv[r], c),
                 .count = counts.empty() ? c.count : arguments.counts[r],
                 .type = operation.type,
                 .op = operation.op_of ? operation.op_of(rank) : operation.op,
                 .root = arguments.root};
             const BlockArrays agreed = {counts.data(), arguments.displacements.empty()
                                                            ? nullptr
                                                            : arguments.displacements.data()};
             const bool is_root = rank == arguments.root;
             const bool sends_all = is_listed(spec.send_blocks(is_root));
             const bool gets_all = is_listed(spec.recv_blocks(is_root));
             if (!counts.empty()) (sends_all ? call.send_blocks : call.recv_blocks) = agreed;
             if (spec.sizes != algorithm::Sizes::rank_local) return call;
             Arrays& of_send = arrays[2 * r];
             Arrays& of_recv = arrays[2 * r + 1];
             for (int block = 0; sends_all && block < arguments.contributed(rank); ++block)
                 of_send.add(arguments.contribution(rank, block), operation.type, spec.has_types);
             for (int block = 0; gets_all && block < arguments.received(rank); ++block)
                 of_recv.add(arguments.result(rank, block), operation.type, spec.has_types);
             if (sends_all) call.send_blocks = of_send.blocks(arguments.has_gaps);
             if (gets_all) call.recv_blocks = of_recv.blocks(arguments.has_gaps);
             const bool sends_one = spec.send_blocks(is_root) == algorithm::Blocks::one;
             call.count = sends_one  ? arguments.contribution(rank, 0).count
                          : gets_all ? 0
                                     : arguments.result(rank, 0).count;
             return call;
         })) {
        ASSERT_EQ(code, WEFT_OK);
    }
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        ASSERT_EQ(content(send[r]), expected.send[r]) << "rank " << rank << " has sent";
        std::vector<std::byte> result = content(recv[r]);
        if (arguments.received(rank) < arguments.contributed(rank) && !arguments.spares_recv() &&
            arguments.is_in_place_on(rank)) {
            // What lies behind the result is not defined.
            const Place last = arguments.result(rank, arguments.received(rank) - 1);
            result.resize(4 * (last.begin + last.count));
            expected.recv[r].resize(result.size());
        }
        ASSERT_EQ(result, expected.recv[r]) << "rank " << rank << " has received";
        ASSERT_TRUE(send[r].guards_untouched() && recv[r].guards_untouched()) << "rank " << rank;
    }
}

class Collectives : public testing::TestWithParam<const algorithm::CollectiveSpec*> {
  protected:
    void SetUp() override {
        if (!is_its_turn(5)) GTEST_SKIP() << not_its_turn;
    }
    static const algorithm::CollectiveSpec& spec() { return *GetParam(); }
    static void expect_all_right(const Operation& operation, std::uint64_t one_seed_in = 1) {
        const auto body = [&](const Case& c) {
            if (c.seed % one_seed_in == 0) expect_right(spec(), c, operation);
        };
        for_all_cases(spec().collective, body, operation.kind);
    }
};

std::vector<const algorithm::CollectiveSpec*> families() {
    std::vector<const algorithm::CollectiveSpec*> all;
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) all.push_back(&spec);
    return all;
}

INSTANTIATE_TEST_SUITE_P(Of, Collectives, testing::ValuesIn(families()),
                         [](const auto& test) { return test.param->name; });

TEST_P(Collectives, DoWhatTheirDefinitionSays) {
    const Operation moves = {WEFT_INT32, WEFT_OP_NULL, nullptr};
    const Operation sums = {WEFT_UINT32, WEFT_SUM, add};
    expect_all_right(spec().reduces ? sums : moves);
}

TEST_P(Collectives, KeepRankOrderForOperationsThatDoNotCommute) {
    if (!spec().reduces) return;
    weft_op op = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create(compose, 0, nullptr, &op), WEFT_OK);
    expect_all_right({WEFT_UINT32, op, compose_one, {.commutative = false}});
    ASSERT_EQ(weft_op_free(&op), WEFT_OK);
}

// With every algorithm: what scales stands before and behind it.
TEST_P(Collectives, ScaleOperandsBeforeOrResultsAtTheEnd) {
    if (!spec().reduces) return;
    if (!spec().is_prefix)
        expect_all_right({WEFT_FLOAT32, WEFT_AVG, add_floats, {}, nullptr, divide}, 20);
    expect_all_right({WEFT_FLOAT32, WEFT_OP_NULL, add_floats, {}, multiply, nullptr, premultiplied},
                     20);
}

// The operation is said to commute, and does not.
TEST_P(Collectives, CombineByOneAssociationIfTheyAreReproducible) {
    if (!spec().reduces) return;
    weft_op op = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create(mix, 1, nullptr, &op), WEFT_OK);
    expect_all_right({WEFT_UINT32, op, mix_one, {.commutative = false, .reproducible = true}});
    ASSERT_EQ(weft_op_free(&op), WEFT_OK);
}

}  // namespace weft::test::collectives_test
