#include "algorithm/catalogue.h"

#include "algorithm/list.h"

namespace weft::algorithm {
namespace {

std::int64_t blocks(Blocks blocks, Rank ranks) {
    return blocks == Blocks::all ? ranks : static_cast<std::int64_t>(blocks);
}

}  // namespace

std::span<const Family> catalogue() {
    using enum Blocks;
    using enum InPlace;
    using C = Collective;
    // name, root, reduces, in place, send and receive buffer, algorithms
    static const Family families[] = {
        {C::barrier, "barrier", false, false, nobody, none, none, barriers()},
        {C::bcast, "bcast", true, false, nobody, none, one, bcasts()},
        {C::allgather, "allgather", false, false, everybody, one, all, allgathers()},
        {C::allreduce, "allreduce", false, true, everybody, one, one, allreduces()},
    };
    static_assert(std::size(families) == collectives);
    return families;
}

const Family& family_of(Collective collective) {
    return catalogue()[static_cast<std::size_t>(collective)];
}

const Family* find_family(std::string_view collective) {
    for (const Family& family : catalogue()) {
        if (family.name == collective) return &family;
    }
    return nullptr;
}

std::int64_t Family::send_bytes(const Problem& p) const {
    return p.in_place ? 0 : blocks(send, p.ranks) * p.bytes;
}

std::int64_t Family::recv_bytes(const Problem& p) const { return blocks(recv, p.ranks) * p.bytes; }

const Algorithm* Family::find(std::string_view algorithm) const {
    for (const Algorithm* known : algorithms) {
        if (known->name == algorithm) return known;
    }
    return nullptr;
}

std::string Family::known_names() const {
    std::string names;
    for (const Algorithm* known : algorithms) {
        names += std::string(names.empty() ? "" : ", ") + known->name;
    }
    return names;
}

}  // namespace weft::algorithm
