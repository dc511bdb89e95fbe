#include "communicator/call/collectives.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "communicator/call/agreement.h"
#include "weft/collective.h"

namespace weft {
namespace {

using algorithm::Family;
using algorithm::InPlace;
using algorithm::Problem;

Status check_buffer(const char* name, const void* buffer, std::int64_t bytes) {
    if (bytes == 0 || (buffer && buffer != WEFT_IN_PLACE)) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s = %s; expected a buffer of %lld bytes", name,
                   buffer ? "WEFT_IN_PLACE" : "null", static_cast<long long>(bytes));
}

Status check_overlap(const void* send_buf, std::int64_t send_bytes, const void* recv_buf,
                     std::int64_t recv_bytes) {
    auto send = reinterpret_cast<std::uintptr_t>(send_buf);
    auto recv = reinterpret_cast<std::uintptr_t>(recv_buf);
    if (send_bytes == 0 || recv_bytes == 0) return ok;
    if (send >= recv + static_cast<std::uintptr_t>(recv_bytes) ||
        recv >= send + static_cast<std::uintptr_t>(send_bytes)) {
        return ok;
    }
    return failure(
        WEFT_REFUSED_ARGUMENT,
        "send_buf = %p (%lld bytes) overlaps recv_buf = %p (%lld bytes); expected separate "
        "buffers or WEFT_IN_PLACE",
        send_buf, static_cast<long long>(send_bytes), recv_buf, static_cast<long long>(recv_bytes));
}

// More than a process can address. Schedules compute small multiples of it: scratch for a block of
// every child in a tree, rounded up.
constexpr std::int64_t bytes_max = std::numeric_limits<std::int64_t>::max() / 64;

// count * size of type, if `blocks` times as much can still be addressed.
Result<std::int64_t> block_bytes(const Call& call, Rank blocks) {
    std::size_t element = type_bytes(call.type);
    if (element == 0) {
        return failure(WEFT_REFUSED_ARGUMENT, "type = %d; expected one of weft_type",
                       static_cast<int>(call.type));
    }
    auto most = static_cast<std::size_t>(bytes_max) / element / static_cast<std::size_t>(blocks);
    const bool is_looked_at = call.counts == nullptr;  // otherwise check_blocks() checks the counts
    if (is_looked_at && call.count > most) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "count = %zu; expected at most %zu for %s on %d ranks", call.count, most,
                       type_name(call.type), blocks);
    }
    return static_cast<std::int64_t>(call.count * element);
}

bool is_in_place(const Family& family, const Call& call, CallingRank place) {
    const void* spared = family.in_place == InPlace::recv_at_root ? call.recv_buf : call.send_buf;
    return spared == WEFT_IN_PLACE && family.is_in_place_on(place.rank == call.root);
}

// A problem and the arrays it refers to.
struct Posed {
    Problem problem;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;
};

// The least displacement of a block that is not empty.
std::int64_t least_displacement(const SignatureView& signature) {
    std::optional<std::int64_t> least;
    for (std::size_t i = 0; i < signature.displacements.size(); ++i) {
        const std::int64_t begin = signature.displacements[i];
        if (signature.counts[i] > 0 && begin < least.value_or(begin + 1)) least = begin;
    }
    return least.value_or(0);
}

Posed pose(const SignatureView& signature, CallingRank place) {
    const FixedSignature& s = signature.fixed;
    Posed posed;
    const std::int64_t least = least_displacement(signature);
    std::int64_t packed = 0;
    for (std::size_t i = 0; i < signature.counts.size(); ++i) {
        posed.sizes.push_back(signature.counts[i] * s.unit_bytes);
        posed.offsets.push_back(packed);
        packed += posed.sizes.back();
        if (signature.displacements.empty()) continue;
        const std::int64_t elements = signature.displacements[i] - least;
        posed.offsets.back() = signature.counts[i] > 0 ? elements * s.unit_bytes : 0;
    }
    const algorithm::Agreed agreed = {.collective = s.collective,
                                      .ranks = place.ranks,
                                      .root = s.root,
                                      .bytes = s.bytes,
                                      .sizes = posed.sizes,
                                      .element_bytes = s.element_bytes,
                                      .commutative = s.commutative,
                                      .combines = s.combines,
                                      .topology = place.topology};
    posed.problem =
        algorithm::family_of(s.collective).problem(agreed, place.rank, s.in_place, posed.offsets);
    return posed;
}

// Checks the counts and displacements of a call whose blocks differ.
Status check_blocks(const Call& call, CallingRank place, SignatureView& signature) {
    if (!call.counts)
        return failure(WEFT_REFUSED_ARGUMENT,
                       "recv_counts = null; expected a count for every rank");
    const auto ranks = static_cast<std::size_t>(place.ranks);
    const auto own = static_cast<std::size_t>(place.rank);
    signature.fixed.unit_bytes = static_cast<std::int64_t>(type_bytes(call.type));
    const std::int64_t most = bytes_max / signature.fixed.unit_bytes;
    signature.counts = {call.counts, ranks};
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
        // The caller's counts are of type size_t.
        if (call.counts[i] < 0 || call.counts[i] > most - sum) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "recv_counts[%zu] = %zu; expected at most %lld elements of %s in all", i,
                           static_cast<std::size_t>(call.counts[i]), static_cast<long long>(most),
                           type_name(call.type));
        }
        sum += call.counts[i];
    }
    signature.fixed.bytes = sum * signature.fixed.unit_bytes / place.ranks;
    if (!signature.fixed.in_place && static_cast<std::int64_t>(call.count) != call.counts[own]) {
        return failure(WEFT_REFUSED_ARGUMENT, "send_count = %zu; expected recv_counts[%zu] = %lld",
                       call.count, own, static_cast<long long>(call.counts[own]));
    }
    if (!call.displacements) return ok;
    signature.displacements = {call.displacements, ranks};
    for (std::size_t i = 0; i < ranks; ++i) {
        if (call.displacements[i] >= -most && call.displacements[i] <= most) continue;
        return failure(WEFT_REFUSED_ARGUMENT, "displs[%zu] = %lld; expected at most %lld", i,
                       static_cast<long long>(call.displacements[i]), static_cast<long long>(most));
    }
    return ok;
}

}  // namespace

const char* collective_name(Collective collective) { return algorithm::family_of(collective).name; }

Status check_buffers(const void* send_buf, std::int64_t send_bytes, const void* recv_buf,
                     std::int64_t recv_bytes, const char* recv_name) {
    WEFT_RETURN_IF_NOT_OK(check_buffer(recv_name, recv_buf, recv_bytes));
    WEFT_RETURN_IF_NOT_OK(check_buffer("send_buf", send_buf, send_bytes));
    return check_overlap(send_buf, send_bytes, recv_buf, recv_bytes);
}

Result<Checked> check(const Call& call, CallingRank place) {
    const Family& family = algorithm::family_of(call.collective);
    Result<std::int64_t> bytes =
        block_bytes(call, family.has_block_of_every_rank() ? place.ranks : 1);
    if (!bytes.is_ok()) return bytes.status();
    if (family.has_root && (call.root < 0 || call.root >= place.ranks)) {
        return failure(WEFT_REFUSED_ARGUMENT, "root = %d; expected 0..%d", call.root,
                       place.ranks - 1);
    }
    Checked checked;
    FixedSignature& signature = checked.signature.fixed;
    signature.collective = call.collective;
    signature.of_library = call.of_library;
    signature.root = family.has_root ? call.root : 0;
    signature.bytes = *bytes;
    if (family.reduces) {
        Result<Reduction> reduction = bind_reduction(call.op, call.type);
        if (!reduction.is_ok()) return reduction.status();
        checked.binding.reduction = *reduction;
        signature.commutative = reduction->commutative;
        signature.combines = place.combines && reduction->kernel != nullptr;
        // Data that is not reduced may have different types on different ranks.
        signature.element_bytes = static_cast<std::int64_t>(type_bytes(call.type));
    }
    signature.in_place = is_in_place(family, call, place);

    checked.binding.send = static_cast<const std::byte*>(call.send_buf);
    checked.binding.recv = static_cast<std::byte*>(call.recv_buf);
    if (!family.blocks_differ) return checked;
    WEFT_RETURN_IF_NOT_OK(check_blocks(call, place, checked.signature));
    if (call.recv_buf && call.recv_buf != WEFT_IN_PLACE)
        checked.binding.recv += least_displacement(checked.signature) * signature.unit_bytes;
    return checked;
}

Result<BufferBytes> bytes_of_buffers(const SignatureView& signature, CallingRank place) {
    const Posed posed = pose(signature, place);
    // The caller chose the displacements: no two blocks may share a byte.
    std::vector<std::size_t> order(signature.displacements.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return posed.sizes[i] == 0; });
    std::ranges::sort(order, {}, [&](std::size_t i) { return posed.offsets[i]; });
    for (std::size_t k = 1; k < order.size(); ++k) {
        const std::size_t before = order[k - 1];
        const std::size_t behind = order[k];
        if (posed.offsets[before] + posed.sizes[before] <= posed.offsets[behind]) continue;
        return failure(WEFT_REFUSED_ARGUMENT,
                       "displs[%zu] = %lld lies within the block of rank %zu; expected blocks that "
                       "do not overlap",
                       behind, static_cast<long long>(signature.displacements[behind]), before);
    }
    return BufferBytes{posed.problem.send_bytes(), posed.problem.recv_bytes()};
}

Status check_buffers(const Checked& call, BufferBytes bytes) {
    const bool one_buffer = algorithm::family_of(call.signature.fixed.collective).in_place ==
                            InPlace::root_has_one_buffer;
    return check_buffers(call.binding.send, bytes.send, call.binding.recv, bytes.recv,
                         one_buffer ? "buf" : "recv_buf");
}

Result<Schedule> build_schedule(const SignatureView& signature, CallingRank place,
                                const Selector& selector, bool is_checked) {
    Posed posed = pose(signature, place);
    Problem& problem = posed.problem;
    static const Selector nothing_forced;
    const Selector& chooser = signature.fixed.of_library ? nothing_forced : selector;
    Result<Choice> choice = chooser.choose(problem.agreed);
    if (!choice.is_ok()) return choice.status();
    problem.agreed.tuning = choice->tuning;
    ScheduleBuilder builder(place.rank, place.ranks);
    if (is_checked) Agreement::add_to(builder, place);
    WEFT_RETURN_IF_NOT_OK(choice->algorithm->build(problem, builder));
    return builder.seal();
}

}  // namespace weft
