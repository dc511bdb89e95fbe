// What is refused of a call on several ranks, and what its schedule depends on.
#include "support/call.h"
#include "communicator/call/collectives.h"
#include "shape/torus.h"
#include "support/test.h"
#include "weft/collective.h"

namespace weft::call_test {

using test::Call;

struct Checked {
    Signature signature;
    Binding binding;
};

std::int32_t from[8];
std::int32_t into[8];
void* const in_place = const_cast<void*>(WEFT_IN_PLACE);

constexpr CallContext root = {1, 3};
constexpr CallContext other = {2, 3};

Call call(Collective collective, const void* send_buf, void* recv_buf) {
    return {.collective = collective,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .count = 2,
            .type = WEFT_INT32,
            .op = WEFT_SUM,
            .root = root.rank};
}

// Valid until the next one.
Result<Checked> check(const Call& c, CallContext place) {
    static ByteCounts byte_counts;
    Checked checked;
    WEFT_RETURN_IF_NOT_OK(check(c, place, byte_counts, checked.signature, checked.binding));
    return checked;
}

Result<Signature> outcome(const Call& c, CallContext place) {
    Result<Checked> checked = check(c, place);
    if (!checked.is_ok()) return checked.status();
    Result<BufferUses> uses = uses_of_buffers(checked->signature, place);
    if (!uses.is_ok()) return uses.status();
    WEFT_RETURN_IF_NOT_OK(check_buffers(checked->binding, *uses));
    return checked->signature;
}

Signature accepted(const Call& c, CallContext place) {
    Result<Signature> signature = outcome(c, place);
    EXPECT_TRUE(signature.is_ok()) << last_detail();
    return signature.is_ok() ? *signature : Signature{};
}

std::string refusal(const Call& c, CallContext place) {
    return outcome(c, place).status().code == WEFT_REFUSED_ARGUMENT ? last_detail() : "accepted";
}

TEST(Call, BuffersThatAreNotSignificantAreNotLookedAt) {
    for (Collective collective : {Collective::gather, Collective::reduce}) {
        EXPECT_NE(refusal(call(collective, from, nullptr), root), "accepted");
        EXPECT_FALSE(accepted(call(collective, from, nullptr), other).in_place);
        EXPECT_FALSE(accepted(call(collective, from, from), other).in_place);
        EXPECT_FALSE(accepted(call(collective, from, in_place), other).in_place);
    }
    EXPECT_NE(refusal(call(Collective::scatter, nullptr, into), root), "accepted");
    EXPECT_FALSE(accepted(call(Collective::scatter, nullptr, into), other).in_place);
    EXPECT_FALSE(accepted(call(Collective::scatter, WEFT_IN_PLACE, into), other).in_place);
}

TEST(Call, InPlaceIsForTheRootWhereThereIsOne) {
    for (Collective collective : {Collective::gather, Collective::reduce}) {
        EXPECT_TRUE(accepted(call(collective, WEFT_IN_PLACE, into), root).in_place);
        EXPECT_EQ(refusal(call(collective, WEFT_IN_PLACE, into), other),
                  "send_buf = WEFT_IN_PLACE; expected a buffer of 8 bytes");
    }
    EXPECT_TRUE(accepted(call(Collective::scatter, from, in_place), root).in_place);
    EXPECT_EQ(refusal(call(Collective::scatter, from, in_place), other),
              "recv_buf = WEFT_IN_PLACE; expected a buffer of 8 bytes");
    for (CallContext place : {root, other}) {
        EXPECT_TRUE(accepted(call(Collective::alltoall, WEFT_IN_PLACE, into), place).in_place);
        EXPECT_TRUE(accepted(call(Collective::allgather, WEFT_IN_PLACE, into), place).in_place);
    }
}

// A rank that has no buffer of all blocks refuses the same counts: else the others would wait.
TEST(Call, ATooLargeCountIsRefusedOnEveryRank) {
    for (Collective collective : {Collective::gather, Collective::scatter, Collective::alltoall}) {
        for (CallContext place : {root, other}) {
            Call large = call(collective, from, into);
            large.count = SIZE_MAX / 8;
            EXPECT_NE(refusal(large, place), "accepted");
        }
    }
}

// With the largest count, scratch and offsets can still be computed (nothing is run here).
TEST(Call, TheLargestCountHasASchedule) {
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        for (const algorithm::Algorithm* algorithm : spec.algorithms) {
            // Has an operation for every segment.
            if (algorithm->name == std::string_view("chain_rounds")) continue;
            Call large = call(spec.collective, WEFT_IN_PLACE, into);
            if (spec.in_place == algorithm::InPlace::recv_at_root) {
                large.send_buf = from;
                large.recv_buf = in_place;
            }
            large.type = WEFT_UINT8;
            const Dimension row[] = {{5, true}};
            const Neighborhood neighbors = grid_neighbors(row, 1);
            const Torus torus({1, 5});
            const CallContext place{
                .rank = 1,
                .ranks = algorithm->needs.ranks_are_a_power_of_ports_plus_1 ? 4 : 5,
                .torus = &torus,
                .neighbors = &neighbors};
            const std::vector<weft_type> types(5, WEFT_UINT8);
            large.count = SIZE_MAX;
            std::vector<std::int64_t> counts(static_cast<std::size_t>(place.ranks), -1);
            if (spec.lists_blocks()) {
                large.send_blocks = {counts.data(), nullptr, types.data()};
                large.recv_blocks = {counts.data(), nullptr, types.data()};
            }
            if (spec.is_among_neighbors()) large.send_buf = from;
            refusal(large, place);
            const std::string sentence = last_detail();
            const std::string before = "expected at most ";
            const std::size_t at = sentence.find(before);
            ASSERT_NE(at, std::string::npos) << sentence;
            large.count = std::stoull(sentence.substr(at + before.size()));
            std::ranges::fill(counts, static_cast<std::int64_t>(large.count) / place.ranks);
            Selector selector;
            ASSERT_TRUE(selector.force(spec.collective, algorithm->name).is_ok());
            Result<Schedule> schedule =
                build_schedule(*outcome(large, place), place, selector, false);
            EXPECT_TRUE(schedule.is_ok())
                << spec.name << " " << algorithm->name << ": " << last_detail();
        }
    }
}

// --- Blocks that differ ----------------------------------------------------------------------------

struct Gathered {
    std::vector<std::int64_t> counts = {1, 2, 3};
    std::vector<std::int64_t> displacements = {2, 0, 3};

    Call call() const {
        Call c = call_test::call(Collective::allgatherv, from, into);
        c.count = static_cast<std::size_t>(counts[1]);
        c.recv_blocks = {counts.data(), displacements.empty() ? nullptr : displacements.data()};
        return c;
    }
};

TEST(BlocksThatDiffer, AreRefusedWithTheOffendingValue) {
    const Gathered good;
    EXPECT_EQ(refusal(good.call(), root), "accepted");
    Call c = good.call();
    c.recv_blocks.counts = nullptr;
    EXPECT_EQ(refusal(c, root), "recv_counts = null; expected 3 counts");
    c = good.call();
    c.count = 5;
    EXPECT_EQ(refusal(c, root), "send_count = 5; expected recv_counts[1] = 2");
    const Gathered large = {.counts = {1, 2, -1}};
    EXPECT_NE(refusal(large.call(), root).find("recv_counts[2] = 18446744073709551615"),
              std::string::npos);
    const Gathered apart = {.displacements = {0, INT64_MIN, 3}};
    EXPECT_NE(refusal(apart.call(), root).find("displs[1] = -9223372036854775808; expected -"),
              std::string::npos);
    const Gathered overlapping = {.displacements = {2, 0, 1}};
    EXPECT_EQ(refusal(overlapping.call(), root),
              "displs[2] = 1 lies within block 1; expected blocks that do not overlap");
}

TEST(BlocksThatDiffer, LieAnywhereWhenTheyAreEmpty) {
    const Gathered g = {.counts = {4, 0, 2}, .displacements = {100, 0, 104}};
    Call c = g.call();
    Result<Checked> checked = check(c, {2, 3});
    ASSERT_FALSE(checked.is_ok());  // send_count is rank 1's
    checked = check(c, root);
    ASSERT_TRUE(checked.is_ok()) << last_detail();
    EXPECT_EQ(checked->binding.recv, reinterpret_cast<std::byte*>(into) + 100 * 4);
    EXPECT_EQ(uses_of_buffers(checked->signature, root)->recv.bytes, 6 * 4);
}

TEST(BlocksThatDiffer, MayLieBeforeTheBuffersAddress) {
    const Gathered g = {.displacements = {0, -2, 1}};
    Call c = g.call();
    c.recv_buf = into + 2;
    Result<Checked> checked = check(c, root);
    ASSERT_TRUE(checked.is_ok()) << last_detail();
    EXPECT_EQ(checked->binding.recv, reinterpret_cast<std::byte*>(into));
    EXPECT_EQ(uses_of_buffers(checked->signature, root)->recv.bytes, 6 * 4);
}

// --- Blocks whose sizes only who sends and who gets them know ------------------------------------

const std::vector<std::int64_t> counts = {1, 2, 3};

TEST(BlocksOfPairs, OfARootAreLookedAtThere) {
    Call gathered = call(Collective::gatherv, from, into);
    gathered.recv_blocks.counts = counts.data();
    EXPECT_EQ(refusal(gathered, root), "accepted");
    gathered.count = 5;
    EXPECT_EQ(refusal(gathered, root), "send_count = 5; expected recv_counts[1] = 2");
    gathered.recv_blocks = {};
    EXPECT_EQ(refusal(gathered, root), "recv_counts = null; expected 3 counts");
    gathered.recv_buf = nullptr;
    EXPECT_EQ(refusal(gathered, other), "accepted");
    gathered.count = SIZE_MAX;
    EXPECT_EQ(refusal(gathered, other).find("send_count = 18446744073709551615; expected at most"),
              0u);

    Call scattered = call(Collective::scatterv, from, into);
    scattered.count = 5;
    EXPECT_EQ(refusal(scattered, root), "send_counts = null; expected 3 counts");
    scattered.send_blocks.counts = counts.data();
    EXPECT_EQ(refusal(scattered, root), "recv_count = 5; expected send_counts[1] = 2");
    scattered.count = 2;
    const std::vector<std::int64_t> same = {0, 0, 0};
    scattered.send_blocks.displacements = same.data();
    EXPECT_EQ(refusal(scattered, root), "accepted") << "what is sent may overlap";
    scattered.send_buf = nullptr;
    scattered.send_blocks = {};
    EXPECT_EQ(refusal(scattered, other), "accepted");
}

// Nothing that is not looked at makes two signatures of one.
TEST(BlocksOfPairs, InPlaceHaveNoCountOfTheirOwn) {
    Call c = call(Collective::gatherv, WEFT_IN_PLACE, into);
    c.recv_blocks.counts = counts.data();
    const Signature first = accepted(c, root);
    c.count = SIZE_MAX;
    EXPECT_TRUE(accepted(c, root) == first);
    Call exchanged = call(Collective::alltoallv, WEFT_IN_PLACE, into);
    exchanged.recv_blocks.counts = counts.data();
    EXPECT_TRUE(accepted(exchanged, other).in_place);
    const std::vector<std::int64_t> others = {7, 7, 7};
    exchanged.send_blocks.counts = others.data();
    Result<Checked> checked = check(exchanged, other);
    ASSERT_TRUE(checked.is_ok()) << last_detail();
    EXPECT_TRUE(checked->signature.send.counts.empty());
    EXPECT_EQ(uses_of_buffers(checked->signature, other)->recv.bytes, 6 * 4);
}

TEST(BlocksOfPairs, AreRefusedByTheNamesOfTheirArrays) {
    Call c = call(Collective::alltoallv, from, into);
    EXPECT_EQ(refusal(c, other), "send_counts = null; expected 3 counts");
    c.send_blocks.counts = counts.data();
    EXPECT_EQ(refusal(c, other), "recv_counts = null; expected 3 counts");
    const std::vector<std::int64_t> more = {1, 2, 4};
    c.recv_blocks.counts = more.data();
    EXPECT_EQ(refusal(c, other), "send_counts[2] = 3; expected recv_counts[2] = 4");
    EXPECT_EQ(refusal(c, root), "accepted");
    c.recv_blocks.counts = counts.data();
    EXPECT_EQ(refusal(c, other), "accepted");
    const std::vector<std::int64_t> overlapping = {2, 0, 1};
    c.send_blocks.displacements = overlapping.data();
    EXPECT_EQ(refusal(c, other), "accepted") << "what is sent may overlap";
    c.recv_blocks.displacements = overlapping.data();
    for (const void* send_buf : {static_cast<const void*>(from), WEFT_IN_PLACE}) {
        c.send_buf = send_buf;
        EXPECT_EQ(refusal(c, other),
                  "recv_displs[2] = 1 lies within block 1; expected blocks that do not "
                  "overlap");
    }
}

TEST(BlocksOfTypes, AreCountedInBytes) {
    const weft_type types[] = {WEFT_UINT8, WEFT_FLOAT64, WEFT_INT32};
    const weft_type as_bytes[] = {WEFT_UINT8, WEFT_UINT8, WEFT_UINT8};
    const std::int64_t byte_counts[] = {1, 16, 12};
    const std::int64_t places[] = {20, 0, 24};
    std::byte bytes[2][64];
    Call c = call(Collective::alltoallw, bytes[0], bytes[1]);
    c.type = WEFT_BYTE;
    c.send_blocks = {counts.data(), places, types};
    c.recv_blocks = {counts.data(), nullptr, types};
    Result<Checked> checked = check(c, other);
    ASSERT_TRUE(checked.is_ok()) << last_detail();
    EXPECT_EQ(uses_of_buffers(checked->signature, other)->send.bytes, 36);
    EXPECT_EQ(uses_of_buffers(checked->signature, other)->recv.bytes, 29);
    Signature signature = checked->signature;
    const std::vector<std::int64_t> arrays = copy_arrays(signature);
    c.send_blocks = {byte_counts, places, as_bytes};
    c.recv_blocks = {byte_counts, nullptr, as_bytes};
    EXPECT_TRUE(signature == *outcome(c, other)) << "the same bytes";

    c.send_blocks.types = nullptr;
    EXPECT_EQ(refusal(c, other), "send_types = null; expected 3 types");
    const weft_type wrong[] = {WEFT_UINT8, static_cast<weft_type>(-1), WEFT_INT32};
    c.send_blocks.types = wrong;
    EXPECT_EQ(refusal(c, other), "send_types[1] = -1; expected one of weft_type");
    c.send_blocks.types = types;
    EXPECT_EQ(refusal(c, other), "send_counts[2] = 48 bytes; expected recv_counts[2] = 12 bytes");
}

// --- Among neighbors -------------------------------------------------------------------------------

TEST(BlocksOfNeighbors, NeedATopology) {
    EXPECT_EQ(refusal(call(Collective::neighbor_alltoall, from, into), root),
              "comm has no topology; expected one made by weft_comm_cart or weft_comm_graph, or a "
              "duplicate of it");
}

TEST(BlocksOfNeighbors, AreAsManyAsThereAreNeighbors) {
    const Neighborhood neighbors = {{0, 2, 2}, {2}};
    const CallContext place = {.rank = 1, .ranks = 3, .neighbors = &neighbors};
    Call c = call(Collective::neighbor_alltoall, from, into);
    Result<Checked> checked = check(c, place);
    ASSERT_TRUE(checked.is_ok()) << last_detail();
    EXPECT_EQ(uses_of_buffers(checked->signature, place)->send.bytes, 8);
    EXPECT_EQ(uses_of_buffers(checked->signature, place)->recv.bytes, 24);
    c.collective = Collective::neighbor_alltoallv;
    c.send_blocks.counts = counts.data();
    c.recv_blocks.counts = counts.data();
    checked = check(c, place);
    ASSERT_TRUE(checked.is_ok()) << last_detail();
    EXPECT_EQ(uses_of_buffers(checked->signature, place)->send.bytes, 4);
    EXPECT_EQ(uses_of_buffers(checked->signature, place)->recv.bytes, 24);
    const Neighborhood alone;
    c.send_blocks = c.recv_blocks = {};
    c.send_buf = c.recv_buf = nullptr;
    EXPECT_EQ(refusal(c, {.rank = 1, .ranks = 3, .neighbors = &alone}), "accepted");
}

// The rows of one array: the first and last of this rank's own are sent, those around them received.
TEST(BlocksOfNeighbors, MayLieInOneArray) {
    const Dimension column[] = {{3, true}};
    const Neighborhood neighbors = grid_neighbors(column, 1);
    const CallContext place = {.rank = 1, .ranks = 3, .neighbors = &neighbors};
    Call c = call(Collective::neighbor_alltoallv, into, into);
    const std::int64_t two[] = {2, 2};
    std::int64_t sent[] = {2, 4};
    const std::int64_t received[] = {0, 6};
    c.send_blocks = {two, sent};
    c.recv_blocks = {two, received};
    EXPECT_EQ(refusal(c, place), "accepted");
    sent[1] = 5;
    EXPECT_TRUE(refusal(c, place).find("overlaps recv_buf") != std::string::npos)
        << refusal(c, place);
}

// Nothing is sent to a neighbor beyond the border, whatever the arrays say.
TEST(BlocksOfNeighbors, ThatAreMissingAreNotLookedAt) {
    const Dimension row[] = {{3, false}};
    const Neighborhood neighbors = grid_neighbors(row, 0);
    const CallContext place = {.rank = 0, .ranks = 3, .neighbors = &neighbors};
    Call c = call(Collective::neighbor_alltoallv, from, into);
    const std::int64_t counted[] = {-1, 3};
    const std::int64_t displaced[] = {1'000'000, 1};
    c.send_blocks = c.recv_blocks = {counted, displaced};
    Result<Checked> checked = check(c, place);
    ASSERT_TRUE(checked.is_ok()) << last_detail();
    EXPECT_EQ(checked->binding.recv, reinterpret_cast<std::byte*>(into + 1));
    EXPECT_EQ(uses_of_buffers(checked->signature, place)->recv.bytes, 12);
    // A rank that sends to nobody needs nothing to send.
    const Neighborhood sink = {{1}, {no_rank}};
    c = call(Collective::neighbor_allgather, nullptr, into);
    EXPECT_EQ(refusal(c, {.rank = 0, .ranks = 3, .neighbors = &sink}), "accepted");
}

// A grid's blocks cross: what goes down arrives from above.
TEST(BlocksOfNeighbors, FromARankToItselfHaveOneSize) {
    const Dimension point[] = {{1, true}};
    const Neighborhood neighbors = grid_neighbors(point, 0);
    const CallContext place = {.ranks = 1, .neighbors = &neighbors};
    Call c = call(Collective::neighbor_alltoallv, from, into);
    const std::int64_t sent[] = {1, 2};
    const std::int64_t received[] = {2, 1};
    c.send_blocks.counts = sent;
    c.recv_blocks.counts = received;
    EXPECT_EQ(refusal(c, place), "accepted");
    c.recv_blocks.counts = sent;
    EXPECT_EQ(refusal(c, place),
              "send_counts[0] is 4 bytes; expected 8 as of recv_counts[1], the same block");
    c.collective = Collective::neighbor_allgatherv;
    c.count = 1;
    EXPECT_EQ(refusal(c, place), "send_count = 1; expected recv_counts[1] = 2, the same block");
}

TEST(BlocksOfPairs, HaveSignaturesBySide) {
    const std::vector<std::int64_t> others = {2, 1, 3};
    Call c = call(Collective::alltoallv, from, into);
    c.send_blocks.counts = counts.data();
    c.recv_blocks.counts = others.data();
    Signature signature = *outcome(c, other);
    const std::vector<std::int64_t> arrays = copy_arrays(signature);
    EXPECT_TRUE(signature == *outcome(c, other));
    std::swap(c.send_blocks, c.recv_blocks);
    EXPECT_FALSE(signature == *outcome(c, other));
}

void first_operand(const void* in, void* inout, size_t count, weft_type, void*) {
    const auto* left = static_cast<const std::int32_t*>(in);
    auto* right = static_cast<std::int32_t*>(inout);
    for (size_t i = 0; i < count; ++i) right[i] = left[i];
}

TEST(Call, WhetherTheOperationCommutesBelongsToTheSignature) {
    Call c = call(Collective::reduce, from, into);
    const Signature sum = accepted(c, root);
    EXPECT_TRUE(sum.commutative);
    ASSERT_EQ(weft_op_create(first_operand, 0, nullptr, &c.op), WEFT_OK);
    Signature ordered = accepted(c, root);
    EXPECT_FALSE(ordered.commutative);
    EXPECT_FALSE(ordered == sum);
    ordered.commutative = true;
    EXPECT_TRUE(ordered == sum);
    EXPECT_EQ(weft_op_free(&c.op), WEFT_OK);
}

TEST(Call, WhetherAnOperationScalesBelongsToTheSignature) {
    Call c = call(Collective::allreduce, from, into);
    c.count = 1;
    c.type = WEFT_FLOAT32;
    const Signature sum = accepted(c, root);
    c.op = WEFT_AVG;
    const Signature average = accepted(c, root);
    ASSERT_EQ(weft_op_create_premul_sum(2, &c.op), WEFT_OK);
    const Signature premultiplied = accepted(c, root);
    EXPECT_EQ(weft_op_free(&c.op), WEFT_OK);
    EXPECT_FALSE(average == sum || premultiplied == sum || average == premultiplied);
    EXPECT_NE(hash_of(average), hash_of(sum));
    EXPECT_NE(hash_of(average), hash_of(premultiplied));

    // One more operation, behind all others, or in front of them.
    const Selector selector;
    const Schedule of_sum = *build_schedule(sum, root, selector, false);
    const Schedule of_average = *build_schedule(average, root, selector, false);
    const Schedule of_premultiplied = *build_schedule(premultiplied, root, selector, false);
    const auto scales = [](const Op& op) { return op.kind == OpKind::scale; };
    EXPECT_EQ(std::ranges::count_if(of_sum.ops(), scales), 0);
    EXPECT_EQ(std::ranges::count_if(of_average.ops(), scales), 1);
    EXPECT_TRUE(scales(of_average.ops().back()));
    EXPECT_EQ(of_average.ops().back().into(), (Region{Buffer::recv, 0, 4}));
    EXPECT_EQ(std::ranges::count_if(of_premultiplied.ops(), scales), 1);
    EXPECT_TRUE(scales(of_premultiplied.ops().front()));
    EXPECT_EQ(of_premultiplied.ops().front().from(), (Region{Buffer::given_send, 0, 4}));
}

// Whatever the order, integers give the same bits.
TEST(Call, OnlyInexactReductionsAreReproducible) {
    CallContext reproducing = root;
    reproducing.reproducible = true;
    Call c = call(Collective::allreduce, from, into);
    for (const weft_op op : {WEFT_SUM, WEFT_PROD, WEFT_MIN, WEFT_LAND, WEFT_BXOR}) {
        c.op = op;
        EXPECT_FALSE(accepted(c, reproducing).reproducible);
    }
    c.count = 1;
    for (const auto& [op, type] : {std::pair{WEFT_SUM, WEFT_FLOAT64},
                                   {WEFT_MIN, WEFT_FLOAT32},
                                   {WEFT_MINLOC, WEFT_INT32_INT32}}) {
        c.op = op;
        c.type = type;
        EXPECT_TRUE(accepted(c, reproducing).reproducible);
        EXPECT_FALSE(accepted(c, root).reproducible);
    }
    c.type = WEFT_INT32;
    ASSERT_EQ(weft_op_create(first_operand, 1, nullptr, &c.op), WEFT_OK);
    EXPECT_TRUE(accepted(c, reproducing).reproducible);
    EXPECT_EQ(weft_op_free(&c.op), WEFT_OK);
    EXPECT_FALSE(accepted(call(Collective::allgather, from, into), reproducing).reproducible);
}

TEST(Call, AForcedAlgorithmThatIsNotForTheOperationIsRefused) {
    Selector selector;
    ASSERT_TRUE(selector.force(Collective::allreduce, "ring").is_ok());
    Signature signature = accepted(call(Collective::allreduce, from, into), root);
    EXPECT_TRUE(build_schedule(signature, root, selector, false).is_ok());
    signature.commutative = false;
    EXPECT_EQ(build_schedule(signature, root, selector, false).status().code, WEFT_REFUSED_SETTING);
    EXPECT_STREQ(last_detail(),
                 "WEFT_ALGORITHM=allreduce=ring needs an operation that commutes; this call's "
                 "does not");
    EXPECT_TRUE(build_schedule(signature, root, Selector(), false).is_ok());
}

}  // namespace weft::call_test
