#include "support/reference.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft::test {
namespace {

// Which of its buffers a rank may leave out. one_buffer: the root has one for both.
enum class Spares : std::uint8_t { none, send, send_at_root, recv_at_root, one_buffer };

// Blocks: one for every rank, or neighbor.
constexpr int all = -1;
constexpr int each = -2;

struct Definition {
    const char* name;
    Spares spares;
    // Blocks that the root and the others contribute, and get.
    int root_gives;
    int others_give;
    int root_gets;
    int others_get;
    // The source of block b of rank r's result.
    Source (*source)(const Arguments& a, int r, int b);
};

Source of(int rank, int block) { return {rank, rank, block}; }
Source of_all(const Arguments& a, int block) { return {0, a.ranks - 1, block}; }
Source of_edge(const Arguments& a, int rank, int block) {
    return of(a.peer(each, rank, block, false), a.neighbors.origin(rank, block));
}

// MPI-5.0 chapter 6.
const Definition definitions[] = {
    {"barrier", Spares::none, 0, 0, 0, 0, nullptr},
    {"bcast", Spares::one_buffer, 1, 0, 1, 1,
     [](const Arguments& a, int, int) { return of(a.root, 0); }},
    {"gather", Spares::send_at_root, 1, 1, all, 0,
     [](const Arguments&, int, int b) { return of(b, 0); }},
    {"gatherv", Spares::send_at_root, 1, 1, all, 0,
     [](const Arguments&, int, int b) { return of(b, 0); }},
    {"scatter", Spares::recv_at_root, all, 0, 1, 1,
     [](const Arguments& a, int r, int) { return of(a.root, r); }},
    {"scatterv", Spares::recv_at_root, all, 0, 1, 1,
     [](const Arguments& a, int r, int) { return of(a.root, r); }},
    {"allgather", Spares::send, 1, 1, all, all,
     [](const Arguments&, int, int b) { return of(b, 0); }},
    {"allgatherv", Spares::send, 1, 1, all, all,
     [](const Arguments&, int, int b) { return of(b, 0); }},
    {"alltoall", Spares::send, all, all, all, all,
     [](const Arguments&, int r, int b) { return of(b, r); }},
    {"alltoallv", Spares::send, all, all, all, all,
     [](const Arguments&, int r, int b) { return of(b, r); }},
    {"alltoallw", Spares::send, all, all, all, all,
     [](const Arguments&, int r, int b) { return of(b, r); }},
    {"neighbor_allgather", Spares::none, 1, 1, each, each,
     [](const Arguments& a, int r, int b) { return of(a.peer(each, r, b, false), 0); }},
    {"neighbor_allgatherv", Spares::none, 1, 1, each, each,
     [](const Arguments& a, int r, int b) { return of(a.peer(each, r, b, false), 0); }},
    {"neighbor_alltoall", Spares::none, each, each, each, each, of_edge},
    {"neighbor_alltoallv", Spares::none, each, each, each, each, of_edge},
    {"neighbor_alltoallw", Spares::none, each, each, each, each, of_edge},
    {"reduce", Spares::send_at_root, 1, 1, 1, 0,
     [](const Arguments& a, int, int) { return of_all(a, 0); }},
    {"allreduce", Spares::send, 1, 1, 1, 1,
     [](const Arguments& a, int, int) { return of_all(a, 0); }},
    {"reduce_scatter_block", Spares::send, all, all, 1, 1,
     [](const Arguments& a, int r, int) { return of_all(a, r); }},
    {"reduce_scatter", Spares::send, all, all, 1, 1,
     [](const Arguments& a, int r, int) { return of_all(a, r); }},
    {"scan", Spares::send, 1, 1, 1, 1,
     [](const Arguments&, int r, int) {
         return Source{0, r, 0};
     }},
    {"exscan", Spares::send, 1, 1, 0, 1,
     [](const Arguments&, int r, int) {
         return Source{0, r - 1, 0};
     }},
};

const Definition& definition_of(const std::string& collective) {
    for (const Definition& known : definitions) {
        if (known.name == collective) return known;
    }
    std::fprintf(stderr, "tests/support/reference.cpp does not define %s\n", collective.c_str());
    std::abort();
}

using Elements = std::vector<std::byte>;

std::ptrdiff_t bytes(const Arguments& a, std::size_t elements) {
    return static_cast<std::ptrdiff_t>(elements * a.element_bytes);
}

template <class BlockOf>
Elements combined(const Arguments& a, int first, int last, BlockOf block_of) {
    if (first == last) return block_of(first);
    int right = first + 1;
    for (int step = 1; a.reproducible && first + step <= last; step *= 2) right = first + step;
    const Elements before = combined(a, first, right - 1, block_of);
    Elements result = combined(a, right, last, block_of);
    for (std::size_t i = 0; i < result.size(); i += a.element_bytes)
        a.combine(before.data() + i, result.data() + i);
    return result;
}

}  // namespace

bool has_in_place(const std::string& collective) {
    const Spares spares = definition_of(collective).spares;
    return spares != Spares::none && spares != Spares::one_buffer;
}

bool Arguments::is_in_place_on(int rank) const {
    const Spares spares = definition_of(collective).spares;
    if (spares == Spares::one_buffer) return rank == root;
    return in_place && (spares == Spares::send || (spares != Spares::none && rank == root));
}

bool Arguments::spares_recv() const {
    return definition_of(collective).spares == Spares::recv_at_root;
}

int Arguments::gives(int rank) const {
    const Definition& known = definition_of(collective);
    return rank == root ? known.root_gives : known.others_give;
}

int Arguments::gets(int rank) const {
    const Definition& known = definition_of(collective);
    return rank == root ? known.root_gets : known.others_get;
}

int Arguments::contributed(int rank) const {
    if (gets(rank) == each) {
        const auto& to = neighbors.destinations[static_cast<std::size_t>(rank)];
        if (gives(rank) == each) return static_cast<int>(to.size());
        return std::ranges::any_of(to, [](int neighbor) { return neighbor >= 0; }) ? 1 : 0;
    }
    return gives(rank) == all ? ranks : gives(rank);
}

int Arguments::received(int rank) const {
    if (gets(rank) == each)
        return static_cast<int>(neighbors.sources[static_cast<std::size_t>(rank)].size());
    return gets(rank) == all ? ranks : gets(rank);
}

// The rank that gets or sends a block.
int Arguments::peer(int blocks, int rank, int block, bool sends) const {
    if (blocks == all) return block;
    if (blocks != each) return root;
    return (
        sends ? neighbors.destinations
              : neighbors.sources)[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)];
}

std::size_t Arguments::amount(int rank, int peer, bool sends) const {
    if (peer < 0) return 0;  // it is not sent
    if (!sends) std::swap(rank, peer);
    // All neighbors get the same block.
    if (gives(rank) == 1 && gets(rank) == each) peer = rank;
    return amounts[static_cast<std::size_t>(rank * ranks + peer)];
}

// The place of the only block, or of one for every rank.
Place Arguments::one_of(int blocks, int rank, int block, bool sends) const {
    const auto b = static_cast<std::size_t>(block);
    if (!amounts.empty()) {
        auto of_block = [&](int i) {
            const int with = peer(blocks, rank, i, sends);
            std::size_t elements = amount(rank, with, sends);
            if (blocks == each && with >= 0 && gives(rank) == each)
                elements *=
                    static_cast<std::size_t>(edge_factor(sends ? i : neighbors.origin(rank, i)));
            return elements;
        };
        std::size_t begin = 0;
        for (int i = 0; i < (sends ? contributed(rank) : received(rank)); ++i) {
            if (has_gaps ? i > block : i < block) begin += of_block(i) + has_gaps;
        }
        return {false, begin, of_block(block)};
    }
    if (counts.empty()) return {false, b * count, count};
    if (blocks != all) return {false, 0, counts[static_cast<std::size_t>(rank)]};
    std::size_t begin = 0;
    for (std::size_t i = 0; i < b; ++i) begin += counts[i];
    if (!displacements.empty()) begin = static_cast<std::size_t>(displacements[b]);
    return {false, begin, counts[b]};
}

Place Arguments::contribution(int rank, int block) const {
    Place place = one_of(gives(rank), rank, block, true);
    if (!is_in_place_on(rank) || spares_recv()) return place;
    // If there is a result block for every rank, it is where that result will be; a rank's only block is where its own
    // result will be.
    if (gets(rank) == all) place = one_of(all, rank, gives(rank) == all ? block : rank, false);
    place.is_in_recv = true;
    return place;
}

Place Arguments::result(int rank, int block) const {
    if (is_in_place_on(rank) && spares_recv()) return contribution(rank, rank);
    Place place = one_of(gets(rank), rank, block, false);
    place.is_in_recv = true;
    return place;
}

bool Arguments::arrives(int rank, int block) const {
    return gets(rank) != each || peer(each, rank, block, false) >= 0;
}

Source Arguments::source(int rank, int block) const {
    return definition_of(collective).source(*this, rank, block);
}

std::size_t Arguments::elements(int rank, bool of_recv) const {
    std::size_t end = 0;
    auto include = [&](const Place& place) {
        if (place.is_in_recv == of_recv && place.count > 0)
            end = std::max(end, place.begin + place.count);
    };
    for (int b = 0; b < contributed(rank); ++b) include(contribution(rank, b));
    for (int b = 0; b < received(rank); ++b) include(result(rank, b));
    return end;
}

void perform(const Arguments& a, int rank, const Contribution& contribution,
             std::vector<std::byte>& recv) {
    for (int b = 0; b < a.received(rank); ++b) {
        const Place place = a.result(rank, b);
        if (!a.arrives(rank, b) || !place.is_in_recv) continue;  // it is where it was sent from
        const Source source = a.source(rank, b);
        const Elements block = combined(a, source.first, source.last, [&](int from) {
            return contribution(from, a.contribution(from, source.block));
        });
        std::ranges::copy(block, recv.begin() + bytes(a, place.begin));
    }
}

void perform(const Arguments& a, AllBuffers& buffers) {
    const AllBuffers before = buffers;
    const auto contribution = [&](int rank, const Place& place) {
        const auto& buffer =
            (place.is_in_recv ? before.recv : before.send)[static_cast<std::size_t>(rank)];
        const auto begin = buffer.begin() + bytes(a, place.begin);
        return Elements(begin, begin + bytes(a, place.count));
    };
    for (int r = 0; r < a.ranks; ++r)
        perform(a, r, contribution, buffers.recv[static_cast<std::size_t>(r)]);
}

}  // namespace weft::test
