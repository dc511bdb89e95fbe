#include "algorithm/catalogue.h"

#include "algorithm/list.h"

namespace weft::algorithm {
namespace {

std::int64_t bytes_of(const BlocksOn& blocks, const Problem& p) {
    const Blocks here = p.rank == p.root ? blocks.root : blocks.others;
    return (here == Blocks::all ? p.ranks : static_cast<std::int64_t>(here)) * p.bytes;
}

}  // namespace

std::span<const Family> catalogue() {
    using C = Collective;
    using enum InPlace;
    constexpr BlocksOn none = {Blocks::none, Blocks::none};
    constexpr BlocksOn one = {Blocks::one, Blocks::one};
    constexpr BlocksOn all = {Blocks::all, Blocks::all};
    constexpr BlocksOn root_one = {Blocks::one, Blocks::none};
    constexpr BlocksOn root_all = {Blocks::all, Blocks::none};
    // name, has a root, reduces, in place, send buffer, receive buffer, algorithms
    static const Family families[] = {
        {C::barrier, "barrier", false, false, never, none, none, barriers()},
        {C::bcast, "bcast", true, false, never, none, one, bcasts()},
        {C::gather, "gather", true, false, send_at_root, one, root_all, gathers()},
        {C::scatter, "scatter", true, false, recv_at_root, root_all, one, scatters()},
        {C::allgather, "allgather", false, false, send, one, all, allgathers()},
        {C::alltoall, "alltoall", false, false, send, all, all, alltoalls()},
        {C::reduce, "reduce", true, true, send_at_root, one, root_one, reduces()},
        {C::allreduce, "allreduce", false, true, send, one, one, allreduces()},
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
    const bool spared =
        in_place == InPlace::send || (in_place == InPlace::send_at_root && p.rank == p.root);
    return p.in_place && spared ? 0 : bytes_of(send, p);
}

std::int64_t Family::recv_bytes(const Problem& p) const {
    const bool spared = in_place == InPlace::recv_at_root && p.rank == p.root;
    return p.in_place && spared ? 0 : bytes_of(recv, p);
}

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
