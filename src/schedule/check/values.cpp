#include "schedule/check/values.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace weft::checking {

Terms::Terms(Rank ranks, bool commutative) : commutative_(commutative) {
    nodes_.reserve(2 * static_cast<std::size_t>(ranks) + 1);
    nodes_.push_back({undefined, undefined, 0, 0, 0, false});
    for (Rank r = 0; r < ranks; ++r) nodes_.push_back({undefined, undefined, 1, r, r, true});
}

Term Terms::combine(Term left, Term right) {
    if (commutative_ && right < left) std::swap(left, right);
    const std::uint64_t key = std::uint64_t{left} << 32 | right;
    const auto [place, is_new] = known_.try_emplace(key, static_cast<Term>(nodes_.size()));
    if (!is_new) return place->second;
    const Node& l = nodes_[left];
    const Node& r = nodes_[right];
    Node node{left, right, 0, l.first, r.last, false};
    // The count is capped: a wrong schedule may double it without end.
    const std::int64_t many = std::numeric_limits<std::int64_t>::max() / 2;
    node.leaves = std::min(many, l.leaves + r.leaves);
    node.in_order = l.in_order && r.in_order && l.last + 1 == r.first;
    nodes_.push_back(node);
    return place->second;
}

bool Terms::is_combination(Term term, Sources sources) {
    const Node& node = nodes_[term];
    const std::int64_t wanted = sources.last - sources.first + 1;
    if (node.leaves != wanted) return false;
    if (node.in_order) return node.first == sources.first;
    if (!commutative_) return false;
    const auto [place, is_new] = unordered_.try_emplace(term, Sources{0, -1});
    if (is_new) {
        std::vector<Rank> leaves = leaves_of(term, static_cast<std::size_t>(wanted));
        std::sort(leaves.begin(), leaves.end());
        if (std::adjacent_find(leaves.begin(), leaves.end()) == leaves.end())
            place->second = {leaves.front(), leaves.back()};
    }
    return place->second == sources;
}

Term Terms::reproducible(Sources sources) {
    if (sources.is_one()) return contribution(sources.first);
    const auto distance = static_cast<std::uint32_t>(sources.last - sources.first);
    const Rank middle = sources.first + static_cast<Rank>(std::bit_floor(distance));
    const Term left = reproducible({sources.first, middle - 1});
    return combine(left, reproducible({middle, sources.last}));
}

std::vector<Rank> Terms::leaves_of(Term term, std::size_t at_most) const {
    std::vector<Rank> leaves;
    std::vector<Term> open{term};
    while (!open.empty() && leaves.size() < at_most) {
        const Node& node = nodes_[open.back()];
        open.pop_back();
        if (node.leaves == 1) {
            leaves.push_back(node.first);
        } else {
            open.push_back(node.right);
            open.push_back(node.left);
        }
    }
    return leaves;
}

std::string Terms::text(Term term) const {
    if (term == undefined) return "unwritten bytes";
    const Node& node = nodes_[term];
    if (node.leaves == 1) return "rank " + std::to_string(node.first) + "'s";
    if (node.in_order) {
        return "the combination of ranks " + std::to_string(node.first) + ".." +
               std::to_string(node.last);
    }
    constexpr std::size_t shown = 12;
    std::string text;
    for (Rank leaf : leaves_of(term, shown)) {
        text += (text.empty() ? "" : ", ") + std::to_string(leaf);
    }
    if (node.leaves > static_cast<std::int64_t>(shown)) text += ", ...";
    return "the combination of ranks " + text + (commutative_ ? "" : " (in this order)");
}

std::string Terms::association(Term term) const {
    const Node& node = nodes_[term];
    constexpr std::int64_t shown = 33;
    if (term == undefined || node.leaves > shown) return text(term);
    if (node.leaves == 1) return std::to_string(node.first);
    return '(' + association(node.left) + ' ' + association(node.right) + ')';
}

Memory::Memory(std::int64_t bytes) : bytes_(bytes), pieces_{{0, undefined, 0}} {}

std::size_t Memory::piece_at(std::int64_t position) const {
    if (pieces_.size() == 1) return 0;
    auto next = std::upper_bound(pieces_.begin(), pieces_.end(), position,
                                 [](std::int64_t at, const Piece& p) { return at < p.begin; });
    return static_cast<std::size_t>(next - pieces_.begin()) - 1;
}

void Memory::read(std::int64_t begin, std::int64_t bytes, std::vector<Stretch>& out) const {
    if (bytes == 0) return;
    const std::int64_t end = begin + bytes;
    for (std::size_t i = piece_at(begin); begin < end; ++i) {
        const std::int64_t until = std::min(end, end_of(i));
        out.push_back({until - begin, pieces_[i].term, begin + pieces_[i].shift});
        begin = until;
    }
}

void Memory::write(std::int64_t begin, std::span<const Stretch> value) {
    std::int64_t end = begin;
    for (const Stretch& stretch : value) end += stretch.bytes;
    if (begin == end) return;
    const std::size_t first = piece_at(begin);
    const std::size_t last = piece_at(end - 1);

    // The touched pieces and their neighbors, after the write.
    spare_.clear();
    auto put = [&](const Piece& piece) {
        if (!spare_.empty() && spare_.back().term == piece.term &&
            spare_.back().shift == piece.shift) {
            return;
        }
        spare_.push_back(piece);
    };
    const std::size_t from = first > 0 ? first - 1 : first;
    const std::size_t to = std::min(last + 2, pieces_.size());
    if (first > 0) put(pieces_[first - 1]);
    if (pieces_[first].begin < begin) put(pieces_[first]);
    std::int64_t at = begin;
    for (const Stretch& stretch : value) {
        if (stretch.bytes == 0) continue;
        put({at, stretch.term, stretch.term == undefined ? 0 : stretch.origin - at});
        at += stretch.bytes;
    }
    if (end_of(last) > end) put({end, pieces_[last].term, pieces_[last].shift});
    if (last + 1 < pieces_.size()) put(pieces_[last + 1]);

    const auto place = pieces_.begin() + static_cast<std::ptrdiff_t>(from);
    const std::size_t kept = std::min(to - from, spare_.size());
    std::copy_n(spare_.begin(), kept, place);
    if (spare_.size() < to - from) {
        pieces_.erase(place + static_cast<std::ptrdiff_t>(kept),
                      place + static_cast<std::ptrdiff_t>(to - from));
    } else {
        pieces_.insert(place + static_cast<std::ptrdiff_t>(kept),
                       spare_.begin() + static_cast<std::ptrdiff_t>(kept), spare_.end());
    }
}

}  // namespace weft::checking
