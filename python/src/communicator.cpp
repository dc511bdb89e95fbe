#include "communicator.h"

#include <weft/oob.h>

#include <cstring>
#include <exception>
#include <vector>

namespace weft_python {
namespace {

// Calls what waits for other ranks without the GIL.
template <class Call>
void check_without_gil(const char* name, Call call) {
    weft_status status;
    {
        const nb::gil_scoped_release unlocked;
        status = call();
    }
    check(status, name);
}

template <class Construct>
nb::object made(const char* name, Construct construct) {
    weft_comm comm = WEFT_COMM_NULL;
    check_without_gil(name, [&] { return construct(&comm); });
    return comm == WEFT_COMM_NULL ? nb::object(nb::none()) : nb::cast(Comm(comm, true));
}

std::vector<int> ints(nb::handle sequence) {
    std::vector<int> result;
    for (nb::handle item : nb::tuple(sequence)) result.push_back(nb::cast<int>(item));
    return result;
}

nb::object cart(const Comm& comm, nb::handle dims, nb::handle periods) {
    const std::vector<int> places = ints(dims);
    std::vector<int> rings(places.size(), 0);
    if (!periods.is_none()) rings = ints(periods);
    if (rings.size() != places.size()) {
        refuse("periods has " + std::to_string(rings.size()) + " values; expected " +
                   std::to_string(places.size()),
               "cart");
    }
    return made("cart", [&](weft_comm* new_comm) {
        return weft_comm_cart(comm.handle(), static_cast<int>(places.size()), places.data(),
                              rings.data(), new_comm);
    });
}

nb::object graph(const Comm& comm, nb::handle sources, nb::handle destinations) {
    const std::vector<int> from = ints(sources), to = ints(destinations);
    return made("graph", [&](weft_comm* new_comm) {
        return weft_comm_graph(comm.handle(), static_cast<int>(from.size()), from.data(),
                               static_cast<int>(to.size()), to.data(), new_comm);
    });
}

nb::object neighbors(const Comm& comm) {
    const auto [indegree, outdegree] = comm.degrees("neighbors");
    std::vector<int> from(static_cast<std::size_t>(indegree));
    std::vector<int> to(static_cast<std::size_t>(outdegree));
    check(weft_comm_neighbors(comm.handle(), indegree, from.data(), outdegree, to.data()),
          "neighbors");
    nb::list sources, destinations;
    for (int rank : from) sources.append(rank);
    for (int rank : to) destinations.append(rank);
    return nb::make_tuple(sources, destinations);
}

// An exchange by a function of Python's, bytes -> the bytes of all ranks, one behind the other.
struct Exchange {
    nb::object allgather;
    int ranks;
    std::exception_ptr failure;

    static int call(void* context, const void* mine, void* all, int bytes) {
        Exchange& self = *static_cast<Exchange*>(context);
        const nb::gil_scoped_acquire locked;
        try {
            const nb::bytes own(mine, static_cast<std::size_t>(bytes));
            const nb::object gathered = self.allgather(own);
            const auto result = nb::cast<nb::bytes>(gathered);
            const std::size_t expected =
                static_cast<std::size_t>(bytes) * static_cast<std::size_t>(self.ranks);
            if (result.size() != expected) {
                refuse("allgather returned " + std::to_string(result.size()) + " bytes; expected " +
                           std::to_string(expected),
                       "from_oob");
            }
            std::memcpy(all, result.c_str(), expected);
            return 0;
        } catch (...) {
            self.failure = std::current_exception();
            return 1;
        }
    }
};

nb::object from_oob(int rank, int ranks, nb::object allgather) {
    Exchange exchange{std::move(allgather), ranks, nullptr};
    weft_oob oob;
    std::memset(&oob, 0, sizeof oob);
    oob.struct_bytes = sizeof oob;
    oob.context = &exchange;
    oob.rank = rank;
    oob.ranks = ranks;
    oob.allgather = &Exchange::call;
    weft_comm comm = WEFT_COMM_NULL;
    weft_status status;
    {
        const nb::gil_scoped_release unlocked;
        status = weft_comm_from_oob(&oob, &comm);
    }
    if (status != WEFT_OK && exchange.failure) std::rethrow_exception(exchange.failure);
    check(status, "from_oob");
    return nb::cast(Comm(comm, true));
}

}  // namespace

Comm::Comm(weft_comm handle, bool is_owned) : handle_(handle), is_owned_(is_owned) {
    check(weft_comm_rank(handle, &rank_));
    check(weft_comm_size(handle, &size_));
}

Comm::Comm(Comm&& other) noexcept
    : handle_(other.handle_),
      rank_(other.rank_),
      size_(other.size_),
      is_owned_(std::exchange(other.is_owned_, false)) {}

Comm::~Comm() {
    if (is_owned_) (void)weft_comm_free(&handle_);
}

void Comm::free() {
    check(weft_comm_free(&handle_), "free");
    is_owned_ = false;
}

std::pair<int, int> Comm::degrees(const char* call) const {
    int indegree = 0, outdegree = 0;
    check(weft_comm_neighbors_count(handle_, &indegree, &outdegree), call);
    return {indegree, outdegree};
}

void define_communicators(nb::module_& module) {
    nb::class_<Comm> comm(module, "Comm", nb::is_weak_referenceable(), R"(
A group of ranks and the order of their operations.

Methods have mpi4py's names and orders of arguments in lower case: `iallreduce(sendbuf, recvbuf)`
starts, `allreduce` waits, `allreduce_init` makes a persistent request. All ranks make the same
calls of collectives in the same order; messages between two ranks (`isend`, `irecv`) meet by their
tags. Freed when nothing refers to it any more.
)");
    comm.def_prop_ro("rank", &Comm::rank, "This process's rank, 0 ... size - 1.")
        .def_prop_ro("size", &Comm::size, "The number of ranks.")
        .def("Get_rank", &Comm::rank, "As `rank`.")
        .def("Get_size", &Comm::size, "As `size`.")
        .def(
            "dup",
            [](const Comm& self, const std::string& settings) {
                return made("dup", [&](weft_comm* new_comm) {
                    return weft_comm_dup_with(self.handle(), settings.c_str(), new_comm);
                });
            },
            nb::arg("settings") = "", R"(
Make a communicator of the same ranks.

Parameters
----------
settings : str, optional
    Words such as "reproducible=1", "accumulate=float32", "wire=int8" or
    "bcast=chain:segment=64K"; see weft_comm_dup_with in weft/comm.h.
)")
        .def(
            "wire_error",
            [](const Comm& self) {
                double error = 0;
                check(weft_comm_wire_error(self.handle(), &error), "wire_error");
                return error;
            },
            R"(
Return by how much results on a communicator with "wire=int8" may be off, and begin anew.

Returns
-------
float
    A bound on the error of each element of the results that this rank has got since the last such
    call, in the unit of the elements. Not finite: an operand or a sum was not finite, or its
    magnitude was 2**127 or more; the elements beside it are no numbers either. 0 with
    "wire=bfloat16": it tells nothing there, where each rounding keeps 8 significant bits.
)")
        .def(
            "split",
            [](const Comm& self, nb::handle color, int key) {
                const int number = color.is_none() ? WEFT_COLOR_NONE : nb::cast<int>(color);
                return made("split", [&](weft_comm* new_comm) {
                    return weft_comm_split(self.handle(), number, key, new_comm);
                });
            },
            nb::arg("color").none() = 0, nb::arg("key") = 0, R"(
Make a communicator of the ranks that give the same color.

Parameters
----------
color : int or None
    None: this rank gets no communicator, but None.
key : int, optional
    The order of the ranks; those with equal keys stay in their order.
)")
        .def(
            "split_node",
            [](const Comm& self, int key) {
                return made("split_node", [&](weft_comm* new_comm) {
                    return weft_comm_split_node(self.handle(), key, new_comm);
                });
            },
            nb::arg("key") = 0, "Make a communicator of the ranks of this node.")
        .def("cart", &cart, nb::arg("dims"), nb::arg("periods").none() = nb::none(), R"(
Make a communicator whose ranks form a grid, for the neighbor collectives.

Parameters
----------
dims : sequence of int
    Places in each dimension; the last varies fastest.
periods : sequence of bool, optional
    Which dimensions are rings.
)")
        .def("graph", &graph, nb::arg("sources"), nb::arg("destinations"), R"(
Make a communicator whose neighbor collectives follow a graph.

Parameters
----------
sources, destinations : sequence of int
    The ranks that this rank gets blocks from, and sends blocks to.
)")
        .def("neighbors", &neighbors, "Return the ranks (sources, destinations); -1: none.")
        .def(
            "set_offload",
            [](const Comm& self, bool offload) {
                check(weft_comm_set_offload(self.handle(), offload), "set_offload");
            },
            nb::arg("offload"), "Set whether the operating system may move its messages.")
        .def("free", &Comm::free, "Free it; operations that were started go on.")
        .def(
            "abort",
            [](const Comm& self, const std::string& reason) {
                check_without_gil("abort",
                                  [&] { return weft_comm_abort(self.handle(), reason.c_str()); });
            },
            nb::arg("reason"), R"(
Call off everything that is pending on this communicator, on all its ranks.

One rank alone may call it. Requests then raise `Aborted` on each rank, with this rank and the
reason, and their buffers are the program's again. The communicator can only be freed; others, also
those made from it, go on. Unlike MPI's, it ends no process.

Parameters
----------
reason : str
    Up to 55 bytes of it are sent.
)")
        .def("__repr__", [](const Comm& self) {
            return "<weft.Comm: rank " + std::to_string(self.rank()) + " of " +
                   std::to_string(self.size()) + ">";
        });
    define_collectives(comm, module);
    define_messages(comm, module);

    module.def("init", [] { check_without_gil("init", [] { return weft_init(); }); });
    module.def("finalize", [] { check_without_gil("finalize", [] { return weft_finalize(); }); });
    module.def("is_initialized", [] { return weft_is_initialized() != 0; });
    const auto existing = [](weft_comm comm_handle, const char* call) {
        if (comm_handle != WEFT_COMM_NULL) return Comm(comm_handle, false);
        refuse("Weft is not initialized; expected weft.init() first", call, WEFT_REFUSED_STATE);
    };
    module.def("comm_world", [=] { return existing(weft_comm_world(), "comm_world"); });
    module.def("comm_self", [=] { return existing(weft_comm_self(), "comm_self"); });
    module.def("from_oob", &from_oob, nb::arg("rank"), nb::arg("size"), nb::arg("allgather"));
    module.def("statistics", [] {
        weft_statistics now{};
        now.struct_bytes = sizeof now;
        check(weft_get_statistics(&now), "statistics");
        nb::dict result;
#define COUNT(name) result[#name] = now.name;
        COUNT(operations)
        COUNT(offloaded)
        COUNT(unexpected_messages)
        COUNT(connections)
        COUNT(descriptors)
        COUNT(memory_bytes)
#undef COUNT
        return result;
    });
    module.def("set_engine", [](int engine) {
        check_without_gil("set_engine",
                          [&] { return weft_set_engine(static_cast<weft_engine>(engine)); });
    });
    module.def("get_engine", [] { return static_cast<int>(weft_get_engine()); });
}

}  // namespace weft_python
