// Sends and receives between two ranks.
#include <weft/message.h>

#include <memory>

#include "communicator.h"
#include "request.h"

namespace weft_python {
namespace {

// Not WEFT_RANK_NONE, which Comm.neighbors() has beyond the border of a grid.
constexpr int any_source = WEFT_RANK_NONE - 1;

constexpr const char* send_names[] = {"isend", "send", "send_init"};  // by weft_form
constexpr const char* recv_names[] = {"irecv", "recv", "recv_init"};

std::unique_ptr<Operation> begin_send(const Comm& comm, nb::handle buf, int dest, int tag,
                                      weft_form form) {
    sweep();
    auto operation = std::make_unique<Operation>(send_names[form], form);
    Buffer& buffer = operation->send;
    buffer.take(buf, false, {"buf", operation->call});
    const auto begin = operation->is_persistent ? &weft_send_init : &weft_isend;
    check(begin(buffer.data(), buffer.elements(), buffer.type(), dest, tag, comm.handle(),
                &operation->handle),
          operation->call);
    operation->is_active = !operation->is_persistent;
    return operation;
}

std::unique_ptr<Operation> begin_recv(const Comm& comm, nb::handle buf, int source, int tag,
                                      weft_form form) {
    sweep();
    auto operation = std::make_unique<Operation>(recv_names[form], form);
    Buffer& buffer = operation->recv;
    buffer.take(buf, true, {"buf", operation->call});
    operation->result = nb::borrow(buf);
    operation->arrives = Status{source, tag, buffer.elements()};
    weft_status status;
    if (source == any_source) {
        const auto begin = operation->is_persistent ? &weft_recv_any_init : &weft_irecv_any;
        status = begin(buffer.data(), buffer.elements(), buffer.type(), tag,
                       &operation->arrives->source, comm.handle(), &operation->handle);
    } else {
        const auto begin = operation->is_persistent ? &weft_recv_init : &weft_irecv;
        status = begin(buffer.data(), buffer.elements(), buffer.type(), source, tag, comm.handle(),
                       &operation->handle);
    }
    check(status, operation->call);
    operation->is_active = !operation->is_persistent;
    return operation;
}

nb::object recv(const Comm& comm, nb::handle buf, int source, int tag, Status* status) {
    const std::unique_ptr<Operation> operation =
        complete(begin_recv(comm, buf, source, tag, WEFT_BLOCKING));
    if (status) *status = *operation->arrives;
    return operation->result;
}

}  // namespace

void define_messages(nb::class_<Comm>& comm, nb::module_& module) {
    module.attr("ANY_SOURCE") = any_source;
    const auto buf = nb::arg("buf").none();
    const auto dest = nb::arg("dest");
    const auto tag = nb::arg("tag") = 0;
    const auto source = nb::arg("source").sig("ANY_SOURCE") = any_source;
    comm.def(
            "isend",
            [](const Comm& self, nb::handle from, int to, int with) {
                return make_request(begin_send(self, from, to, with, WEFT_NONBLOCKING));
            },
            buf, dest, tag, R"(
Start sending the elements of a buffer to a rank.

The k-th send to a rank with a tag meets its k-th receive with this tag, which must have as many
bytes. Different tags do not wait for each other, nor for collectives. A small message may complete
before it is received.

Parameters
----------
buf : buffer
    Elements of any type and shape; not to be written before the request has completed.
dest : int
    A rank, 0 ... size - 1; also this one.
tag : int, optional
    0 ... 8388607. Default: 0.

Returns
-------
Request
    It owns the buffer until it has completed; its result is None.

Raises
------
ArgumentError
    The buffer, rank or tag; nothing has been started.
MessageMismatch
    From `wait`: the receive had another size.
)")
        .def(
            "send",
            [](const Comm& self, nb::handle from, int to, int with) {
                (void)complete(begin_send(self, from, to, with, WEFT_BLOCKING));
            },
            buf, dest, tag, R"(
Send the elements of a buffer to a rank, and wait until the buffer may be written again.

That may be before they are received, or not. Parameters and failures are those of `isend`.
)")
        .def(
            "send_init",
            [](const Comm& self, nb::handle from, int to, int with) {
                return make_request(begin_send(self, from, to, with, WEFT_PERSISTENT));
            },
            buf, dest, tag, R"(
Make a persistent request of a send: each `start` sends what the buffer has then.

The receives may be persistent or not. Parameters and failures are those of `isend`.

Returns
-------
Request
    It owns the buffer.
)")
        .def(
            "irecv",
            [](const Comm& self, nb::handle into, int from, int with) {
                return make_request(begin_recv(self, into, from, with, WEFT_NONBLOCKING));
            },
            buf, source, tag, R"(
Start receiving the elements of a buffer from a rank.

Parameters
----------
buf : buffer
    Elements of any type and shape, as many bytes as are sent (types are not compared); not to be
    touched before the request has completed.
source : int, optional
    A rank, 0 ... size - 1, also this one; or ANY_SOURCE, the default: whichever has a message with
    this tag. It takes longer, and later receives of the tag wait until it has met a message.
tag : int, optional
    0 ... 8388607. Default: 0. There is no receive of any tag.

Returns
-------
Request
    It owns the buffer until it has completed; its result is the buffer, its `status` says from
    whom it came.

Raises
------
ArgumentError
    The buffer, rank or tag; nothing has been started.
MessageMismatch
    From `wait`: the message had another size.
RankLost
    From `wait`: the source has left, or all other ranks have.
)")
        .def("recv", &recv, buf, source, tag, nb::arg("status").none() = nb::none(), R"(
Receive the elements of a buffer from a rank.

Parameters and failures are those of `irecv`.

Parameters
----------
status : Status, optional
    Gets the source, the tag and the number of elements.

Returns
-------
object
    The buffer.
)")
        .def(
            "recv_init",
            [](const Comm& self, nb::handle into, int from, int with) {
                return make_request(begin_recv(self, into, from, with, WEFT_PERSISTENT));
            },
            buf, source, tag, R"(
Make a persistent request of a receive.

The sends may be persistent or not. Parameters and failures are those of `irecv`.

Returns
-------
Request
    It owns the buffer. Its `status` is that of the last message.
)");
}

}  // namespace weft_python
