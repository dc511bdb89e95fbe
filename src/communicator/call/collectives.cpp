#include "communicator/call/collectives.h"

#include <algorithm>
#include <optional>

#include "communicator/call/agreement.h"
#include "communicator/call/blocks.h"
#include "transport/transport.h"
#include "weft/collective.h"

namespace weft {
namespace {

using algorithm::Blocks;
using algorithm::CollectiveSpec;
using algorithm::InPlace;
using algorithm::Problem;
using algorithm::Sizes;

bool has_buffer(const void* buffer, std::int64_t bytes) {
    return bytes == 0 || (buffer && buffer != WEFT_IN_PLACE);
}

Status refuse_buffer(const char* name, const void* buffer, std::int64_t bytes) {
    return failure(WEFT_REFUSED_ARGUMENT, "%s = %s; expected a buffer of %lld bytes", name,
                   buffer ? "WEFT_IN_PLACE" : "null", static_cast<long long>(bytes));
}

Status check_memory_of(const char* name, const void* buffer, const BufferUse& use,
                       DeviceMemory device_memory) {
    if (use.bytes == 0) return ok;
    const auto* const first =
        static_cast<const std::byte*>(buffer) + (use.ranges.empty() ? 0 : use.ranges.front().begin);
    const char* const device = device_memory(first);
    if (device == nullptr) return ok;
    return failure(WEFT_REFUSED_UNSUPPORTED, "%s = %p is memory of %s; expected memory of the host",
                   name, buffer, device);
}

// How many blocks of this rank's block size any rank's buffer may have; among neighbors, only this
// rank's buffers.
std::size_t blocks_max(const CollectiveSpec& spec, const CallContext& place) {
    if (spec.sizes == Sizes::uniform && spec.has_block_of_every_rank())
        return static_cast<std::size_t>(place.ranks);
    if (spec.sizes != Sizes::uniform_per_rank) return 1;
    return std::max(
        {std::size_t{1}, place.neighbors->sources.size(), place.neighbors->destinations.size()});
}

const char* name_of_count(const CollectiveSpec& spec, bool is_root) {
    if (!spec.lists_blocks()) return "count";
    return spec.send_blocks(is_root) == Blocks::one ? "send_count" : "recv_count";
}

bool is_in_place(const CollectiveSpec& spec, const weft_call& call, const CallContext& place) {
    const weft_side& side = spec.in_place == InPlace::recv_at_root ? call.recv : call.send;
    return side.data == WEFT_IN_PLACE && spec.is_in_place_on(place.rank == call.root);
}

// Otherwise the arrays say how large blocks are.
bool looks_at_count(const CollectiveSpec& spec, bool is_root, bool is_in_place) {
    if (spec.sizes != Sizes::rank_local) return !spec.lists_blocks();
    const bool has_one =
        spec.send_blocks(is_root) == Blocks::one || spec.recv_blocks(is_root) == Blocks::one;
    return has_one && !is_in_place;
}

Status check_average(const CollectiveSpec& spec) {
    if (!spec.is_prefix) return ok;
    return failure(WEFT_REFUSED_ARGUMENT,
                   "op = avg is not defined for %s, whose results are of different numbers of "
                   "ranks; expected sum",
                   spec.name);
}

// Whether the communicator has a wire format, which serves such calls and takes fewer bytes.
bool is_encoded(const CollectiveSpec& spec, weft_type type, std::int64_t bytes,
                const CallContext& place) {
    if (place.wire == WireFormat::exact) [[likely]]
        return false;
    const bool is_served = spec.collective == Collective::allreduce ||
                           spec.collective == Collective::allgather ||
                           spec.collective == Collective::alltoall;
    const auto count = bytes / static_cast<std::int64_t>(sizeof(float));
    return is_served && type == WEFT_FLOAT32 && place.ranks > 1 &&
           wire_block(place.wire).bytes_of(count) < bytes;
}

// A problem and the arrays it refers to.
struct BoundProblem {
    NormalizedBlocks send;
    NormalizedBlocks recv;
    Problem problem;

    BoundProblem(const Signature& signature, const CallContext& place);
    BoundProblem(const BoundProblem&) = delete;
    BoundProblem& operator=(const BoundProblem&) = delete;
};

BoundProblem::BoundProblem(const Signature& s, const CallContext& place)
    : send(s.send, s.unit_bytes), recv(s.recv, s.unit_bytes) {
    const CollectiveSpec& spec = algorithm::spec_of(s.collective);
    algorithm::GlobalArgs agreed = {.collective = s.collective,
                                    .ranks = place.ranks,
                                    .root = s.root,
                                    .bytes = spec.agrees_on_sizes() ? s.bytes : -1,
                                    .element_bytes = s.element_bytes,
                                    .commutative = s.commutative && !s.reproducible,
                                    .reproducible = s.reproducible,
                                    .combines = s.combines,
                                    .topology = place.topology,
                                    .torus = place.torus};
    if (spec.sizes == Sizes::known_to_all)
        agreed.sizes = send.sizes.empty() ? recv.sizes : send.sizes;
    problem = spec.problem(agreed, place.rank, s.in_place,
                           {send.list(), recv.list(), s.bytes, place.neighbors});
}

// A region of the caller's buffers, while others stand in for them.
Region given(Region region) {
    if (region.buffer == Buffer::send) region.buffer = Buffer::given_send;
    if (region.buffer == Buffer::recv) region.buffer = Buffer::given_recv;
    return region;
}

// Before the algorithm, which then takes them from where they have been scaled: in place only if
// the result takes their place anyway.
void scale_operands(Problem& problem, ScheduleBuilder& builder) {
    Region operands = problem.send.all();
    if (operands.bytes == 0) return;
    Region scaled = operands;
    if (operands != problem.recv.all()) {
        const std::int64_t end = operands.offset + operands.bytes;
        scaled = builder.stand_in(Buffer::send, end).part(operands.offset, operands.bytes);
        if (!problem.in_place) operands = given(operands);
        problem.send.buffer = Buffer::send;
        problem.in_place = false;
    }
    builder.scale(operands, scaled);
    builder.fence();
}

// The call with all sizes those of float32.
Signature widened(Signature signature) {
    signature.bytes *= 2;
    signature.element_bytes *= 2;
    signature.unit_bytes *= 2;
    signature.in_place = false;
    return signature;
}

// Before the algorithm, which then combines float32 in buffers that stand in for the caller's.
// Returns where the result will be.
Region widen_operands(const Problem& call, const Problem& wide, ScheduleBuilder& builder) {
    const Region operands = builder.stand_in(Buffer::send, wide.send_bytes());
    const Region results = builder.stand_in(Buffer::recv, wide.recv_bytes());
    const Region from = call.send.all();
    if (from.bytes > 0) {
        const Region into = wide.send.all();
        builder.widen(given(from), operands.part(into.offset, into.bytes));
        builder.fence();
    }
    const Region result = wide.recv.all();
    return results.part(result.offset, result.bytes);
}

void narrow_result(const Problem& call, Region wide_result, ScheduleBuilder& builder) {
    if (wide_result.bytes == 0) return;
    builder.fence();
    builder.narrow(wide_result, given(call.recv.all()));
}

// The call with blocks of its wire format. Operands are encoded where the result will be, except
// those of an alltoall, whose algorithms are slower in place.
Signature encoded_call(Signature signature) {
    const WireBlock block = wire_block(signature.wire);
    const bool reduces = algorithm::spec_of(signature.collective).reduces;
    signature.bytes = block.bytes_of(signature.bytes / static_cast<std::int64_t>(sizeof(float)));
    signature.element_bytes = reduces ? block.bytes : 1;
    signature.in_place = signature.collective != Collective::alltoall;
    return signature;
}

// Encodes operands, and decodes results, in pieces, each when its data is there. So conversions
// overlap with messages.
class WireConversions {
  public:
    WireConversions(const Problem& call, const Problem& wire, WireFormat format,
                    ScheduleBuilder& builder)
        : call_(call), wire_(wire), block_(wire_block(format)), builder_(builder) {}

    // Before the algorithm.
    void encode_operands() {
        if (wire_.send_bytes() > 0)
            send_ = builder_.stand_in(Buffer::send, wire_.send_bytes()).offset;
        recv_ = builder_.stand_in(Buffer::recv, wire_.recv_bytes()).offset;
        for_each_piece(call_.send, wire_.send, [&](Region exact, Region encoded) {
            operands_.push_back(encoded);
            encoded_.push_back(builder_.encode(given(exact), in_scratch(encoded)));
        });
        all_encoded_ = builder_.join(encoded_);
    }
    // Behind it.
    void decode_results() {
        for (std::size_t i = 0; i < encoded_.size(); ++i)
            builder_.order_users(encoded_[i], operands_[i], all_encoded_ + 1);
        for_each_piece(call_.recv, wire_.recv, [&](Region exact, Region encoded) {
            // (In place, a result may take the place of an operand that is not encoded yet.)
            const OpId there = builder_.written(encoded);
            builder_.decode(in_scratch(encoded), given(exact), {there, all_encoded_});
        });
    }

  private:
    // At most so many in all, unless there are more blocks that are not contiguous.
    static constexpr std::int64_t pieces_max = 16;
    static constexpr std::int64_t piece_bytes_min = 256 * 1024;

    // f(region of float32, region encoded)
    template <class F>
    void for_each_piece(const algorithm::Layout& exact, const algorithm::Layout& encoded, F f) {
        const std::int64_t unit = block_.elements * static_cast<std::int64_t>(sizeof(float));
        const auto cut = [&](Region from, Region into) {
            const std::int64_t even = (from.bytes + pieces_max - 1) / pieces_max;
            const std::int64_t units = (std::max(even, piece_bytes_min) + unit - 1) / unit;
            for (std::int64_t done = 0; done < from.bytes; done += units * unit) {
                const std::int64_t bytes = std::min(units * unit, from.bytes - done);
                const std::int64_t before = done / unit * block_.bytes;
                const std::int64_t length = block_.bytes_of(bytes / 4);
                f(from.part(done, bytes), into.part(before, length));
            }
        };
        if (exact.bytes % unit == 0) return cut(exact.all(), encoded.all());
        for (Rank i = 0; i < exact.count; ++i) cut(exact.block(i), encoded.block(i));
    }

    Region in_scratch(Region region) const {
        const std::int64_t begin = region.buffer == Buffer::send ? send_ : recv_;
        return {Buffer::scratch, begin + region.offset, region.bytes};
    }

    const Problem& call_;
    const Problem& wire_;
    WireBlock block_;
    ScheduleBuilder& builder_;
    std::int64_t send_ = 0;  // where in scratch the stand-ins begin
    std::int64_t recv_ = 0;
    std::vector<Region> operands_;  // encoded, as algorithms name them
    std::vector<OpId> encoded_;     // by whom
    OpId all_encoded_ = no_op;
};

void scale_result(const Problem& problem, ScheduleBuilder& builder) {
    const Region result = problem.recv.all();
    if (result.bytes == 0) return;
    builder.fence();
    builder.scale(result, result);
}

}  // namespace

const char* collective_name(Collective collective) { return algorithm::spec_of(collective).name; }

Result<std::int64_t> block_bytes(std::size_t count, weft_type type, std::size_t blocks,
                                 const char* name) {
    const std::size_t element = type_bytes(type);
    const auto bytes_max = static_cast<std::size_t>(call_bytes_max);
    std::size_t bytes;
    std::size_t all;
    // (Divides only if it refuses: divisions are slow.)
    if (__builtin_mul_overflow(count, element, &bytes) ||
        __builtin_mul_overflow(bytes, blocks, &all) || all > bytes_max) {
        return failure(WEFT_REFUSED_ARGUMENT, "%s = %zu; expected at most %zu for %zu blocks of %s",
                       name, count, bytes_max / element / blocks, blocks, type_name(type).c_str());
    }
    return static_cast<std::int64_t>(bytes);
}

Status check_buffers(const void* send_buf, const BufferUse& send, const void* recv_buf,
                     const BufferUse& recv, const char* recv_name) {
    if (!has_buffer(recv_buf, recv.bytes)) return refuse_buffer(recv_name, recv_buf, recv.bytes);
    if (!has_buffer(send_buf, send.bytes)) return refuse_buffer("send_buf", send_buf, send.bytes);
    if (!have_common_bytes(send_buf, send, recv_buf, recv)) return ok;
    return failure(
        WEFT_REFUSED_ARGUMENT,
        "send_buf = %p (%lld bytes) overlaps recv_buf = %p (%lld bytes); expected separate "
        "buffers or WEFT_IN_PLACE",
        send_buf, static_cast<long long>(send.bytes), recv_buf, static_cast<long long>(recv.bytes));
}

Status check_memory(const void* send_buf, const BufferUse& send, const void* recv_buf,
                    const BufferUse& recv, const char* recv_name, DeviceMemory device_memory) {
    WEFT_RETURN_IF_NOT_OK(check_memory_of(recv_name, recv_buf, recv, device_memory));
    return check_memory_of("send_buf", send_buf, send, device_memory);
}

// What a rank sends and what it receives are the same blocks, or, if sizes differ, have the same
// type.
Status check_both_sides(const CollectiveSpec& spec, const weft_call& call) {
    const std::size_t sent = type_bytes(call.send.type);
    const std::size_t received = type_bytes(call.recv.type);
    if (spec.reduces ? call.send.type != call.recv.type : sent != received) {
        return failure(WEFT_REFUSED_ARGUMENT, "send.type = %s; expected recv.type = %s",
                       type_name(call.send.type).c_str(), type_name(call.recv.type).c_str());
    }
    if (spec.lists_blocks() || call.send.count == call.recv.count) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "send.count = %zu; expected recv.count = %zu",
                   call.send.count, call.recv.count);
}

Status check(const weft_call& call, const CallContext& place, ByteCounts& byte_counts,
             Signature& signature, Binding& binding) {
    const CollectiveSpec& spec = algorithm::spec_of(collective_of(call));
    if (spec.has_root && (call.root < 0 || call.root >= place.ranks)) {
        return failure(WEFT_REFUSED_ARGUMENT, "root = %d; expected 0..%d", call.root,
                       place.ranks - 1);
    }
    if (spec.is_among_neighbors() && !place.neighbors) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "comm has no topology; expected one made by weft_comm_cart or "
                       "weft_comm_graph, or a duplicate of it");
    }
    const bool is_root = place.rank == call.root;
    signature.collective = spec.collective;
    signature.root = spec.has_root ? call.root : 0;
    signature.in_place = is_in_place(spec, call, place);
    const UsedSides used(spec, is_root, signature.in_place);
    const weft_type type = spec.has_types ? WEFT_BYTE : used.own(call).type;
    if (type_bytes(type) == 0) {
        return failure(WEFT_REFUSED_ARGUMENT, "type = %d; expected one of weft_type",
                       static_cast<int>(type));
    }
    if (used.send && used.recv && !spec.has_types &&
        (call.send.type != call.recv.type || call.send.count != call.recv.count)) [[unlikely]] {
        WEFT_RETURN_IF_NOT_OK(check_both_sides(spec, call));
    }
    if (looks_at_count(spec, is_root, signature.in_place)) {
        const bool sends_one = spec.send_blocks(is_root) == Blocks::one;
        const weft_side& one = !spec.lists_blocks() ? used.own(call)
                               : sends_one          ? call.send
                                                    : call.recv;
        Result<std::int64_t> bytes =
            block_bytes(one.count, type, blocks_max(spec, place), name_of_count(spec, is_root));
        if (!bytes.is_ok()) return bytes.status();
        signature.bytes = *bytes;
    }
    if (spec.reduces) {
        Result<Reduction> reduction = bind_reduction(call.op, type);
        if (!reduction.is_ok()) return reduction.status();
        if (place.accumulates) [[unlikely]] {
            reduction->accumulate_in_float32();
            signature.accumulates = reduction->accumulates();
        }
        if (is_encoded(spec, type, signature.bytes, place) && reduction->can_travel_as(place.wire))
            [[unlikely]] {
            reduction->encode_as(place.wire, place.wire_error);
            signature.wire = place.wire;
        }
        binding.reduction = *reduction;
        signature.scale = reduction->scale;
        if (signature.scale == Scale::divide) [[unlikely]] {
            WEFT_RETURN_IF_NOT_OK(check_average(spec));
            binding.reduction.factor = place.ranks;
        }
        signature.commutative = reduction->commutative;
        signature.combines = place.combines && reduction->kernel != nullptr &&
                             reduction->element_bytes <= Combination::element_bytes_max;
        signature.reproducible = place.reproducible && !reduction->exact;
        // Data that is not reduced may have different types on different ranks.
        signature.element_bytes = static_cast<std::int64_t>(type_bytes(type));
    } else if (is_encoded(spec, type, signature.bytes, place)) [[unlikely]] {
        binding.reduction.rounding = rounding_now();
        binding.reduction.encode_as(place.wire, place.wire_error);
        signature.wire = place.wire;
    }

    binding.send = static_cast<const std::byte*>(call.send.data);
    binding.recv = static_cast<std::byte*>(call.recv.data);
    if (!spec.lists_blocks()) return ok;
    WEFT_RETURN_IF_NOT_OK(check_blocks(call, place, type, byte_counts, signature));
    if (call.send.data && call.send.data != WEFT_IN_PLACE)
        binding.send += least_displacement(signature.send) * signature.unit_bytes;
    if (call.recv.data && call.recv.data != WEFT_IN_PLACE)
        binding.recv += least_displacement(signature.recv) * signature.unit_bytes;
    return ok;
}

Result<BufferUses> uses_of_buffers(const Signature& signature, const CallContext& place) {
    const BoundProblem bound(signature, place);
    WEFT_RETURN_IF_NOT_OK(check_apart(bound.recv, signature));
    const bool one_buffer =
        algorithm::spec_of(signature.collective).in_place == InPlace::root_has_one_buffer;
    return BufferUses{{bound.problem.send_bytes(), used_ranges(bound.send)},
                      {bound.problem.recv_bytes(), used_ranges(bound.recv)},
                      one_buffer ? "buf" : "recv_buf"};
}

Status check_buffers(const Binding& binding, const BufferUses& uses) {
    return check_buffers(binding.send, uses.send, binding.recv, uses.recv, uses.recv_name);
}

Status check_memory(const Binding& binding, const BufferUses& uses, DeviceMemory device_memory) {
    return check_memory(binding.send, uses.send, binding.recv, uses.recv, uses.recv_name,
                        device_memory);
}

Result<Schedule> build_schedule(const Signature& signature, const CallContext& place,
                                const Selector& selector, bool is_checked) {
    const BoundProblem call(signature, place);
    // The algorithm's, where it is not the call itself.
    std::optional<BoundProblem> other;
    const bool travels_encoded = signature.wire != WireFormat::exact;
    if (signature.accumulates) other.emplace(widened(signature), place);
    if (travels_encoded) other.emplace(encoded_call(signature), place);
    Problem problem = other ? other->problem : call.problem;
    Region wide_result;
    std::optional<WireConversions> conversions;
    static const Selector nothing_forced;
    const Selector& chooser = signature.of_library ? nothing_forced : selector;
    Result<Choice> choice = chooser.choose(problem.agreed);
    if (!choice.is_ok()) return choice.status();
    problem.agreed.tuning = choice->tuning;
    ScheduleBuilder builder(place.rank, place.ranks);
    if (is_checked) Agreement::add_to(builder, place);
    if (travels_encoded)
        conversions.emplace(call.problem, problem, signature.wire, builder).encode_operands();
    else if (other)
        wide_result = widen_operands(call.problem, problem, builder);
    else if (signature.scale == Scale::multiply)
        scale_operands(problem, builder);
    choice->algorithm->build(problem, builder);
    if (travels_encoded)
        conversions->decode_results();
    else if (other)
        narrow_result(call.problem, wide_result, builder);
    else if (signature.scale == Scale::divide)
        scale_result(problem, builder);
    return builder.seal();
}

}  // namespace weft
