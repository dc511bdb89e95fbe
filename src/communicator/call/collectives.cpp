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

using algorithm::Blocks;
using algorithm::Family;
using algorithm::InPlace;
using algorithm::Problem;
using algorithm::Sizes;

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
Result<std::int64_t> block_bytes(const Call& call, Rank blocks, const char* name) {
    const std::size_t element = type_bytes(call.type);
    auto most = static_cast<std::size_t>(bytes_max) / element / static_cast<std::size_t>(blocks);
    if (call.count > most) {
        return failure(WEFT_REFUSED_ARGUMENT, "%s = %zu; expected at most %zu for %s on %d ranks",
                       name, call.count, most, type_name(call.type), blocks);
    }
    return static_cast<std::int64_t>(call.count * element);
}

const char* name_of_count(const Family& family, bool is_root) {
    if (family.sizes == Sizes::alike) return "count";
    return family.send_blocks(is_root) == Blocks::one ? "send_count" : "recv_count";
}

bool is_in_place(const Family& family, const Call& call, CallingRank place) {
    const void* spared = family.in_place == InPlace::recv_at_root ? call.recv_buf : call.send_buf;
    return spared == WEFT_IN_PLACE && family.is_in_place_on(place.rank == call.root);
}

// Otherwise the arrays say how large blocks are.
bool looks_at_count(const Family& family, bool is_root, bool is_in_place) {
    if (family.sizes != Sizes::local) return family.sizes == Sizes::alike;
    const bool has_one =
        family.send_blocks(is_root) == Blocks::one || family.recv_blocks(is_root) == Blocks::one;
    return has_one && !is_in_place;
}

// In bytes, and where the least displacement is offset 0.
struct PosedList {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;

    PosedList(const BlockSpans& blocks, std::int64_t unit_bytes);
    algorithm::BlockList list() const { return {sizes, offsets}; }
};

// A problem and the arrays it refers to.
struct Posed {
    PosedList send;
    PosedList recv;
    Problem problem;

    Posed(const SignatureView& signature, CallingRank place);
    Posed(const Posed&) = delete;
    Posed& operator=(const Posed&) = delete;
};

// The least displacement of a block that is not empty.
std::int64_t least_displacement(const BlockSpans& blocks) {
    std::optional<std::int64_t> least;
    for (std::size_t i = 0; i < blocks.displacements.size(); ++i) {
        const std::int64_t begin = blocks.displacements[i];
        if (blocks.counts[i] > 0 && begin < least.value_or(begin + 1)) least = begin;
    }
    return least.value_or(0);
}

PosedList::PosedList(const BlockSpans& blocks, std::int64_t unit_bytes) {
    const std::int64_t least = least_displacement(blocks);
    std::int64_t packed = 0;
    for (std::size_t i = 0; i < blocks.counts.size(); ++i) {
        sizes.push_back(blocks.counts[i] * unit_bytes);
        offsets.push_back(packed);
        packed += sizes.back();
        if (blocks.displacements.empty()) continue;
        // An empty block's displacement does not matter.
        offsets.back() = blocks.counts[i] > 0 ? (blocks.displacements[i] - least) * unit_bytes : 0;
    }
}

Posed::Posed(const SignatureView& signature, CallingRank place)
    : send(signature.send, signature.fixed.unit_bytes),
      recv(signature.recv, signature.fixed.unit_bytes) {
    const FixedSignature& s = signature.fixed;
    const Family& family = algorithm::family_of(s.collective);
    algorithm::Agreed agreed = {.collective = s.collective,
                                .ranks = place.ranks,
                                .root = s.root,
                                .bytes = family.sizes == Sizes::local ? -1 : s.bytes,
                                .element_bytes = s.element_bytes,
                                .commutative = s.commutative,
                                .combines = s.combines,
                                .topology = place.topology};
    if (family.sizes == Sizes::agreed) agreed.sizes = send.sizes.empty() ? recv.sizes : send.sizes;
    problem = family.problem(agreed, place.rank, s.in_place, {send.list(), recv.list(), s.bytes});
}

// The arrays that describe one buffer, as messages name them.
struct ListNames {
    const char* counts;
    const char* displacements;
};

// Checks the counts and displacements of a buffer with blocks that differ. Returns the sum of the counts.
Result<std::int64_t> check_list(const BlockArrays& arrays, ListNames names, const Call& call,
                                CallingRank place, BlockSpans& blocks) {
    if (!arrays.counts)
        return failure(WEFT_REFUSED_ARGUMENT, "%s = null; expected a count for every rank",
                       names.counts);
    const auto ranks = static_cast<std::size_t>(place.ranks);
    // A rank that combines may keep a block of every other rank, each as large as its own.
    const bool reduces = algorithm::family_of(call.collective).reduces;
    const std::int64_t most =
        bytes_max / static_cast<std::int64_t>(type_bytes(call.type)) / (reduces ? place.ranks : 1);
    blocks.counts = {arrays.counts, ranks};
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
        // The caller's counts are of type size_t.
        if (arrays.counts[i] < 0 || arrays.counts[i] > most - sum) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "%s[%zu] = %zu; expected at most %lld elements of %s in all",
                           names.counts, i, static_cast<std::size_t>(arrays.counts[i]),
                           static_cast<long long>(most), type_name(call.type));
        }
        sum += arrays.counts[i];
    }
    if (!arrays.displacements) return sum;
    blocks.displacements = {arrays.displacements, ranks};
    for (std::size_t i = 0; i < ranks; ++i) {
        const bool is_near = arrays.displacements[i] >= -most && arrays.displacements[i] <= most;
        if (arrays.counts[i] == 0 || is_near) continue;
        return failure(WEFT_REFUSED_ARGUMENT, "%s[%zu] = %lld; expected %lld..%lld",
                       names.displacements, i, static_cast<long long>(arrays.displacements[i]),
                       static_cast<long long>(-most), static_cast<long long>(most));
    }
    return sum;
}

// Checks the arrays of a call whose blocks differ.
Status check_blocks(const Family& family, const Call& call, CallingRank place,
                    SignatureView& signature) {
    FixedSignature& fixed = signature.fixed;
    fixed.unit_bytes = static_cast<std::int64_t>(type_bytes(call.type));
    const bool is_root = place.rank == call.root;
    const bool sends_list = family.send_blocks(is_root) == Blocks::all;
    const bool recvs_list = family.recv_blocks(is_root) == Blocks::all;
    const bool has_both = sends_list && recvs_list;
    std::int64_t sum = 0;
    if (sends_list && !(has_both && fixed.in_place)) {
        // MPI's reduce_scatter names the counts after what a rank gets.
        const char* counts = family.sizes == Sizes::agreed ? "recv_counts" : "send_counts";
        Result<std::int64_t> list =
            check_list(call.send_blocks, {counts, has_both ? "send_displs" : "displs"}, call, place,
                       signature.send);
        if (!list.is_ok()) return list.status();
        sum = *list;
    }
    if (recvs_list) {
        Result<std::int64_t> list =
            check_list(call.recv_blocks, {"recv_counts", has_both ? "recv_displs" : "displs"}, call,
                       place, signature.recv);
        if (!list.is_ok()) return list.status();
        sum = *list;
    }
    if (family.sizes == Sizes::agreed) fixed.bytes = sum * fixed.unit_bytes / place.ranks;
    // What a rank sends to itself has one size.
    if (fixed.in_place || !(sends_list || recvs_list)) return ok;
    const std::size_t own = static_cast<std::size_t>(place.rank);
    if (has_both) {
        const std::int64_t sent = signature.send.counts[own];
        const std::int64_t received = signature.recv.counts[own];
        if (sent == received) return ok;
        return failure(WEFT_REFUSED_ARGUMENT,
                       "send_counts[%d] = %lld; expected recv_counts[%d] = %lld", place.rank,
                       static_cast<long long>(sent), place.rank, static_cast<long long>(received));
    }
    const bool counts_own_send = family.send_blocks(is_root) == Blocks::one;
    if (family.sizes == Sizes::agreed && !counts_own_send) return ok;  // reduce_scatter
    const std::int64_t listed = (sends_list ? signature.send : signature.recv).counts[own];
    if (static_cast<std::int64_t>(call.count) == listed) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s = %zu; expected %s[%d] = %lld",
                   name_of_count(family, is_root), call.count,
                   counts_own_send ? "recv_counts" : "send_counts", place.rank,
                   static_cast<long long>(listed));
}

// No two blocks may share a byte.
Status check_apart(const PosedList& list, const BlockSpans& blocks, const char* displacements) {
    std::vector<std::size_t> order(blocks.displacements.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return list.sizes[i] == 0; });
    std::ranges::sort(order, {}, [&](std::size_t i) { return list.offsets[i]; });
    for (std::size_t k = 1; k < order.size(); ++k) {
        const std::size_t before = order[k - 1];
        const std::size_t behind = order[k];
        if (list.offsets[before] + list.sizes[before] <= list.offsets[behind]) continue;
        return failure(WEFT_REFUSED_ARGUMENT,
                       "%s[%zu] = %lld lies within the block of rank %zu; expected blocks that "
                       "do not overlap",
                       displacements, behind, static_cast<long long>(blocks.displacements[behind]),
                       before);
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
    if (family.has_root && (call.root < 0 || call.root >= place.ranks)) {
        return failure(WEFT_REFUSED_ARGUMENT, "root = %d; expected 0..%d", call.root,
                       place.ranks - 1);
    }
    if (type_bytes(call.type) == 0) {
        return failure(WEFT_REFUSED_ARGUMENT, "type = %d; expected one of weft_type",
                       static_cast<int>(call.type));
    }
    Checked checked;
    FixedSignature& signature = checked.signature.fixed;
    signature.collective = call.collective;
    signature.of_library = call.of_library;
    signature.root = family.has_root ? call.root : 0;
    signature.in_place = is_in_place(family, call, place);
    if (looks_at_count(family, place.rank == call.root, signature.in_place)) {
        const bool is_multiplied = family.has_block_of_every_rank() && family.sizes == Sizes::alike;
        Result<std::int64_t> bytes = block_bytes(call, is_multiplied ? place.ranks : 1,
                                                 name_of_count(family, place.rank == call.root));
        if (!bytes.is_ok()) return bytes.status();
        signature.bytes = *bytes;
    }
    if (family.reduces) {
        Result<Reduction> reduction = bind_reduction(call.op, call.type);
        if (!reduction.is_ok()) return reduction.status();
        checked.binding.reduction = *reduction;
        signature.commutative = reduction->commutative;
        signature.combines = place.combines && reduction->kernel != nullptr;
        // Data that is not reduced may have different types on different ranks.
        signature.element_bytes = static_cast<std::int64_t>(type_bytes(call.type));
    }

    checked.binding.send = static_cast<const std::byte*>(call.send_buf);
    checked.binding.recv = static_cast<std::byte*>(call.recv_buf);
    if (family.sizes == Sizes::alike) return checked;
    WEFT_RETURN_IF_NOT_OK(check_blocks(family, call, place, checked.signature));
    if (call.send_buf && call.send_buf != WEFT_IN_PLACE)
        checked.binding.send += least_displacement(checked.signature.send) * signature.unit_bytes;
    if (call.recv_buf && call.recv_buf != WEFT_IN_PLACE)
        checked.binding.recv += least_displacement(checked.signature.recv) * signature.unit_bytes;
    return checked;
}

Result<BufferBytes> bytes_of_buffers(const SignatureView& signature, CallingRank place) {
    const Posed posed(signature, place);
    const Family& family = algorithm::family_of(signature.fixed.collective);
    const bool has_both = family.send.others == Blocks::all && family.recv.others == Blocks::all;
    WEFT_RETURN_IF_NOT_OK(
        check_apart(posed.recv, signature.recv, has_both ? "recv_displs" : "displs"));
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
    Posed posed(signature, place);
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
