// The bodies of weft/oob.h but weft_comm_from_oob.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "c_api/guard.h"
#include "process/construct.h"
#include "process/neighbors.h"
#include "weft/oob.h"

using namespace weft;

namespace {

// Refuses lists that are not of different ranks of the job, with this one. Returns its place.
Result<Rank> place_in(const Process& process, std::span<const int> world_ranks) {
    std::vector<int> place(static_cast<std::size_t>(process.ranks()), -1);
    for (std::size_t r = 0; r < world_ranks.size(); ++r) {
        const int rank = world_ranks[r];
        if (rank < 0 || rank >= process.ranks()) {
            return failure(WEFT_REFUSED_ARGUMENT, "world_ranks[%zu] = %d; expected 0..%d", r, rank,
                           process.ranks() - 1);
        }
        int& own = place[static_cast<std::size_t>(rank)];
        if (own >= 0) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "world_ranks[%zu] = %d, as world_ranks[%d]; expected different ranks", r,
                           rank, own);
        }
        own = static_cast<int>(r);
    }
    const int own = place[static_cast<std::size_t>(process.rank())];
    if (own >= 0) return Rank{own};
    return failure(WEFT_REFUSED_ARGUMENT,
                   "world_ranks does not have %d, the calling rank; expected that", process.rank());
}

// Null: no topology.
Result<std::unique_ptr<const Neighborhood>> neighbors_of(const weft_members& members, Rank rank) {
    if (members.ndims != 0 && members.has_graph) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "ndims = %d and has_graph = %d; expected a grid or a graph", members.ndims,
                       members.has_graph);
    }
    if (members.has_graph) {
        Result<Neighborhood> graph =
            graph_of_arguments(members.indegree, members.sources, members.outdegree,
                               members.destinations, members.ranks);
        if (!graph.is_ok()) return graph.status();
        return std::make_unique<const Neighborhood>(std::move(*graph));
    }
    if (members.ndims == 0) return std::unique_ptr<const Neighborhood>();
    Result<Grid> grid =
        Grid::of_arguments(members.ndims, members.dims, members.periods, members.ranks);
    if (!grid.is_ok()) return grid.status();
    if (grid->places < members.ranks) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "the grid has %d places; expected %d, one for each rank", grid->places,
                       members.ranks);
    }
    return std::make_unique<const Neighborhood>(grid_neighbors(grid->dimensions, rank));
}

}  // namespace

weft_status weft_comm_from_members(const weft_members* members, weft_comm* comm) {
    return c_api::guarded_process("weft_comm_from_members", [&](Process& process) -> Status {
        if (!members || members->struct_bytes != sizeof *members) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "members = %s; expected a weft_members of this version",
                           members ? "unknown" : "null");
        }
        WEFT_RETURN_IF_NOT_OK(c_api::check_address("comm", comm));
        auto world_ranks =
            number_array("ranks", members->ranks, "world_ranks", members->world_ranks);
        if (!world_ranks.is_ok()) return world_ranks.status();
        Result<Rank> rank = place_in(process, *world_ranks);
        if (!rank.is_ok()) return rank.status();
        auto neighbors = neighbors_of(*members, *rank);
        if (!neighbors.is_ok()) return neighbors.status();
        Result<Communicator*> made =
            make_from_members(process, {.number = members->number,
                                        .ranks = *world_ranks,
                                        .rank = *rank,
                                        .neighbors = std::move(*neighbors)});
        if (!made.is_ok()) return made.status();
        *comm = reinterpret_cast<weft_comm>(process.handle_of(**made));
        return ok;
    });
}

weft_status weft_expect_comms(int more) {
    return c_api::guarded_process("weft_expect_comms", [&](Process& process) -> Status {
        if (more != 0 && more != 1)
            return failure(WEFT_REFUSED_ARGUMENT, "more = %d; expected 0 or 1", more);
        if (more == 0) return process.expect_comm_less();
        process.expect_comm();
        return ok;
    });
}

weft_status weft_comm_refuse_call(weft_comm comm, const char* why) {
    return c_api::guarded_communicator(
        "weft_comm_refuse_call", comm, [&](Process&, Communicator& communicator) -> Status {
            if (!why) return failure(WEFT_REFUSED_ARGUMENT, "why = null; expected a sentence");
            communicator.refuse_call(why);
            return ok;
        });
}

weft_status weft_comm_break(weft_comm comm, const char* why) {
    return c_api::guarded_communicator(
        "weft_comm_break", comm, [&](Process&, Communicator& communicator) -> Status {
            if (!why) return failure(WEFT_REFUSED_ARGUMENT, "why = null; expected a sentence");
            communicator.break_off(why);
            return ok;
        });
}
