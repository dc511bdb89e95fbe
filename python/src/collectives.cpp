// The collectives: from Python's arguments to a weft_call.
#include <memory>
#include <utility>

#include "blocks.h"
#include "communicator.h"
#include "operation.h"
#include "request.h"

namespace weft_python {
namespace {

enum class Shape {
    nothing,
    one_buffer,
    rooted,
    exchange,
    reduction,
    reduction_to_root,
    reduction_with_counts
};
enum class Side { everywhere, send_at_root, recv_at_root };

struct Collective {
    const char* names[3];  // by weft_form
    weft_collective number;
    Shape shape;
    Blocks send;
    Blocks recv;
    Side side;
    const char* text;
};

constexpr Collective collectives[] = {
#define COLLECTIVE(name, NAME, shape, send, recv, side, text) \
    {{"i" #name, #name, #name "_init"},                       \
     WEFT_COLLECTIVE_##NAME,                                  \
     Shape::shape,                                            \
     Blocks::send,                                            \
     Blocks::recv,                                            \
     Side::side,                                              \
     text},
#include "collectives.def"
#undef COLLECTIVE
};

struct InPlace {};

// The object IN_PLACE; lives as long as the process.
PyObject* in_place = nullptr;

// What Python passes. Null: the method does not have it.
struct Arguments {
    nb::handle send{};
    nb::handle recv{};
    OpArgument op{};
    int root = 0;
    nb::handle counts{};
};

// Makes one call.
class Maker {
  public:
    Maker(const Comm& comm, const Collective& collective, weft_form form,
          const Arguments& arguments)
        : comm_(comm),
          collective_(collective),
          arguments_(arguments),
          is_root_(comm.rank() == arguments.root),
          operation_(std::make_unique<Operation>(collective.names[form], form)) {}

    std::unique_ptr<Operation> make() {
        sweep();
        call_.collective = collective_.number;
        call_.root = arguments_.root;
        take_send();
        take_recv();
        if (arguments_.op.given.is_valid()) {
            op_ = &arguments_.op.expect(name());
            call_.op = op();
        }
        set_sides();
        check_types();
        if (op_ && op_->is_of_program()) {
            operation_->others.push_back(nb::find(*op_));
        }
        const weft_form form = operation_->is_persistent ? WEFT_PERSISTENT : WEFT_NONBLOCKING;
        check(weft_start_call(&call_, form, comm_.handle(), &operation_->handle), name());
        operation_->is_active = !operation_->is_persistent;
        return std::move(operation_);
    }

  private:
    const char* name() const { return operation_->call; }
    Argument sendbuf() const { return {"sendbuf", name()}; }
    Argument recvbuf() const {
        return {collective_.shape == Shape::one_buffer ? "buf" : "recvbuf", name()};
    }
    [[noreturn]] void refuse_argument(Argument argument, const std::string& reason) const {
        refuse(argument.name + (" " + reason), argument.call);
    }

    // Whether this rank's part in the call has the buffer.
    bool sends() const {
        return collective_.send != Blocks::none &&
               (collective_.side != Side::send_at_root || is_root_);
    }
    bool receives() const {
        return collective_.recv != Blocks::none &&
               (collective_.side != Side::recv_at_root || is_root_);
    }

    std::size_t number_of(Blocks blocks) const {
        switch (blocks) {
            case Blocks::none:
            case Blocks::one: return 1;
            case Blocks::ranks:
            case Blocks::varying:
            case Blocks::typed: return static_cast<std::size_t>(comm_.size());
            case Blocks::sources:
            case Blocks::varying_sources:
            case Blocks::typed_sources:
                return static_cast<std::size_t>(comm_.degrees(name()).first);
            default: return static_cast<std::size_t>(comm_.degrees(name()).second);
        }
    }

    nb::handle without_layout(nb::handle argument, Blocks blocks, Layout& layout, Argument which) {
        if (!is_varying(blocks)) return argument;
        return layout.take(argument, number_of(blocks), is_typed(blocks), which);
    }

    void take_send() {
        const bool has_counts = collective_.shape == Shape::reduction_with_counts;
        if (has_counts) {
            const Argument recvcounts = {"recvcounts", name()};
            if (arguments_.counts.is_none()) refuse_argument(recvcounts, "is missing");
            send_layout_.counts = sizes(arguments_.counts, recvcounts);
            check_length(send_layout_.counts.size(), number_of(Blocks::ranks), "counts",
                         recvcounts);
        }
        if (!sends()) return;
        sends_in_place_ = arguments_.send.is(in_place);
        if (sends_in_place_) return;
        nb::handle buffer = arguments_.send;
        if (!has_counts) buffer = without_layout(buffer, collective_.send, send_layout_, sendbuf());
        operation_->send.take(buffer, false, sendbuf());
    }

    void take_recv() {
        if (!receives()) {
            if (sends_in_place_) refuse_argument(sendbuf(), "= IN_PLACE; expected a buffer here");
            return;
        }
        nb::handle buffer = arguments_.recv;
        receives_in_place_ = buffer.is(in_place);
        if (receives_in_place_) {
            if (collective_.side != Side::send_at_root || !is_root_)
                refuse_argument(recvbuf(), "= IN_PLACE; expected a buffer here");
            operation_->result = nb::borrow(operation_->send.object());
            return;
        }
        if (!buffer.is_none() || is_typed(collective_.recv))
            buffer = without_layout(buffer, collective_.recv, recv_layout_, recvbuf());
        if (buffer.is_none() && collective_.shape != Shape::one_buffer) {
            operation_->result = new_array();
        } else {
            operation_->result = nb::borrow(buffer);
        }
        operation_->recv.take(operation_->result, true, recvbuf());
    }

    void set_sides() {
        const Operation& operation = *operation_;
        if (sends()) {
            const Buffer& buffer = sends_in_place_ ? operation.recv : operation.send;
            set_side(call_.send, collective_.send, buffer, send_layout_, sendbuf());
            if (sends_in_place_) call_.send.data = const_cast<void*>(WEFT_IN_PLACE);
        }
        if (receives()) {
            const Buffer& buffer = receives_in_place_ ? operation.send : operation.recv;
            // In place, the buffer has the blocks that are sent or received, whichever are more.
            Blocks blocks = collective_.recv;
            if (receives_in_place_) blocks = collective_.send;
            if (sends_in_place_ && collective_.send == Blocks::ranks) blocks = Blocks::ranks;
            set_side(call_.recv, blocks, buffer, recv_layout_, recvbuf());
            if (receives_in_place_) call_.recv.data = const_cast<void*>(WEFT_IN_PLACE);
        }
        if (sends_in_place_ && !is_varying(collective_.send)) call_.send.count = call_.recv.count;
        // Without neighbors of one kind, blocks are as large as those of the other.
        if (collective_.recv == Blocks::sources) {
            if (number_of(collective_.recv) == 0) call_.recv.count = call_.send.count;
            if (number_of(collective_.send) == 0) call_.send.count = call_.recv.count;
        }
    }

    void set_side(weft_side& side, Blocks blocks, const Buffer& buffer, const Layout& layout,
                  Argument argument) const {
        side.data = buffer.data();
        side.type = buffer.type();
        if (is_varying(blocks)) {
            layout.check_inside(buffer, argument);
            side.counts = layout.counts.data();
            if (!layout.displacements.empty()) side.displacements = layout.displacements.data();
            if (!layout.types.empty()) side.types = layout.types.data();
            return;
        }
        const std::size_t number = number_of(blocks);
        if (number == 0) return;
        if (buffer.elements() % number != 0) {
            refuse_argument(argument, "has " + std::to_string(buffer.elements()) +
                                          " elements; expected a multiple of " +
                                          std::to_string(number) + ", for as many blocks");
        }
        side.count = buffer.elements() / number;
    }

    // As NumPy does it: a sum of truth values is one.
    weft_op op() const {
        const weft_op op = op_->handle();
        if (!combined().is_boolean()) return op;
        if (op == WEFT_SUM || op == WEFT_MAX) return WEFT_LOR;
        return op == WEFT_PROD || op == WEFT_MIN ? WEFT_LAND : op;
    }

    const Buffer& combined() const {
        return operation_->send.is_taken() ? operation_->send : operation_->recv;
    }

    void check_types() const {
        const Buffer& send = operation_->send;
        const Buffer& recv = operation_->recv;
        if (send.is_taken() && recv.is_taken() && !is_typed(collective_.send) &&
            send.type() != recv.type()) {
            refuse_argument(sendbuf(), "is of " + send.type_name() + ", recvbuf of " +
                                           recv.type_name() + "; expected one type");
        }
        if (op_ && !op_->is_of_program() && !combined().has_known_type()) {
            refuse(combined().type_name() + " can be moved, but not combined by Weft's operations",
                   name(), WEFT_REFUSED_UNSUPPORTED);
        }
        if (collective_.shape == Shape::reduction_with_counts) {
            const std::size_t expected =
                send_layout_.counts[static_cast<std::size_t>(comm_.rank())];
            if (recv.elements() < expected) {
                refuse_argument(recvbuf(), "has " + std::to_string(recv.elements()) +
                                               " elements; expected " + std::to_string(expected));
            }
        }
    }

    // An array of NumPy's for the result.
    nb::object new_array() const {
        if (sends_in_place_) refuse_argument(recvbuf(), "is missing, though sendbuf = IN_PLACE");
        if (is_typed(collective_.recv)) refuse_argument(recvbuf(), "is missing");
        if (!sends()) refuse_argument(recvbuf(), "is missing; only the root knows its size");
        const nb::object sent =
            nb::module_::import_("numpy").attr("asarray")(operation_->send.object());
        const nb::object shape = sent.attr("shape"), dtype = sent.attr("dtype");
        return nb::module_::import_("numpy").attr("empty")(shape_of_result(nb::tuple(shape)),
                                                           dtype);
    }

    nb::object shape_of_result(const nb::tuple& sent) const {
        if (is_varying(collective_.recv)) return nb::make_tuple(recv_layout_.extent());
        if (collective_.shape == Shape::reduction_with_counts || is_varying(collective_.send)) {
            return nb::make_tuple(send_layout_.counts[static_cast<std::size_t>(comm_.rank())]);
        }
        const std::size_t received = number_of(collective_.recv);
        if (collective_.send == Blocks::one) {
            if (collective_.recv == Blocks::one) return sent;
            return nb::make_tuple(received) + sent;
        }
        // Blocks are along the first axis.
        const std::size_t number = number_of(collective_.send);
        const std::size_t rows = sent.size() == 0 ? 0 : nb::cast<std::size_t>(sent[0]);
        if (sent.size() == 0 || number == 0 || rows % number != 0) {
            refuse_argument(sendbuf(), "has " + std::to_string(rows) +
                                           " rows; expected a multiple of " +
                                           std::to_string(number) + ", or a recvbuf");
        }
        const nb::object& shape = sent;
        const nb::object row = shape[nb::slice(std::size_t{1}, sent.size())];
        return nb::make_tuple(rows / number * received) + row;
    }

    const Comm& comm_;
    const Collective& collective_;
    const Arguments& arguments_;
    const bool is_root_;
    const Op* op_ = nullptr;
    bool sends_in_place_ = false;
    bool receives_in_place_ = false;
    weft_call call_{};
    Layout send_layout_;
    Layout recv_layout_;
    std::unique_ptr<Operation> operation_;
};

// --- The methods -------------------------------------------------------------------------------

template <weft_form form>
auto run(const Comm& comm, const Collective& collective, const Arguments& arguments) {
    std::unique_ptr<Operation> operation = Maker(comm, collective, form, arguments).make();
    if constexpr (form == WEFT_BLOCKING) {
        return complete(std::move(operation))->result;
    } else {
        return make_request(std::move(operation));
    }
}

// The documentation of a method, in NumPy's form.
std::string text_of(const Collective& collective, weft_form form) {
    std::string text = collective.text;
    if (form == WEFT_NONBLOCKING) text = "Start: " + text;
    if (form == WEFT_PERSISTENT) text = "Make a persistent request: " + text;
    const auto blocks = [](Blocks of) -> std::string {
        if (is_typed(of)) return "[buffer, counts, displacements, types], displacements in bytes";
        if (is_varying(of)) return "[buffer, counts] or [buffer, counts, displacements]";
        return of == Blocks::one ? "buffer" : "buffer with a block for each rank or neighbor";
    };
    if (collective.shape != Shape::nothing) text += "\n\nParameters\n----------\n";
    if (collective.shape == Shape::one_buffer) {
        text += "buf : buffer\n    Read on the root, written elsewhere.\n";
    } else if (collective.shape != Shape::nothing) {
        const bool has_counts = collective.shape == Shape::reduction_with_counts;
        text +=
            "sendbuf : " + (has_counts ? "buffer" : blocks(collective.send)) + ", or IN_PLACE\n";
        if (collective.side == Side::send_at_root) text += "    Ignored except on the root.\n";
        text += "recvbuf : " + blocks(collective.recv) + ", optional\n";
        text += is_typed(collective.recv)     ? ""
                : is_varying(collective.recv) ? "    A buffer of None: a new array of NumPy's.\n"
                                              : "    None: a new array of NumPy's.\n";
        if (collective.side == Side::recv_at_root) text += "    Ignored except on the root.\n";
        if (has_counts) text += "recvcounts : sequence of int\n    The elements of each rank.\n";
        if (collective.shape >= Shape::reduction) {
            text +=
                "op : Op or str, optional\n    SUM ... MAXLOC, AVG, or such a name in lower case. "
                "Default: SUM.\n";
        }
    }
    if (collective.shape == Shape::rooted || collective.shape == Shape::one_buffer ||
        collective.shape == Shape::reduction_to_root) {
        text += "root : int, optional\n    Default: 0.\n";
    }
    text +=
        form == WEFT_BLOCKING
            ? "\n\nReturns\n-------\nobject\n    The buffer with the result, or None.\n"
            : "\n\nReturns\n-------\nRequest\n    It owns the buffers until it has completed.\n";
    return text;
}

// Methods of one shape are one function, which keeps the collective.
template <weft_form form>
void define(nb::class_<Comm>& comm, const Collective& collective, const nb::object& sum) {
    using H = nb::handle;
    using C = const Comm&;
    const Collective* const which = &collective;
    const char* const name = collective.names[form];
    const std::string text = text_of(collective, form);
    const char* const doc = text.c_str();
    const auto sendbuf = nb::arg("sendbuf").none();
    const auto recvbuf = nb::arg("recvbuf").none() = nb::none();
    const auto op = nb::arg("op") = sum;
    const auto root = nb::arg("root") = 0;
    switch (collective.shape) {
        case Shape::nothing: {
            auto call = [which](C self) { return run<form>(self, *which, {}); };
            comm.def(name, call, doc);
            break;
        }
        case Shape::one_buffer: {
            auto call = [which](C self, H buf, int to) {
                return run<form>(self, *which, {.recv = buf, .root = to});
            };
            comm.def(name, call, nb::arg("buf").none(), root, doc);
            break;
        }
        case Shape::rooted: {
            auto call = [which](C self, H send, H recv, int to) {
                return run<form>(self, *which, {.send = send, .recv = recv, .root = to});
            };
            comm.def(name, call, sendbuf, recvbuf, root, doc);
            break;
        }
        case Shape::exchange: {
            auto call = [which](C self, H send, H recv) {
                return run<form>(self, *which, {.send = send, .recv = recv});
            };
            comm.def(name, call, sendbuf, recvbuf, doc);
            break;
        }
        case Shape::reduction: {
            auto call = [which](C self, H send, H recv, OpArgument by) {
                return run<form>(self, *which, {.send = send, .recv = recv, .op = by});
            };
            comm.def(name, call, sendbuf, recvbuf, op, doc);
            break;
        }
        case Shape::reduction_to_root: {
            auto call = [which](C self, H send, H recv, OpArgument by, int to) {
                return run<form>(self, *which, {.send = send, .recv = recv, .op = by, .root = to});
            };
            comm.def(name, call, sendbuf, recvbuf, op, root, doc);
            break;
        }
        case Shape::reduction_with_counts: {
            auto call = [which](C self, H send, H recv, H counts, OpArgument by) {
                return run<form>(self, *which,
                                 {.send = send, .recv = recv, .op = by, .counts = counts});
            };
            comm.def(name, call, sendbuf, recvbuf, nb::arg("recvcounts").none() = nb::none(), op,
                     doc);
            break;
        }
    }
}

}  // namespace

void define_collectives(nb::class_<Comm>& comm, nb::module_& module) {
    nb::class_<InPlace>(module, "InPlace", "The type of IN_PLACE.")
        .def("__repr__", [](const InPlace&) { return "weft.IN_PLACE"; });
    module.attr("IN_PLACE") = nb::cast(InPlace{});
    nb::object object = module.attr("IN_PLACE");
    in_place = object.release().ptr();
    const nb::object sum = module.attr("SUM");
    for (const Collective& one : collectives) define<WEFT_NONBLOCKING>(comm, one, sum);
    for (const Collective& one : collectives) define<WEFT_BLOCKING>(comm, one, sum);
    for (const Collective& one : collectives) define<WEFT_PERSISTENT>(comm, one, sum);
}

}  // namespace weft_python
