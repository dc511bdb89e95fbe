#include "lab/every_rank.h"

namespace weft {

using algorithm::BlockList;
using algorithm::Blocks;
using algorithm::Sizes;

EveryRank::EveryRank(const algorithm::Family& family, const algorithm::Agreed& agreed,
                     bool in_place, std::span<const std::int64_t> offsets, const Amount& amount,
                     std::int64_t gap) {
    for (Rank rank = 0; rank < agreed.ranks; ++rank) {
        algorithm::BlockLists lists;
        const bool is_root = rank == agreed.root;
        for (const bool sends : {true, false}) {
            const Blocks blocks = sends ? family.send_blocks(is_root) : family.recv_blocks(is_root);
            BlockList& blocks_of = sends ? lists.send : lists.recv;
            const auto of = [&](Rank peer) {
                return sends ? amount(rank, peer) : amount(peer, rank);
            };
            if (family.sizes == Sizes::local && blocks == Blocks::one)
                lists.own_bytes = of(agreed.root);
            if (blocks != Blocks::all) continue;
            if (family.sizes == Sizes::agreed) blocks_of = {agreed.sizes, offsets};
            if (family.sizes != Sizes::local) continue;
            std::vector<std::int64_t> sizes;
            for (Rank peer = 0; peer < agreed.ranks; ++peer) sizes.push_back(of(peer));
            blocks_of = list(std::move(sizes), gap);
        }
        problems_.push_back(family.problem(agreed, rank, in_place, lists));
    }
}

BlockList EveryRank::list(std::vector<std::int64_t> sizes, std::int64_t gap) {
    std::vector<std::int64_t> offsets(sizes.size());
    std::int64_t end = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::size_t at = gap > 0 ? sizes.size() - 1 - i : i;
        offsets[at] = end;
        end += sizes[at] + gap;
    }
    const std::vector<std::int64_t>& kept = arrays_.emplace_back(std::move(sizes));
    return {kept, arrays_.emplace_back(std::move(offsets))};
}

}  // namespace weft
