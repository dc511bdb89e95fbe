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

// How many blocks a buffer has.
std::size_t blocks_in(Blocks blocks, CallingRank place, bool sends) {
    switch (blocks) {
        case Blocks::none: return 0;
        case Blocks::one: return 1;
        case Blocks::all: return static_cast<std::size_t>(place.ranks);
        case Blocks::neighbors: break;
    }
    return (sends ? place.neighbors->destinations : place.neighbors->sources).size();
}

// Whether a call with blocks that differ lists those of this buffer.
bool is_listed(Blocks blocks) { return blocks == Blocks::all || blocks == Blocks::neighbors; }

// How many blocks as large as one of this rank's a buffer somewhere may have.
std::size_t blocks_max(const Family& family, CallingRank place) {
    if (family.sizes == Sizes::alike && family.has_block_of_every_rank())
        return static_cast<std::size_t>(place.ranks);
    if (family.sizes != Sizes::alike_on_rank) return 1;
    return std::max(
        {std::size_t{1}, place.neighbors->sources.size(), place.neighbors->destinations.size()});
}

// count * size of type, if `blocks` times as much can still be addressed.
Result<std::int64_t> block_bytes(const Call& call, std::size_t blocks, const char* name) {
    const std::size_t element = type_bytes(call.type);
    auto most = static_cast<std::size_t>(bytes_max) / element / blocks;
    if (call.count > most) {
        return failure(WEFT_REFUSED_ARGUMENT, "%s = %zu; expected at most %zu for %zu blocks of %s",
                       name, call.count, most, blocks, type_name(call.type));
    }
    return static_cast<std::int64_t>(call.count * element);
}

const char* name_of_count(const Family& family, bool is_root) {
    if (!family.lists_blocks()) return "count";
    return family.send_blocks(is_root) == Blocks::one ? "send_count" : "recv_count";
}

bool is_in_place(const Family& family, const Call& call, CallingRank place) {
    const void* spared = family.in_place == InPlace::recv_at_root ? call.recv_buf : call.send_buf;
    return spared == WEFT_IN_PLACE && family.is_in_place_on(place.rank == call.root);
}

// Otherwise the arrays say how large blocks are.
bool looks_at_count(const Family& family, bool is_root, bool is_in_place) {
    if (family.sizes != Sizes::local) return !family.lists_blocks();
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
                                .bytes = family.agrees_on_sizes() ? s.bytes : -1,
                                .element_bytes = s.element_bytes,
                                .commutative = s.commutative,
                                .combines = s.combines,
                                .topology = place.topology};
    if (family.sizes == Sizes::agreed) agreed.sizes = send.sizes.empty() ? recv.sizes : send.sizes;
    problem = family.problem(agreed, place.rank, s.in_place,
                             {send.list(), recv.list(), s.bytes, place.neighbors});
}

// The arrays that describe one buffer, as messages name them.
struct ListNames {
    const char* counts;
    const char* displacements;
    const char* types;
};

// A buffer with blocks that differ.
struct Listed {
    const BlockArrays& arrays;
    ListNames names;
    std::size_t blocks;
    std::int64_t bytes_max;  // of all blocks
    std::vector<std::int64_t>& byte_counts;
};

Status check_type(const Listed& listed, std::size_t i) {
    if (type_bytes(listed.arrays.types[i]) > 0) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s[%zu] = %d; expected one of weft_type",
                   listed.names.types, i, static_cast<int>(listed.arrays.types[i]));
}

// Checks the counts, and types if they differ: then what is returned counts bytes.
Result<std::span<const std::int64_t>> check_counts(const Listed& listed, weft_type type) {
    const std::int64_t* counts = listed.arrays.counts;
    if (!counts && listed.blocks > 0)
        return failure(WEFT_REFUSED_ARGUMENT, "%s = null; expected %zu counts", listed.names.counts,
                       listed.blocks);
    const bool has_types = listed.names.types != nullptr;
    if (has_types && !listed.arrays.types && listed.blocks > 0)
        return failure(WEFT_REFUSED_ARGUMENT, "%s = null; expected %zu types", listed.names.types,
                       listed.blocks);
    if (has_types) listed.byte_counts.resize(listed.blocks);
    std::int64_t left = listed.bytes_max;
    for (std::size_t i = 0; i < listed.blocks; ++i) {
        if (has_types) {
            WEFT_RETURN_IF_NOT_OK(check_type(listed, i));
            type = listed.arrays.types[i];
        }
        const auto element = static_cast<std::int64_t>(type_bytes(type));
        // The caller's counts are of type size_t.
        if (counts[i] < 0 || counts[i] > left / element) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "%s[%zu] = %zu; expected at most %lld elements of %s in all",
                           listed.names.counts, i, static_cast<std::size_t>(counts[i]),
                           static_cast<long long>(listed.bytes_max / element), type_name(type));
        }
        left -= counts[i] * element;
        if (has_types) listed.byte_counts[i] = counts[i] * element;
    }
    if (has_types) return std::span<const std::int64_t>(listed.byte_counts);
    return std::span(counts, listed.blocks);
}

// Checks the counts and displacements of a buffer with blocks that differ.
Result<BlockSpans> check_list(const Listed& listed, weft_type type) {
    const auto counts = check_counts(listed, type);
    if (!counts.is_ok()) return counts.status();
    BlockSpans blocks{*counts};
    const std::int64_t* displacements = listed.arrays.displacements;
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

// What a rank sends to itself has one size.
Status check_own_block(const Family& family, const Call& call, CallingRank place,
                       const SignatureView& signature) {
    const bool is_root = place.rank == call.root;
    const bool sends_list = !signature.send.counts.empty();
    const bool counts_own_send = family.send_blocks(is_root) == Blocks::one;
    if (family.sizes == Sizes::agreed && !counts_own_send) return ok;  // reduce_scatter
    const std::size_t own = static_cast<std::size_t>(place.rank);
    if (sends_list && !signature.recv.counts.empty()) {
        const std::int64_t sent = signature.send.counts[own];
        const std::int64_t received = signature.recv.counts[own];
        if (sent == received) return ok;
        const char* unit = family.has_types ? " bytes" : "";
        return failure(WEFT_REFUSED_ARGUMENT,
                       "send_counts[%d] = %lld%s; expected recv_counts[%d] = %lld%s", place.rank,
                       static_cast<long long>(sent), unit, place.rank,
                       static_cast<long long>(received), unit);
    }
    const std::int64_t listed = (sends_list ? signature.send : signature.recv).counts[own];
    if (static_cast<std::int64_t>(call.count) == listed) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s = %zu; expected %s[%d] = %lld",
                   name_of_count(family, is_root), call.count,
                   counts_own_send ? "recv_counts" : "send_counts", place.rank,
                   static_cast<long long>(listed));
}

// The same for edges of a rank to itself.
Status check_own_edges(const Call& call, CallingRank place, const SignatureView& signature) {
    const Neighborhood& neighbors = *place.neighbors;
    for (std::size_t i = 0; i < neighbors.sources.size(); ++i) {
        if (neighbors.sources[i] != place.rank) continue;
        const std::int64_t received = signature.recv.counts[i];
        if (signature.send.counts.empty()) {
            if (static_cast<std::int64_t>(call.count) == received) continue;
            return failure(WEFT_REFUSED_ARGUMENT,
                           "send_count = %zu; expected recv_counts[%zu] = %lld, the same block",
                           call.count, i, static_cast<long long>(received));
        }
        const std::size_t sent = neighbors.origin(i, place.rank, neighbors);
        if (signature.send.counts[sent] == received) continue;
        return failure(
            WEFT_REFUSED_ARGUMENT,
            "send_counts[%zu] is %lld bytes; expected %lld as of recv_counts[%zu], the "
            "same block",
            sent, static_cast<long long>(signature.send.counts[sent] * signature.fixed.unit_bytes),
            static_cast<long long>(received * signature.fixed.unit_bytes), i);
    }
    return ok;
}

// Checks the arrays of a call whose blocks differ.
Status check_blocks(const Family& family, const Call& call, CallingRank place, ByteCounts& bytes,
                    SignatureView& signature) {
    FixedSignature& fixed = signature.fixed;
    const auto element = static_cast<std::int64_t>(type_bytes(call.type));
    fixed.unit_bytes = family.has_types ? 1 : element;
    const bool is_root = place.rank == call.root;
    const bool sends_list = is_listed(family.send_blocks(is_root));
    const bool recvs_list = is_listed(family.recv_blocks(is_root));
    const bool has_both = sends_list && recvs_list;
    // A rank that combines may keep a block of every other rank, each as large as its own.
    const std::int64_t most = family.reduces ? bytes_max / place.ranks : bytes_max;
    if (sends_list && !(has_both && fixed.in_place)) {
        // MPI's reduce_scatter names the counts after what a rank gets.
        const ListNames names = {family.sizes == Sizes::agreed ? "recv_counts" : "send_counts",
                                 has_both ? "send_displs" : "displs",
                                 family.has_types ? "send_types" : nullptr};
        Result<BlockSpans> list =
            check_list({call.send_blocks, names,
                        blocks_in(family.send_blocks(is_root), place, true), most, bytes.send},
                       call.type);
        if (!list.is_ok()) return list.status();
        signature.send = *list;
    }
    if (recvs_list) {
        const ListNames names = {"recv_counts", has_both ? "recv_displs" : "displs",
                                 family.has_types ? "recv_types" : nullptr};
        Result<BlockSpans> list =
            check_list({call.recv_blocks, names,
                        blocks_in(family.recv_blocks(is_root), place, false), most, bytes.recv},
                       call.type);
        if (!list.is_ok()) return list.status();
        signature.recv = *list;
    }
    if (family.sizes == Sizes::agreed) fixed.bytes = signature.bytes() / place.ranks;
    if (fixed.in_place || !(sends_list || recvs_list)) return ok;
    if (family.is_among_neighbors()) return check_own_edges(call, place, signature);
    return check_own_block(family, call, place, signature);
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
                       "%s[%zu] = %lld lies within block %zu; expected blocks that do not overlap",
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

Result<Checked> check(const Call& call, CallingRank place, ByteCounts& byte_counts) {
    const Family& family = algorithm::family_of(call.collective);
    if (family.has_root && (call.root < 0 || call.root >= place.ranks)) {
        return failure(WEFT_REFUSED_ARGUMENT, "root = %d; expected 0..%d", call.root,
                       place.ranks - 1);
    }
    if (family.is_among_neighbors() && !place.neighbors) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "comm has no topology; expected one made by weft_comm_cart or "
                       "weft_comm_graph, or a duplicate of it");
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
        Result<std::int64_t> bytes = block_bytes(call, blocks_max(family, place),
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
    if (!family.lists_blocks()) return checked;
    WEFT_RETURN_IF_NOT_OK(check_blocks(family, call, place, byte_counts, checked.signature));
    if (call.send_buf && call.send_buf != WEFT_IN_PLACE)
        checked.binding.send += least_displacement(checked.signature.send) * signature.unit_bytes;
    if (call.recv_buf && call.recv_buf != WEFT_IN_PLACE)
        checked.binding.recv += least_displacement(checked.signature.recv) * signature.unit_bytes;
    return checked;
}

Result<BufferBytes> bytes_of_buffers(const SignatureView& signature, CallingRank place) {
    const Posed posed(signature, place);
    const Family& family = algorithm::family_of(signature.fixed.collective);
    const bool has_both = is_listed(family.send.others) && is_listed(family.recv.others);
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
