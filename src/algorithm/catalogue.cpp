#include "algorithm/catalogue.h"

#include "algorithm/list.h"

namespace weft::algorithm {
std::span<const Family> catalogue() {
    // clang-format off
    static const Family families[] = {
        barrier(),
        bcast(),
        gather(),
        scatter(),
        allgather(),
        alltoall(),
        reduce(),
        allreduce(),
        reduce_scatter_block(),
        allgatherv(),
        reduce_scatter(),
        scan(),
        exscan(),
        gatherv(),
        scatterv(),
        alltoallv(),
        alltoallw(),
        neighbor_allgather(),
        neighbor_allgatherv(),
        neighbor_alltoall(),
        neighbor_alltoallv(),
        neighbor_alltoallw(),
    };
    // clang-format on
    static_assert(std::size(families) == collectives);
    return families;
}

const Family& family_of(Collective collective) {
    const Family& family = catalogue()[static_cast<std::size_t>(collective)];
    WEFT_ASSERT(family.collective == collective);
    return family;
}

const Family* find_family(std::string_view collective) {
    for (const Family& family : catalogue()) {
        if (family.name == collective) return &family;
    }
    return nullptr;
}

}  // namespace weft::algorithm
