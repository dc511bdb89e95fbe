#include "communicator/call/blocks.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "algorithm/catalogue.h"
#include "base/status.h"
#include "reduce/reduce.h"

namespace weft {
namespace {

using algorithm::Blocks;
using algorithm::CollectiveSpec;
using algorithm::Sizes;

// Whether a call lists the blocks of both buffers.
bool lists_both(const CollectiveSpec& spec, bool is_root) {
    return are_for_each(spec.send_blocks(is_root)) && are_for_each(spec.recv_blocks(is_root));
}

// The nonempty blocks, in the order in which they lie in the buffer.
std::vector<std::size_t> in_order(const NormalizedBlocks& list) {
    std::vector<std::size_t> order(list.sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return list.sizes[i] == 0; });
    std::ranges::sort(order, {}, [&](std::size_t i) { return list.offsets[i]; });
    return order;
}

// The arrays that describe one buffer, as messages name them.
struct ListNames {
    const char* counts;
    const char* displacements;
    const char* types;
};

// A buffer with blocks that differ.
struct Listed {
    const weft_side& buffer;
    ListNames names;
    std::size_t blocks;
    std::span<const Rank> neighbors;  // of these blocks; empty: the blocks belong to ranks
    std::int64_t bytes_max;           // of all blocks
    std::vector<std::int64_t>& room;

    // Nothing is sent to a neighbor that is missing, nor received from it.
    bool is_missing(std::size_t i) const { return !neighbors.empty() && neighbors[i] == no_rank; }
};

Status check_type(const Listed& listed, std::size_t i) {
    if (type_bytes(listed.buffer.types[i]) > 0) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s[%zu] = %d; expected one of weft_type",
                   listed.names.types, i, static_cast<int>(listed.buffer.types[i]));
}

// Checks the counts, and the types if each block has its own: the result then counts bytes.
Result<std::span<const std::int64_t>> check_counts(const Listed& listed, weft_type type) {
    static_assert(sizeof(std::size_t) == sizeof(std::int64_t));
    const auto* counts = reinterpret_cast<const std::int64_t*>(listed.buffer.counts);
    if (!counts && listed.blocks > 0)
        return failure(WEFT_REFUSED_ARGUMENT, "%s = null; expected %zu counts", listed.names.counts,
                       listed.blocks);
    const bool has_types = listed.names.types != nullptr;
    if (has_types && !listed.buffer.types && listed.blocks > 0)
        return failure(WEFT_REFUSED_ARGUMENT, "%s = null; expected %zu types", listed.names.types,
                       listed.blocks);
    const bool is_computed =
        has_types || std::ranges::find(listed.neighbors, no_rank) != listed.neighbors.end();
    if (is_computed) listed.room.assign(listed.blocks, 0);
    std::int64_t left = listed.bytes_max;
    for (std::size_t i = 0; i < listed.blocks; ++i) {
        if (listed.is_missing(i)) continue;
        if (has_types) {
            WEFT_RETURN_IF_NOT_OK(check_type(listed, i));
            type = listed.buffer.types[i];
        }
        const auto element = static_cast<std::int64_t>(type_bytes(type));
        // The caller's counts are of type size_t.
        if (counts[i] < 0 || counts[i] > left / element) {
            return failure(
                WEFT_REFUSED_ARGUMENT, "%s[%zu] = %zu; expected at most %lld elements of %s in all",
                listed.names.counts, i, static_cast<std::size_t>(counts[i]),
                static_cast<long long>(listed.bytes_max / element), type_name(type).c_str());
        }
        left -= counts[i] * element;
        if (is_computed) listed.room[i] = counts[i] * (has_types ? element : 1);
    }
    if (is_computed) return std::span<const std::int64_t>(listed.room);
    return std::span(counts, listed.blocks);
}

// Checks the counts and displacements of a buffer with blocks that differ.
Result<BlockSpans> check_list(const Listed& listed, weft_type type) {
    const auto counts = check_counts(listed, type);
    if (!counts.is_ok()) return counts.status();
    BlockSpans blocks{*counts};
    const std::int64_t* displacements = listed.buffer.displacements;
    if (!displacements) return blocks;
    blocks.displacements = {displacements, listed.blocks};
    const auto unit = static_cast<std::int64_t>(listed.names.types ? 1 : type_bytes(type));
    const std::int64_t most = listed.bytes_max / unit;
    for (std::size_t i = 0; i < listed.blocks; ++i) {
        const bool is_near = displacements[i] >= -most && displacements[i] <= most;
        if (blocks.counts[i] == 0 || is_near) continue;
        return failure(WEFT_REFUSED_ARGUMENT, "%s[%zu] = %lld; expected %lld..%lld",
                       listed.names.displacements, i, static_cast<long long>(displacements[i]),
                       static_cast<long long>(-most), static_cast<long long>(most));
    }
    return blocks;
}

// A rank's send to itself and the matching receive must have the same size.
Status check_own_block(const CollectiveSpec& spec, const weft_call& call, const CallContext& place,
                       const Signature& signature) {
    const bool is_root = place.rank == call.root;
    const bool sends_list = !signature.send.counts.empty();
    const bool counts_own_send = spec.send_blocks(is_root) == Blocks::one;
    if (spec.sizes == Sizes::known_to_all && !counts_own_send) return ok;  // reduce_scatter
    const std::size_t own = static_cast<std::size_t>(place.rank);
    if (sends_list && !signature.recv.counts.empty()) {
        const std::int64_t sent = signature.send.counts[own];
        const std::int64_t received = signature.recv.counts[own];
        if (sent == received) return ok;
        const char* unit = spec.has_types ? " bytes" : "";
        return failure(WEFT_REFUSED_ARGUMENT,
                       "send_counts[%d] = %lld%s; expected recv_counts[%d] = %lld%s", place.rank,
                       static_cast<long long>(sent), unit, place.rank,
                       static_cast<long long>(received), unit);
    }
    const std::int64_t listed = (sends_list ? signature.send : signature.recv).counts[own];
    const std::size_t count = (counts_own_send ? call.send : call.recv).count;
    if (static_cast<std::int64_t>(count) == listed) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s = %zu; expected %s[%d] = %lld",
                   counts_own_send ? "send_count" : "recv_count", count,
                   counts_own_send ? "recv_counts" : "send_counts", place.rank,
                   static_cast<long long>(listed));
}

// The same for edges of a rank to itself.
Status check_own_edges(const weft_call& call, const CallContext& place,
                       const Signature& signature) {
    const Neighborhood& neighbors = *place.neighbors;
    const std::int64_t unit = signature.unit_bytes;
    std::size_t sent = 0;  // its blocks for itself, in their order
    for (std::size_t i = 0; i < neighbors.sources.size(); ++i) {
        const std::size_t block = neighbors.received(i);
        if (neighbors.sources[block] != place.rank) continue;
        const std::int64_t received = signature.recv.counts[block];
        if (signature.send.counts.empty()) {
            if (static_cast<std::int64_t>(call.send.count) == received) continue;
            return failure(WEFT_REFUSED_ARGUMENT,
                           "send_count = %zu; expected recv_counts[%zu] = %lld, the same block",
                           call.send.count, block, static_cast<long long>(received));
        }
        while (neighbors.destinations[sent] != place.rank) ++sent;
        const std::size_t own = sent++;
        if (signature.send.counts[own] == received) continue;
        return failure(WEFT_REFUSED_ARGUMENT,
                       "send_counts[%zu] is %lld bytes; expected %lld as of recv_counts[%zu], the "
                       "same block",
                       own, static_cast<long long>(signature.send.counts[own] * unit),
                       static_cast<long long>(received * unit), block);
    }
    return ok;
}

// One of a call's buffers.
enum class BufferSide : std::uint8_t { send, recv };

// Checks the arrays of a buffer with a block for each rank or neighbor.
Result<BlockSpans> check_side(BufferSide side, const weft_call& call, const CallContext& place,
                              weft_type type, ByteCounts& room) {
    const CollectiveSpec& spec = algorithm::spec_of(collective_of(call));
    const bool is_root = place.rank == call.root;
    const bool sends = side == BufferSide::send;
    const bool has_both = lists_both(spec, is_root);
    // In MPI's reduce_scatter the counts are named after the receive side.
    const bool is_named_send = sends && spec.sizes != Sizes::known_to_all;
    const ListNames names = {is_named_send ? "send_counts" : "recv_counts",
                             !has_both       ? "displs"
                             : is_named_send ? "send_displs"
                                             : "recv_displs",
                             !spec.has_types ? nullptr
                             : is_named_send ? "send_types"
                                             : "recv_types"};
    std::span<const Rank> neighbors;
    if (spec.is_among_neighbors())
        neighbors = sends ? place.neighbors->destinations : place.neighbors->sources;
    const Blocks blocks = sends ? spec.send_blocks(is_root) : spec.recv_blocks(is_root);
    // A rank that combines may keep a block of every other rank, each as large as its own.
    const std::int64_t most = spec.reduces ? call_bytes_max / place.ranks : call_bytes_max;
    return check_list(
        {sends ? call.send : call.recv, names,
         static_cast<std::size_t>(algorithm::number_of(blocks, place.ranks, neighbors)), neighbors,
         most, sends ? room.send : room.recv},
        type);
}

}  // namespace

Status check_blocks(const weft_call& call, const CallContext& place, weft_type type,
                    ByteCounts& room, Signature& signature) {
    const CollectiveSpec& spec = algorithm::spec_of(collective_of(call));
    signature.unit_bytes = spec.has_types ? 1 : static_cast<std::int64_t>(type_bytes(type));
    const bool is_root = place.rank == call.root;
    const bool sends_list = are_for_each(spec.send_blocks(is_root));
    const bool recvs_list = are_for_each(spec.recv_blocks(is_root));
    if (sends_list && !(recvs_list && signature.in_place)) {
        Result<BlockSpans> list = check_side(BufferSide::send, call, place, type, room);
        if (!list.is_ok()) return list.status();
        signature.send = *list;
    }
    if (recvs_list) {
        Result<BlockSpans> list = check_side(BufferSide::recv, call, place, type, room);
        if (!list.is_ok()) return list.status();
        signature.recv = *list;
    }
    if (spec.sizes == Sizes::known_to_all) signature.bytes = signature.total_bytes() / place.ranks;
    if (signature.in_place || !(sends_list || recvs_list)) return ok;
    if (spec.is_among_neighbors()) return check_own_edges(call, place, signature);
    return check_own_block(spec, call, place, signature);
}

// The smallest displacement of a nonempty block.
std::int64_t least_displacement(const BlockSpans& blocks) {
    std::optional<std::int64_t> least;
    for (std::size_t i = 0; i < blocks.displacements.size(); ++i) {
        const std::int64_t begin = blocks.displacements[i];
        if (blocks.counts[i] > 0 && begin < least.value_or(begin + 1)) least = begin;
    }
    return least.value_or(0);
}

NormalizedBlocks::NormalizedBlocks(const BlockSpans& blocks, std::int64_t unit_bytes) {
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

Status check_apart(const NormalizedBlocks& list, const Signature& signature) {
    const BlockSpans& blocks = signature.recv;
    if (blocks.displacements.empty()) return ok;
    const CollectiveSpec& spec = algorithm::spec_of(signature.collective);
    const std::vector<std::size_t> order = in_order(list);
    for (std::size_t k = 1; k < order.size(); ++k) {
        const std::size_t before = order[k - 1];
        const std::size_t behind = order[k];
        if (list.offsets[before] + list.sizes[before] <= list.offsets[behind]) continue;
        return failure(WEFT_REFUSED_ARGUMENT,
                       "%s[%zu] = %lld lies within block %zu; expected blocks that do not overlap",
                       lists_both(spec, false) ? "recv_displs" : "displs", behind,
                       static_cast<long long>(blocks.displacements[behind]), before);
    }
    return ok;
}

std::vector<UsedRange> used_ranges(const NormalizedBlocks& list) {
    std::vector<UsedRange> ranges;
    for (const std::size_t i : in_order(list)) {
        const UsedRange block{list.offsets[i], list.offsets[i] + list.sizes[i]};
        // Sent blocks may overlap.
        if (!ranges.empty() && block.begin <= ranges.back().end)
            ranges.back().end = std::max(ranges.back().end, block.end);
        else
            ranges.push_back(block);
    }
    return ranges;
}

bool have_common_bytes(const void* left_buf, const BufferUse& left, const void* right_buf,
                       const BufferUse& right) {
    if (left.bytes == 0 || right.bytes == 0) return false;
    const auto left_at = reinterpret_cast<std::uintptr_t>(left_buf);
    const auto right_at = reinterpret_cast<std::uintptr_t>(right_buf);
    if (left_at >= right_at + static_cast<std::uintptr_t>(right.bytes) ||
        right_at >= left_at + static_cast<std::uintptr_t>(left.bytes)) {
        return false;
    }
    const auto distance = static_cast<std::int64_t>(right_at - left_at);
    const UsedRange all_left[] = {{0, left.bytes}};
    const UsedRange all_right[] = {{0, right.bytes}};
    std::span<const UsedRange> l = left.ranges;
    std::span<const UsedRange> r = right.ranges;
    if (l.empty()) l = all_left;
    if (r.empty()) r = all_right;
    for (auto i = l.begin(), k = r.begin(); i != l.end() && k != r.end();) {
        if (i->end <= k->begin + distance)
            ++i;
        else if (k->end + distance <= i->begin)
            ++k;
        else
            return true;
    }
    return false;
}

}  // namespace weft
