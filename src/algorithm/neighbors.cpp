#include "algorithm/neighbors.h"

namespace weft::algorithm {
namespace {

void promise(Promises& p, bool has_one_block) {
    for (Rank r = 0; r < p.ranks(); ++r) {
        const Neighborhood& own = p.neighbors(r);
        for (std::size_t block = 0; block < own.sources.size(); ++block) {
            const Rank source = own.sources[block];
            if (source == no_rank) continue;
            const std::size_t sent = has_one_block ? 0 : own.origin(block, r, p.neighbors(source));
            p.move({source, static_cast<Rank>(sent)}, {r, static_cast<Rank>(block)});
        }
    }
}

}  // namespace

void promise_same_block(Promises& promises) { promise(promises, true); }
void promise_own_block(Promises& promises) { promise(promises, false); }

}  // namespace weft::algorithm
