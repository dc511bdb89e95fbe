"""The back end in Python, for machines without a compiler, over the package weft.

It makes the same calls of Weft as the one in C++, and is slower. torch asks a Work in Python only for wait() and
get_future(): is_completed() is always False, and there are no sequence numbers. Missing, too: sparse tensors,
monitored_barrier, split_group, and the profiler's names.
"""

import itertools

import torch
import torch.distributed as dist
import weft
from torch._C._distributed_c10d import Backend, ReduceOp, Work
from weft._start import from_oob

# torch's operations, Weft's, and those of truth values as bytes that are 0 or 1
OPERATIONS = (
    (ReduceOp.SUM, "sum", "max"),
    (ReduceOp.AVG, "avg", None),
    (ReduceOp.PRODUCT, "prod", "min"),
    (ReduceOp.MIN, "min", "min"),
    (ReduceOp.MAX, "max", "max"),
    (ReduceOp.BAND, "band", "band"),
    (ReduceOp.BOR, "bor", "bor"),
    (ReduceOp.BXOR, "bxor", "bxor"),
    (ReduceOp.PREMUL_SUM, "sum", None),
)


def failed(error, call):
    kind = ValueError if isinstance(error, weft.ArgumentError) else dist.DistBackendError
    return kind("weft %s: %s [%s]" % (call, error, error.status))


class PythonWork(Work):
    def __init__(self, call, requests, outputs, seconds, finishing):
        super().__init__()
        self.call, self.requests, self.outputs, self.seconds = call, requests, outputs, seconds
        self.finishing = finishing
        self.future = None
        self.is_done = False

    def finish(self, seconds):
        if self.is_done:
            return
        try:
            for request in self.requests:
                request.wait(seconds)
        except weft.TimedOut as error:
            raise failed(error, self.call) from error
        except weft.Error as error:
            self.is_done = True
            raise failed(error, self.call) from error
        self.is_done = True
        with torch.no_grad():
            for step in reversed(self.finishing):
                step()

    def wait(self, timeout=None):
        if self.future is not None:
            self.future.wait()
        else:
            seconds = timeout.total_seconds() if timeout else 0
            self.finish(seconds or self.seconds)
        return True

    def get_future(self):
        if self.future is None:
            future = torch.futures.Future()
            self.future = future
            left = itertools.count(1)

            def note(_):
                if next(left) < len(self.requests):
                    return
                try:
                    self.finish(None)
                    future.set_result(self.outputs)
                except Exception as error:
                    future.set_exception(error)

            if self.is_done or not self.requests:
                future.set_result(self.outputs)
            for request in self.requests if not self.is_done else []:
                request.add_done_callback(note)
        return self.future

    getFuture = get_future

    def result(self):
        return self.outputs


class Call:
    """What one call lends to Weft, and starts."""

    def __init__(self, backend, name, outputs=()):
        self.backend, self.name, self.outputs = backend, name, list(outputs)
        self.requests, self.finishing = [], []

    def input(self, tensor):
        self.check(tensor)
        return tensor.detach().contiguous().resolve_conj().resolve_neg()

    def output(self, tensor):
        self.check(tensor)
        plain = tensor.detach()
        if plain.is_contiguous() and not plain.is_conj() and not plain.is_neg():
            return plain
        copy = plain.clone(memory_format=torch.contiguous_format).resolve_conj().resolve_neg()
        self.finishing.append(lambda: tensor.detach().copy_(copy))
        return copy

    def check(self, tensor):
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise ValueError("weft %s: expected a dense tensor in the host's memory" % self.name)

    def operation(self, tensor, reduce):
        """The tensor as it is combined, and Weft's operation."""
        for known, name, of_truth in OPERATIONS:
            if reduce == known:
                break
        if tensor.dtype == torch.bool:
            if of_truth is None:
                raise ValueError("weft %s: %s of truth values is not supported" % (self.name, known))
            return tensor.view(torch.uint8), of_truth
        if name == "avg" and not (tensor.is_floating_point() or tensor.is_complex()):
            self.finishing.append(lambda: tensor.div_(self.backend.size_, rounding_mode="trunc"))
            name = "sum"
        return tensor, name

    def start(self, method, *arguments):
        try:
            self.requests.append(method(*arguments))
        except weft.Error as error:
            raise failed(error, self.name) from error

    def work(self):
        return PythonWork(self.name, self.requests, self.outputs, self.backend.seconds, self.finishing)


def bytes_of(tensor):
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def typed(tensor):
    """float32 keeps its type, which a group's wire format encodes."""
    return tensor if tensor.dtype == torch.float32 else bytes_of(tensor)


def joined(tensors):
    return torch.cat([bytes_of(tensor) for tensor in tensors]), [tensor.nbytes for tensor in tensors]


class PythonBackend(Backend):
    def __init__(self, comm, seconds, name):
        super().__init__(comm.rank, comm.size)
        self.comm, self.seconds, self.name_ = comm, seconds, name
        self.rank_, self.size_ = comm.rank, comm.size
        self.options_ = Backend.Options("weft")

    supports_coalescing = property(lambda self: False)
    supports_splitting = property(lambda self: False)
    options = property(lambda self: self.options_)

    def getBackendName(self):
        return "weft"

    def name(self):
        return "weft"

    def rank(self):
        return self.rank_

    def size(self):
        return self.size_

    def setTimeout(self, timeout):
        self.seconds = timeout.total_seconds()

    set_timeout = _set_default_timeout = setTimeout

    def shutdown(self):
        if self.comm is not None:
            comm, self.comm = self.comm, None
            comm.free()

    def abort(self):
        if self.comm is not None and hasattr(self.comm, "abort"):
            self.comm.abort("the process group was aborted")

    # --- Collectives

    def allreduce(self, tensors, options=None):
        return self.allreduce_coalesced(tensors, options)

    def allreduce_coalesced(self, tensors, options=None):
        call = Call(self, "all_reduce", tensors)
        reduce = ReduceOp.SUM if options is None else options.reduceOp
        for tensor in tensors:
            plain = call.output(tensor)
            if reduce == ReduceOp.PREMUL_SUM:
                plain.mul_(reduce.factor)
            combined, operation = call.operation(plain, reduce)
            call.start(self.comm.iallreduce, weft.IN_PLACE, combined, operation)
        return call.work()

    def broadcast(self, tensors, options=None):
        call = Call(self, "broadcast", tensors)
        root = 0 if options is None else options.rootRank
        call.start(self.comm.ibcast, typed(call.output(tensors[0])), root)
        return call.work()

    def reduce(self, tensors, options):
        call = Call(self, "reduce", tensors)
        plain = call.output(tensors[0]) if options.rootRank == self.rank_ else call.input(tensors[0])
        if options.reduceOp == ReduceOp.PREMUL_SUM:
            plain = plain * options.reduceOp.factor
        combined, operation = call.operation(plain.clone(), options.reduceOp)
        if options.rootRank == self.rank_:
            call.finishing.insert(0, lambda: tensors[0].detach().copy_(combined.view(tensors[0].dtype)))
        call.start(self.comm.ireduce, weft.IN_PLACE if options.rootRank == self.rank_ else combined, combined,
                   operation, options.rootRank)
        return call.work()

    def all_gather_single(self, output, input, options=None):
        return self.all_gather_single_coalesced([output], [input], options)

    def all_gather_single_coalesced(self, outputs, inputs, options=None):
        call = Call(self, "all_gather_into_tensor", outputs)
        for output, input in zip(outputs, inputs):
            if output.numel() != input.numel() * self.size_:
                raise ValueError("weft all_gather_into_tensor: output tensor size must be equal to world_size times "
                                 "input tensor size")
            call.start(self.comm.iallgather, typed(call.input(input).clone()), typed(call.output(output)))
        return call.work()

    def allgather(self, outputs, inputs, options=None):
        call = Call(self, "all_gather", outputs[0])
        mine = bytes_of(call.input(inputs[0]).clone())
        self.gather_list(call, outputs[0], lambda into: (self.comm.iallgatherv, mine, into))
        return call.work()

    def gather_list(self, call, outputs, start):
        flat, sizes = joined(outputs)

        def hand_out():
            for output, part in zip(outputs, flat.split(sizes)):
                output.detach().copy_(part.view(output.dtype).view(output.shape))

        call.finishing.append(hand_out)
        call.start(*start([flat, sizes]))

    def gather(self, outputs, inputs, options):
        call = Call(self, "gather", outputs[0] if outputs else [])
        mine = bytes_of(call.input(inputs[0]))
        if options.rootRank == self.rank_:
            self.gather_list(call, outputs[0], lambda into: (self.comm.igatherv, mine.clone(), into, self.rank_))
        else:
            call.start(self.comm.igatherv, mine, None, options.rootRank)
        return call.work()

    def scatter(self, outputs, inputs, options):
        call = Call(self, "scatter", outputs)
        mine = bytes_of(call.output(outputs[0]))
        given = list(joined(inputs[0])) if options.rootRank == self.rank_ else None
        call.start(self.comm.iscatterv, given, mine, options.rootRank)
        return call.work()

    def reduce_scatter_single(self, output, input, options=None):
        return self.reduce_scatter_single_coalesced([output], [input], options)

    def reduce_scatter_single_coalesced(self, outputs, inputs, options=None):
        call = Call(self, "reduce_scatter_tensor", outputs)
        reduce = ReduceOp.SUM if options is None else options.reduceOp
        for output, input in zip(outputs, inputs):
            given = call.input(input).clone()
            if reduce == ReduceOp.PREMUL_SUM:
                given.mul_(reduce.factor)
            combined, operation = call.operation(call.output(output), reduce)
            given = given.view(torch.uint8) if given.dtype == torch.bool else given
            call.start(self.comm.ireduce_scatter_block, given, combined, operation)
        return call.work()

    def reduce_scatter(self, outputs, inputs, options):
        call = Call(self, "reduce_scatter", outputs)
        given = torch.cat([call.input(input).reshape(-1) for input in inputs[0]])
        if options.reduceOp == ReduceOp.PREMUL_SUM:
            given.mul_(options.reduceOp.factor)
        combined, operation = call.operation(call.output(outputs[0]), options.reduceOp)
        given = given.view(torch.uint8) if given.dtype == torch.bool else given
        call.start(self.comm.ireduce_scatter, given, combined, [input.numel() for input in inputs[0]], operation)
        return call.work()

    def all_to_all_single(self, output, input, output_sizes, input_sizes, options=None):
        call = Call(self, "all_to_all_single", [output])
        given, into = call.input(input).clone(), call.output(output)
        if not output_sizes and not input_sizes:
            call.start(self.comm.ialltoall, typed(given), typed(into))
        else:
            call.start(self.comm.ialltoallv, [bytes_of(given), self.split(given, input_sizes)],
                       [bytes_of(into), self.split(into, output_sizes)])
        return call.work()

    def split(self, tensor, sizes):
        rows = tensor.shape[0]
        row_bytes = tensor.nbytes // rows if rows else 0
        return [size * row_bytes for size in sizes or [rows // self.size_] * self.size_]

    def alltoall(self, outputs, inputs, options=None):
        call = Call(self, "all_to_all", outputs)
        given = list(joined([call.input(input) for input in inputs]))
        self.gather_list(call, outputs, lambda into: (self.comm.ialltoallv, given, into))
        return call.work()

    def barrier(self, options=None):
        call = Call(self, "barrier")
        call.start(self.comm.ibarrier)
        return call.work()

    # --- Messages

    def send(self, tensors, to, tag=0):
        call = Call(self, "send")
        call.start(self.message("isend"), bytes_of(call.input(tensors[0])), to, tag)
        return call.work()

    def recv(self, tensors, source, tag=0):
        call = Call(self, "recv", tensors)
        call.start(self.message("irecv"), bytes_of(call.output(tensors[0])), source, tag)
        return call.work()

    def message(self, method):
        if not hasattr(self.comm, method):
            raise NotImplementedError("weft: this version of the package weft has no sends and receives")
        return getattr(self.comm, method)

    # Names that torch has had, or has, for the same.
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single


kept = []  # torch holds only the part in C++


def rendezvous(store, rank, size):
    """Weft's out-of-band exchange over torch's store; the keys are those of the back end in C++."""
    numbers = itertools.count()

    def allgather(mine):
        number = next(numbers)
        store.set("weft/%d/%d" % (number, rank), mine)
        values = [bytes(store.get("weft/%d/%d" % (number, other))) for other in range(size)]
        if number > 0:  # all have this exchange's values, hence had the last one's
            store.delete_key("weft/%d/%d" % (number - 1, rank))
        return b"".join(values)

    comm = from_oob(rank, size, allgather)
    last = next(numbers) - 1
    if last >= 0 and store.add("weft/left", 1) == size:
        for other in range(size):
            store.delete_key("weft/%d/%d" % (last, other))
        store.delete_key("weft/left")
    return comm


def create(store, rank, size, timeout, settings, name, global_ranks):
    comm = rendezvous(store, rank, size)
    if settings:
        comm, plain = comm.dup(settings), comm
        plain.free()
    backend = PythonBackend(comm, timeout.total_seconds(), name)
    kept.append(backend)
    return backend


def leave(seconds):
    """The package weft leaves the job itself."""


def statistics():
    return {name: value for name, value in weft.statistics().items() if name != "engine"}
