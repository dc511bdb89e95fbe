#include "bench/player/plain_blocks.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace weft::bench {

std::string PlainBlocks::absence(const Collective& collective, const Job& job, bool can_add) {
    constexpr std::string_view copied[] = {"ibcast",   "isend",      "iexchange", "igather",
                                           "iscatter", "iallgather", "ialltoall"};
    constexpr std::string_view added[] = {"ibarrier", "ireduce", "iallreduce"};
    if (job.ranks != 2) return "it connects 2 ranks; this job has " + std::to_string(job.ranks);
    if (std::ranges::find(copied, collective.name) != std::end(copied)) return "";
    if (can_add && std::ranges::find(added, collective.name) != std::end(added)) return "";
    return std::string(collective.name) + " is not written for it";
}

PlainBlocks::PlainBlocks(const Collective& collective, Case& c) {
    const int rank = c.job.rank;
    const Plain& plain = collective.plain;
    const bool is_root = rank == 0;
    const bool has_input = c.send.size() > 0;
    PageBuffer& from = has_input ? c.send : c.recv;
    // The block for, or of, a rank: in a buffer of one block there is no choice.
    const auto block = [&](PageBuffer& buffer, int of) {
        const std::size_t bytes = std::min(c.bytes, buffer.size());
        const std::size_t index = buffer.size() > bytes ? static_cast<std::size_t>(of) : 0;
        return buffer.as<std::byte>().subspan(index * bytes, bytes);
    };
    if (is_root ? plain.from_root : plain.to_root) outgoing = block(from, 1 - rank);
    if (is_root ? plain.to_root : plain.from_root) incoming = block(c.recv, 1 - rank);
    const bool has_own = collective.ranks == 0;  // messages have none
    if (has_input && has_own && (is_root || (plain.from_root && plain.to_root))) {
        own = block(from, rank);
        own_place = block(c.recv, rank).data();
    }
}

}  // namespace weft::bench
