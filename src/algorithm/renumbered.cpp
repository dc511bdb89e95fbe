#include "algorithm/renumbered.h"

#include <algorithm>
#include <utility>

namespace weft::algorithm {

Renumbered::Renumbered(const Problem& in, std::vector<Rank> ranks)
    : order(std::move(ranks)), problem(in), sizes_(order.size(), in.agreed.bytes) {
    const auto index_of = [&](Rank rank) {
        return static_cast<Rank>(std::ranges::find(order, rank) - order.begin());
    };
    problem.rank = index_of(in.rank);
    problem.agreed.root = index_of(in.root());
    problem.agreed.topology = nullptr;
    problem.agreed.torus = nullptr;
    for (const Rank rank : order) offsets_.push_back(rank * in.agreed.bytes);
    for (Layout* layout : {&problem.send, &problem.recv}) {
        if (layout->count == in.ranks()) layout->list = {sizes_, offsets_};
    }
}

}  // namespace weft::algorithm
