// Schedules that the program builds.
#include <weft/schedule.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "communicator.h"
#include "operation.h"
#include "request.h"
#include "types.h"

namespace weft_python {
namespace {

// A piece of a buffer. Of a whole one, SENDBUF and RECVBUF, the size is not known.
struct Region {
    weft_region piece;

    Region slice(const nb::slice& of) const {
        const nb::object start = of.attr("start"), stop = of.attr("stop"), step = of.attr("step");
        const bool is_whole = piece.bytes == INT64_MAX;
        const auto begin = start.is_none() ? 0 : nb::cast<std::int64_t>(start);
        const auto end = stop.is_none() ? piece.bytes : nb::cast<std::int64_t>(stop);
        if (!step.is_none() || begin < 0 || end < begin || end > piece.bytes ||
            (is_whole && stop.is_none())) {
            refuse("a region is [begin:end] in bytes, inside of the one that it is a part of",
                   "Region");
        }
        return {{piece.buffer, piece.offset + begin, end - begin}};
    }
};

struct Node {
    weft_node number;
};

// What an operation does; in drawings by these names.
enum class Kind { send, recv, copy, reduce, reduce_right, join, call };
constexpr const char* kinds[] = {"send", "recv", "copy", "reduce", "reduce_right", "join", "call"};

class Schedule {
  public:
    explicit Schedule(const Comm& comm) : comm_(nb::find(comm)) {
        check(weft_schedule_create(comm.handle(), &handle_), "Schedule");
    }
    ~Schedule() { (void)weft_schedule_free(&handle_); }
    Schedule(const Schedule&) = delete;

    Region scratch(std::int64_t bytes) {
        Region region{};
        check(weft_schedule_scratch(handle_, bytes, &region.piece), "scratch");
        return region;
    }

    // Adds an operation by one of the functions of weft/schedule.h.
    template <Kind kind, auto function>
    Node message(const Region& region, int peer, nb::handle after) {
        return added(kind, peer, after, {&region},
                     [&](weft_node* node) { return function(handle_, region.piece, peer, node); });
    }
    template <Kind kind, auto function>
    Node local(const Region& from, const Region& into, nb::handle after) {
        return added(kind, -1, after, {&from, &into}, [&](weft_node* node) {
            return function(handle_, from.piece, into.piece, node);
        });
    }
    Node join(nb::handle after) {
        return added(Kind::join, -1, after, {},
                     [&](weft_node* node) { return weft_schedule_join(handle_, node); });
    }
    Node call(nb::object function, nb::handle region, nb::handle after) {
        Region data{{WEFT_SCRATCH, 0, 0}};
        if (!region.is_none()) data = nb::cast<Region&>(region);
        functions_.push_back(std::make_unique<nb::object>(std::move(function)));
        return added(Kind::call, -1, after, {&data}, [&](weft_node* node) {
            return weft_schedule_call(handle_, data.piece, &Schedule::run, functions_.back().get(),
                                      node);
        });
    }

    const nb::object& comm() const { return comm_; }
    const nb::list& operations() const { return operations_; }

    void seal() { check(weft_schedule_seal(handle_), "seal"); }
    void prove() {
        weft_status status;
        {
            const nb::gil_scoped_release unlocked;
            status = weft_schedule_check(handle_);
        }
        check(status, "check");
    }

    RequestObject init(nb::handle sendbuf, nb::handle recvbuf, nb::handle op) {
        auto operation = std::make_unique<Operation>("Schedule.init", WEFT_PERSISTENT);
        Buffer& send = operation->send;
        Buffer& recv = operation->recv;
        if (!sendbuf.is_none()) send.take(sendbuf, false, {"sendbuf", "init"});
        if (!recvbuf.is_none()) recv.take(recvbuf, true, {"recvbuf", "init"});
        check_extent(send, WEFT_SEND_BUFFER, "sendbuf");
        check_extent(recv, WEFT_RECV_BUFFER, "recvbuf");
        if (recv.is_taken()) operation->result = nb::borrow(recvbuf);
        operation->others.push_back(nb::find(*this));
        weft_op combines = WEFT_OP_NULL;
        if (!op.is_none()) {
            combines = OpArgument::of(op).expect("init").handle();
            operation->others.push_back(nb::borrow(op));
        }
        check(weft_schedule_init(handle_, send.data(), recv.data(),
                                 recv.is_taken() ? recv.type() : send.type(), combines,
                                 &operation->handle),
              "init");
        return make_request(std::move(operation));
    }

  private:
    static void run(void* data, std::size_t bytes, void* function) {
        call_in_any_thread("a function of a weft.Schedule", [&] {
            const LentMemory memory(data, bytes, true);
            (*static_cast<nb::object*>(function))(memory.view());
        });
    }

    template <class Add>
    Node added(Kind kind, int peer, nb::handle after, std::initializer_list<const Region*> regions,
               Add add) {
        std::vector<weft_node> before;
        const auto take = [&](nb::handle node) {
            if (!node.is_none()) before.push_back(nb::cast<Node&>(node).number);
        };
        if (nb::isinstance<Node>(after)) {
            take(after);
        } else if (!after.is_none()) {
            for (nb::handle predecessor : nb::tuple(after)) take(predecessor);
        }
        Node node{WEFT_NODE_NONE};
        check(add(&node.number), "Schedule");
        for (weft_node predecessor : before)
            check(weft_schedule_after(handle_, node.number, predecessor), "Schedule");
        note(kind, peer, regions, before);
        return node;
    }

    void note(Kind kind, int peer, std::initializer_list<const Region*> regions,
              const std::vector<weft_node>& before) {
        nb::list pieces, after;
        for (const Region* region : regions) {
            const auto [buffer, offset, bytes] = region->piece;
            extents_[buffer] = std::max(extents_[buffer], offset + bytes);
            pieces.append(nb::make_tuple(static_cast<int>(buffer), offset, bytes));
        }
        // A node is the number of its operation + 1, below the number of the schedule.
        for (weft_node node : before) after.append(static_cast<std::uint32_t>(node) - 1);
        operations_.append(
            nb::make_tuple(kinds[static_cast<std::size_t>(kind)], peer, pieces, after));
    }

    // (Weft does not know how large a buffer is.)
    void check_extent(const Buffer& buffer, weft_buffer which, const char* name) const {
        const std::size_t has = buffer.is_taken() ? buffer.bytes() : 0;
        const auto needs = static_cast<std::size_t>(extents_[which]);
        if (needs <= has) return;
        refuse(name + (" has " + std::to_string(has)) + " bytes; expected " + std::to_string(needs),
               "init");
    }

    weft_schedule handle_ = WEFT_SCHEDULE_NULL;
    nb::object comm_;
    std::array<std::int64_t, 3> extents_{};  // by weft_buffer
    nb::list operations_;
    std::vector<std::unique_ptr<nb::object>> functions_;
};

}  // namespace

void define_schedules(nb::module_& module) {
    nb::class_<Region>(module, "Region", R"(
A piece of a buffer: `SENDBUF[0:8]`, `RECVBUF[8:16]` or `schedule.scratch(64)[0:8]`, in bytes.
)")
        .def("__getitem__", &Region::slice)
        .def_prop_ro("bytes", [](const Region& region) { return region.piece.bytes; });
    module.attr("SENDBUF") = nb::cast(Region{{WEFT_SEND_BUFFER, 0, INT64_MAX}});
    module.attr("RECVBUF") = nb::cast(Region{{WEFT_RECV_BUFFER, 0, INT64_MAX}});
    nb::class_<Node>(module, "Node", "An operation of a schedule.");

    const auto after = nb::arg("after").none() = nb::none();
    nb::class_<Schedule>(module, "Schedule", nb::is_weak_referenceable(), R"(
This rank's part in a communication that the program designs: a graph of operations.

Each operation starts when those named by `after` (a Node or a sequence) have completed. Messages
between two ranks match in the order in which the two schedules have them. `seal` ends building,
`check` proves that the schedules of all ranks fit together, `init` makes a persistent request.
)")
        .def(nb::init<const Comm&>(), nb::arg("comm"))
        .def("scratch", &Schedule::scratch, nb::arg("bytes"), "Take a region of its own memory.")
        .def("send", &Schedule::message<Kind::send, &weft_schedule_send>, nb::arg("region"),
             nb::arg("peer"), after, "Send a region to a rank.")
        .def("recv", &Schedule::message<Kind::recv, &weft_schedule_recv>, nb::arg("region"),
             nb::arg("peer"), after, "Receive a region from a rank.")
        .def("copy", &Schedule::local<Kind::copy, &weft_schedule_copy>, nb::arg("source"),
             nb::arg("target"), after, "target = source")
        .def("reduce", &Schedule::local<Kind::reduce, &weft_schedule_reduce>, nb::arg("source"),
             nb::arg("target"), after, "target = source op target")
        .def("reduce_right", &Schedule::local<Kind::reduce_right, &weft_schedule_reduce_right>,
             nb::arg("source"), nb::arg("target"), after,
             "target = target op source; the source is undefined then.")
        .def("join", &Schedule::join, nb::arg("after"), "Complete when all of `after` have.")
        .def("call", &Schedule::call, nb::arg("function"), nb::arg("region").none() = nb::none(),
             after, R"(
Call `function(memory)` with a memoryview of the region, in any thread. It must not keep the memory
or call Weft; what it raises breaks the communicator.
)")
        .def_prop_ro("comm", &Schedule::comm, nb::sig("def comm(self) -> Comm"),
                     "The communicator that it is for.")
        .def_prop_ro("operations", &Schedule::operations,
                     nb::sig("def operations(self) -> list[tuple[str, int, list[tuple[int, int, "
                             "int]], list[int]]]"),
                     R"(
The operations in the order in which they were added: a list of (kind, peer or -1, regions, after).

A region is (buffer, offset, bytes); the buffer is 0 for SENDBUF, 1 for RECVBUF, 2 for scratch
memory. `after` has the places of predecessors in this list.
)")
        .def("seal", &Schedule::seal, "End building.")
        .def("check", &Schedule::prove,
             "Prove that the schedules of all ranks fit together, or raise. All ranks call it.")
        .def("init", &Schedule::init, nb::arg("sendbuf").none() = nb::none(),
             nb::arg("recvbuf").none() = nb::none(), nb::arg("op").none() = nb::none(), R"(
Make a persistent request. All ranks call it.

Parameters
----------
sendbuf, recvbuf : buffer, optional
    The memory of SENDBUF and RECVBUF.
op : Op or str, optional
    The operation of all reductions.
)");
}

}  // namespace weft_python
