#include "algorithm/postconditions.h"

#include "base/assert.h"

namespace weft::algorithm {

Postconditions::Postconditions(std::span<const Problem> problems) : problems_(problems) {
    for (const Problem& problem : problems) {
        promise_.send_bytes.push_back(problem.send_bytes());
        promise_.recv_bytes.push_back(problem.recv_bytes());
        std::int64_t origin = 0;
        auto& origins = origins_.emplace_back();
        for (Rank i = 0; i < problem.send.count; ++i) {
            const Region block = problem.send.block(i);
            promise_.before.push_back({problem.rank, block, {problem.rank, problem.rank}, origin});
            origins.push_back(origin);
            origin += block.bytes;
        }
    }
    promise_.element_bytes = problems.front().agreed.element_bytes;
    promise_.commutative = problems.front().agreed.commutative;
    promise_.reproducible = problems.front().agreed.reproducible;
}

void Postconditions::move(BlockOf from, BlockOf into) {
    hold({from.rank, from.rank}, from.block, into);
}

void Postconditions::combine(Sources sources, Rank block, BlockOf into) {
    hold(sources, block, into);
}

void Postconditions::hold(Sources sources, Rank block, BlockOf into) {
    const Region where = problem(into.rank).recv.block(into.block);
    const auto& origins = origins_[static_cast<std::size_t>(sources.first)];
    WEFT_ASSERT(problem(sources.first).send.block(block).bytes == where.bytes);
    promise_.after.push_back({into.rank, where, sources, origins[static_cast<std::size_t>(block)]});
}

}  // namespace weft::algorithm
