#include "support/neighbors.h"

#include <string>
#include <utility>

#include "base/random.h"

namespace weft::test {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Neighbors grid(std::vector<int> dims, std::vector<int> periods) {
    Neighbors made;
    int ranks = 1;
    for (const int size : dims) ranks *= size;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<int> coordinates(dims.size());
        for (int d = static_cast<int>(dims.size()), rest = rank; d-- > 0; rest /= dims[at(d)])
            coordinates[at(d)] = rest % dims[at(d)];
        auto& own = made.sources.emplace_back();
        for (std::size_t d = 0; d < dims.size(); ++d) {
            for (const int step : {-1, 1}) {
                std::vector<int> beside = coordinates;
                beside[d] += step;
                if (periods[d]) beside[d] = (beside[d] + dims[d]) % dims[d];
                int neighbor = 0;
                for (std::size_t i = 0; i < dims.size(); ++i) {
                    if (beside[i] < 0 || beside[i] >= dims[i]) neighbor = -1;
                    if (neighbor >= 0) neighbor = neighbor * dims[i] + beside[i];
                }
                own.push_back(neighbor);
            }
        }
    }
    made.destinations = made.sources;
    made.dims = std::move(dims);
    made.periods = std::move(periods);
    return made;
}

Neighbors graph(int ranks, int edges_max) {
    Neighbors made;
    made.sources.resize(at(ranks));
    made.destinations.resize(at(ranks));
    Prng random(static_cast<std::uint64_t>(ranks) * 31 + static_cast<std::uint64_t>(edges_max));
    auto insert = [&](std::vector<int>& list, int rank) {
        list.insert(list.begin() + static_cast<int>(random.below(list.size() + 1)), rank);
    };
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            // Few neighbors of many ranks.
            if (ranks > 8 && random.below(at(ranks)) > 5) continue;
            for (std::uint64_t edges = random.below(at(edges_max) + 1); edges > 0; --edges) {
                insert(made.destinations[at(from)], to);
                insert(made.sources[at(to)], from);
            }
        }
    }
    return made;
}

}  // namespace

int Neighbors::origin(int rank, int block) const {
    if (is_grid()) return block % 2 == 0 ? block + 1 : block - 1;
    const auto& own = sources[at(rank)];
    const int source = own[at(block)];
    int earlier = 0;
    for (int i = 0; i < block; ++i) earlier += own[at(i)] == source;
    int sent = 0;
    for (const auto& theirs = destinations[at(source)];; ++sent) {
        if (theirs.at(at(sent)) == rank && earlier-- == 0) return sent;
    }
}

Neighbors neighbors(const char* kind, int ranks) {
    const std::string name = kind;
    if (name == "ring") return grid({ranks}, {1});
    if (name == "graph") return graph(ranks, 2);
    if (name == "alone") return graph(ranks, 0);
    int rows = 1;
    for (int i = 2; i * i <= ranks; ++i) {
        if (ranks % i == 0) rows = i;
    }
    return grid({rows, ranks / rows, 1}, {0, 1, 1});
}

}  // namespace weft::test
