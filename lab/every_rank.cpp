#include "lab/every_rank.h"

namespace weft {

using algorithm::BlockList;
using algorithm::Blocks;
using algorithm::Sizes;

EveryRank::EveryRank(const algorithm::CollectiveSpec& spec, const algorithm::GlobalArgs& agreed,
                     bool in_place, std::span<const std::int64_t> offsets, const Amount& amount,
                     std::int64_t gap, std::span<const Neighborhood> neighbors) {
    std::vector<Rank> all;
    for (Rank rank = 0; rank < agreed.ranks; ++rank) all.push_back(rank);
    for (Rank rank = 0; rank < agreed.ranks; ++rank) {
        algorithm::LocalBlocks own;
        if (spec.is_among_neighbors()) own.neighbors = &neighbors[static_cast<std::size_t>(rank)];
        if (spec.sizes == Sizes::uniform_per_rank) own.bytes = amount(rank, rank, 0);
        const bool is_root = rank == agreed.root;
        for (const bool sends : {true, false}) {
            const Blocks blocks = sends ? spec.send_blocks(is_root) : spec.recv_blocks(is_root);
            BlockList& blocks_of = sends ? own.send : own.recv;
            if (spec.sizes == Sizes::known_to_all && blocks == Blocks::all)
                blocks_of = {agreed.sizes, offsets};
            if (spec.sizes != Sizes::rank_local) continue;
            const bool has_one_for_all = own.neighbors && spec.send.root == Blocks::one;
            const auto of = [&](Rank peer, std::size_t block) {
                if (peer == no_rank) return std::int64_t{0};  // it is not sent
                if (has_one_for_all) return sends ? amount(rank, rank, 0) : amount(peer, peer, 0);
                if (sends) return amount(rank, peer, block);
                if (own.neighbors)
                    block = own.neighbors->origin(block, rank,
                                                  neighbors[static_cast<std::size_t>(peer)]);
                return amount(peer, rank, block);
            };
            if (blocks == Blocks::one) own.bytes = of(agreed.root, 0);
            std::span<const Rank> peers = all;
            if (blocks == Blocks::neighbors)
                peers = sends ? own.neighbors->destinations : own.neighbors->sources;
            if (blocks == Blocks::none || blocks == Blocks::one) continue;
            std::vector<std::int64_t> sizes;
            for (std::size_t i = 0; i < peers.size(); ++i) sizes.push_back(of(peers[i], i));
            blocks_of = list(std::move(sizes), gap);
        }
        problems_.push_back(spec.problem(agreed, rank, in_place, own));
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
