#include "mpi_dropin/part/communicators.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "mpi_dropin/part/handle_map.h"
#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {
namespace {

constexpr std::uint64_t world_number = 1;

auto& taken_comms = lasting<HandleMap<MPI_Comm, TakenComm>>();
int keyval = MPI_KEYVAL_INVALID;
MPI_Group world_group = MPI_GROUP_NULL;
int own_rank = 0;
std::uint64_t unordered_made = 0;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2));
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// The MPI calls it when the program frees the communicator.
int forget(MPI_Comm comm, int, void* value, void*) {
    auto* taken = static_cast<TakenComm*>(value);
    {
        const Exclusive exclusive;
        taken_comms.remove(comm);
        taken->is_freed = true;
    }
    let_go(*taken);
    return MPI_SUCCESS;
}

// Ranks of `from` as they are numbered in `to`.
std::vector<int> translated(MPI_Group from, int ranks, MPI_Group to) {
    std::vector<int> mine(static_cast<std::size_t>(ranks)), theirs(mine.size());
    std::iota(mine.begin(), mine.end(), 0);
    mpi.Group_translate_ranks(from, ranks, mine.data(), to, theirs.data());
    return theirs;
}

// What Weft needs to know about a communicator's topology. This object owns the arrays.
struct MpiTopology {
    std::vector<int> dims, periods, coords, sources, destinations;
    bool has_graph = false;
};

MpiTopology topology_of(MPI_Comm comm, int rank) {
    MpiTopology topology;
    int kind = MPI_UNDEFINED;
    mpi.Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        int ndims = 0;
        mpi.Cartdim_get(comm, &ndims);
        const auto size = static_cast<std::size_t>(ndims);
        topology.dims.resize(size);
        topology.periods.resize(size);
        topology.coords.resize(size);
        mpi.Cart_get(comm, ndims, topology.dims.data(), topology.periods.data(),
                     topology.coords.data());
        // To an MPI any number but 0 is true.
        for (int& period : topology.periods) period = period != 0 ? 1 : 0;
        topology.has_graph = ndims == 0;  // a single place without neighbors
    } else if (kind == MPI_GRAPH) {
        int degree = 0;
        mpi.Graph_neighbors_count(comm, rank, &degree);
        topology.sources.resize(static_cast<std::size_t>(degree));
        mpi.Graph_neighbors(comm, rank, degree, topology.sources.data());
        topology.destinations = topology.sources;
        topology.has_graph = true;
    } else if (kind == MPI_DIST_GRAPH) {
        int in = 0, out = 0, weighted = 0;
        mpi.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
        topology.sources.resize(static_cast<std::size_t>(in));
        topology.destinations.resize(static_cast<std::size_t>(out));
        std::vector<int> in_weights(topology.sources.size()),
            out_weights(topology.destinations.size());
        // Not MPI_UNWEIGHTED: it may be a variable in an MPI library that is not in the global
        // scope.
        mpi.Dist_graph_neighbors(comm, in, topology.sources.data(), in_weights.data(), out,
                                 topology.destinations.data(), out_weights.data());
        topology.has_graph = true;
    }
    return topology;
}

void hang_on(std::unique_ptr<TakenComm> comm) {
    comm->users = 1;
    {
        const Exclusive exclusive;
        taken_comms.add(comm->handle, comm.get());
    }
    TakenComm* const taken = comm.release();
    if (mpi.Comm_set_attr(taken->handle, keyval, taken) != MPI_SUCCESS) {
        std::fprintf(stderr, "weft: rank %d cannot attach to a communicator\n", own_rank);
        // Calls fail: other ranks have taken it.
        if (taken->comm) weft_comm_break(taken->comm, "no attribute on a rank's communicator");
        taken->comm = WEFT_COMM_NULL;
    }
}

std::unique_ptr<TakenComm> described(MPI_Comm handle, std::uint64_t number) {
    auto comm = std::make_unique<TakenComm>();
    comm->handle = handle;
    comm->number = number;
    mpi.Comm_rank(handle, &comm->rank);
    mpi.Comm_size(handle, &comm->ranks);
    return comm;
}

void take_made(MPI_Comm made, std::uint64_t number, const std::vector<int>& world_ranks) {
    std::unique_ptr<TakenComm> comm = described(made, number);
    const MpiTopology topology = topology_of(made, comm->rank);
    comm->has_topology = topology.has_graph || !topology.dims.empty();
    const auto ndims = static_cast<int>(topology.dims.size());
    comm->indegree = ndims > 0 ? 2 * ndims : static_cast<int>(topology.sources.size());
    comm->outdegree = ndims > 0 ? 2 * ndims : static_cast<int>(topology.destinations.size());
    weft_members members{};
    members.struct_bytes = sizeof members;
    members.number = number;
    members.ranks = comm->ranks;
    members.world_ranks = world_ranks.data();
    members.ndims = ndims;
    members.dims = topology.dims.data();
    members.periods = topology.periods.data();
    members.has_graph = topology.has_graph;
    members.indegree = static_cast<int>(topology.sources.size());
    members.sources = topology.sources.data();
    members.outdegree = static_cast<int>(topology.destinations.size());
    members.destinations = topology.destinations.data();
    if (weft_comm_from_members(&members, &comm->comm) != WEFT_OK) {
        std::fprintf(stderr, "weft: rank %d cannot use a new communicator of %d ranks: %s\n",
                     own_rank, comm->ranks, weft_last_detail());
        comm->comm = WEFT_COMM_NULL;
    }
    hang_on(std::move(comm));
}

}  // namespace

TakenComm* taken(MPI_Comm comm) {
    const Exclusive exclusive;
    return taken_comms.find(comm);
}

void keep(TakenComm& comm) {
    const Exclusive exclusive;
    ++comm.users;
}

void let_go(TakenComm& comm) {
    {
        const Exclusive exclusive;
        if (--comm.users > 0) return;
    }
    // Weft's world and self last as long as Weft.
    if (comm.comm && comm.comm != weft_comm_world() && comm.comm != weft_comm_self()) {
        weft_comm_free(&comm.comm);
    }
    delete &comm;
}

bool take_first_communicators(weft_comm world) {
    mpi.Comm_rank(MPI_COMM_WORLD, &own_rank);
    if (mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr) != MPI_SUCCESS ||
        mpi.Comm_group(MPI_COMM_WORLD, &world_group) != MPI_SUCCESS) {
        return false;
    }
    std::unique_ptr<TakenComm> all_ranks = described(MPI_COMM_WORLD, world_number);
    all_ranks->comm = world;
    hang_on(std::move(all_ranks));
    // Communicators of one rank each: their numbers must differ only from others in this process.
    std::unique_ptr<TakenComm> alone =
        described(MPI_COMM_SELF, mixed(world_number, ~static_cast<std::uint64_t>(own_rank)));
    alone->comm = weft_comm_self();
    hang_on(std::move(alone));
    return true;
}

void leave_communicators() {
    std::vector<MPI_Comm> left;
    taken_comms.for_each([&](TakenComm& comm) { left.push_back(comm.handle); });
    for (MPI_Comm comm : left) mpi.Comm_delete_attr(comm, keyval);
    if (keyval != MPI_KEYVAL_INVALID) mpi.Comm_free_keyval(&keyval);
    if (world_group != MPI_GROUP_NULL) mpi.Group_free(&world_group);
}

int raise_error(const TakenComm& comm, int code) {
    mpi.Comm_call_errhandler(comm.is_freed ? MPI_COMM_SELF : comm.handle, code);
    return code;
}

int refuse_request(const TakenComm* comm, Misuse why) {
    static constexpr const char* sentences[] = {
        "MPI_Start: the operation is active", "MPI_Request_free: the operation is active",
        "MPI_Cancel: a collective operation cannot be cancelled",
        "a call got a copy of a request that has been completed"};
    // The MPI's own message names the function that calls the handler.
    static std::atomic<bool> has_said[static_cast<int>(Misuse::number)];
    if (!has_said[static_cast<int>(why)].exchange(true))
        std::fprintf(stderr, "weft: %s\n", sentences[static_cast<int>(why)]);
    if (comm) return raise_error(*comm, MPI_ERR_REQUEST);
    mpi.Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_REQUEST);
    return MPI_ERR_REQUEST;
}

CommConstruction::CommConstruction(MPI_Comm parent) {
    {
        const Exclusive exclusive;
        parent_ = taken_comms.find(parent);
        if (!parent_) return;
        ++parent_->users;
        turn_ = ++parent_->constructors;
    }
    is_expecting_ = weft_expect_comms(1) == WEFT_OK;
}

CommConstruction::CommConstruction() : is_unordered_(true) {
    {
        const Exclusive exclusive;
        if (taken_comms.size() == 0) return;
    }
    is_expecting_ = weft_expect_comms(1) == WEFT_OK;
}

CommConstruction::CommConstruction(CommConstruction&& other) noexcept
    : parent_(std::exchange(other.parent_, nullptr)),
      turn_(other.turn_),
      is_unordered_(other.is_unordered_),
      is_expecting_(std::exchange(other.is_expecting_, false)) {}

CommConstruction::~CommConstruction() {
    if (parent_) let_go(*parent_);
    if (is_expecting_) weft_expect_comms(0);
}

void CommConstruction::fail() {
    if (!parent_) return;
    const Exclusive exclusive;
    if (parent_->constructors == turn_) --parent_->constructors;
}

void CommConstruction::take(MPI_Comm made) {
    if (made == MPI_COMM_NULL || !is_expecting_) return;
    int is_inter = 0, ranks = 0;
    mpi.Comm_test_inter(made, &is_inter);
    if (is_inter) return;
    MPI_Group group = MPI_GROUP_NULL;
    mpi.Comm_group(made, &group);
    mpi.Comm_size(made, &ranks);
    const std::vector<int> world_ranks = translated(group, ranks, world_group);
    // A process of another job is among them, as all members see. It may not have Weft, so send
    // nothing before this check.
    if (std::find(world_ranks.begin(), world_ranks.end(), MPI_UNDEFINED) != world_ranks.end()) {
        mpi.Group_free(&group);
        return;
    }
    std::uint64_t number = 0;
    if (is_unordered_) {
        // The MPI's own broadcast: all ranks are inside the constructor.
        {
            const Exclusive exclusive;
            number =
                mixed(mixed(~world_number, static_cast<std::uint64_t>(own_rank)), ++unordered_made);
        }
        mpi.Bcast(&number, sizeof number, MPI_BYTE, 0, made);
    } else {
        int lowest = 0;
        if (ranks < parent_->ranks) {  // otherwise the parent may have been freed since (Comm_idup)
            MPI_Group parents = MPI_GROUP_NULL;
            mpi.Comm_group(parent_->handle, &parents);
            const std::vector<int> in_parent = translated(group, ranks, parents);
            mpi.Group_free(&parents);
            lowest = *std::min_element(in_parent.begin(), in_parent.end());
        }
        number = mixed(mixed(parent_->number, turn_), static_cast<std::uint64_t>(lowest));
    }
    mpi.Group_free(&group);
    take_made(made, number, world_ranks);
}

}  // namespace weft::dropin
