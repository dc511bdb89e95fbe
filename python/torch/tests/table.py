"""A table of operations of torch.distributed. Each gives tensors or other values, which must be the same with gloo and
with weft. Inputs are whole numbers that every type holds exactly, so that no sum is rounded.

A row is a function of a group, the rank and the number of ranks; its name in the table is behind the @."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.distributed_c10d import _coalescing_manager

ROWS = []  # (name, function)
ONLY_WEFT = {}  # name -> what gloo lacks; the function also gives what is expected

OPS = dist.ReduceOp


def row(name, *arguments, lacks=None):
    def add(function):
        ROWS.append((name, lambda group, rank, ranks: function(group, rank, ranks, *arguments)))
        if lacks:
            ONLY_WEFT[name] = lacks
        return function
    return add


def rows(names_and_arguments, **options):
    def add(function):
        for name, *arguments in names_and_arguments:
            row(name, *arguments, **options)(function)
        return function
    return add


def ramp(rank, count=17, dtype=torch.float32):
    """1, 2, 3 ... and another beginning on each rank."""
    values = torch.arange(count) % 5 + rank + 1
    return (values % 2).to(dtype) if dtype == torch.bool else values.to(dtype)


# --- all_reduce

@rows([("all_reduce %s SUM" % str(dtype)[6:], dtype) for dtype in (
    torch.float32, torch.float64, torch.float16, torch.int8, torch.uint8, torch.int32, torch.int64, torch.bfloat16)])
def sum_of(group, rank, ranks, dtype):
    tensor = ramp(rank, dtype=dtype)
    dist.all_reduce(tensor, group=group)
    return [tensor]


@rows([("all_reduce int16 SUM", torch.int16), ("all_reduce uint16 SUM", torch.uint16)], lacks="type")
def sum_only_weft(group, rank, ranks, dtype):
    tensor = ramp(rank, dtype=torch.int64).to(dtype)
    dist.all_reduce(tensor, group=group)
    return [tensor.to(torch.int64)], [sum(ramp(other, dtype=torch.int64) for other in range(ranks))]


@row("all_reduce bool SUM")
def any_of(group, rank, ranks):
    tensor = torch.tensor([rank == 0, False, True])
    dist.all_reduce(tensor, group=group)
    return [tensor]


@rows([("all_reduce %s %s" % (str(dtype)[6:], name), dtype, op) for dtype, ops in (
    (torch.float32, ("PRODUCT", "MIN", "MAX")), (torch.int64, ("PRODUCT", "MIN", "MAX")),
    (torch.float64, ("MIN", "MAX")), (torch.uint8, ("MIN", "MAX")), (torch.float16, ("MAX",)), (torch.bfloat16, ("MAX",)),
    (torch.int32, ("BAND", "BOR", "BXOR")), (torch.uint8, ("BAND", "BOR", "BXOR")),
    (torch.bool, ("MIN", "MAX", "PRODUCT", "BAND", "BOR", "BXOR"))) for name in ops for op in [getattr(OPS, name)]])
def combined(group, rank, ranks, dtype, op):
    tensor = ramp(rank, dtype=dtype)
    dist.all_reduce(tensor, op=op, group=group)
    return [tensor]


@rows([("all_reduce int16 MAX", torch.int16)], lacks="type")
def largest(group, rank, ranks, dtype):
    tensor = ramp(rank, dtype=dtype)
    dist.all_reduce(tensor, op=OPS.MAX, group=group)
    return [tensor], [ramp(ranks - 1, dtype=dtype)]


@row("all_reduce float32 AVG")
def average(group, rank, ranks):
    tensor = ramp(rank) * 6
    dist.all_reduce(tensor, op=OPS.AVG, group=group)
    return [tensor]


@row("all_reduce int64 AVG", lacks="operation")
def average_of_integers(group, rank, ranks):
    tensor = ramp(rank, dtype=torch.int64)
    dist.all_reduce(tensor, op=OPS.AVG, group=group)
    return [tensor], [sum(ramp(other, dtype=torch.int64) for other in range(ranks)) // ranks]


@row("all_reduce float32 PREMUL_SUM", lacks="operation")
def weighted(group, rank, ranks):
    tensor = ramp(rank)
    dist.all_reduce(tensor, op=dist._make_nccl_premul_sum(0.5), group=group)
    return [tensor], [sum(ramp(other) for other in range(ranks)) / 2]


@row("all_reduce complex64 SUM")
def sum_of_complex(group, rank, ranks):
    tensor = torch.complex(ramp(rank), ramp(rank + 1))
    dist.all_reduce(tensor, group=group)
    return [tensor]


@row("all_reduce of a transposed tensor")
def sum_of_transposed(group, rank, ranks):
    tensor = ramp(rank, 12).reshape(3, 4)
    dist.all_reduce(tensor.t(), group=group)
    return [tensor]


@row("all_reduce of every second element", lacks="strides: it adds other elements")
def sum_of_strided(group, rank, ranks):
    tensor = ramp(rank, 12)
    expected = tensor.clone()
    expected[::2] = sum(ramp(other, 12)[::2] for other in range(ranks))
    dist.all_reduce(tensor[::2], group=group)
    return [tensor], [expected]


@row("all_reduce of no dimension")
def sum_of_scalar(group, rank, ranks):
    tensor = torch.tensor(float(rank + 1))
    dist.all_reduce(tensor, group=group)
    return [tensor]


@row("all_reduce of no elements")
def sum_of_nothing(group, rank, ranks):
    tensor = torch.empty(0)
    dist.all_reduce(tensor, group=group)
    return [tensor]


@row("all_reduce of 1 MB")
def sum_of_much(group, rank, ranks):
    tensor = ramp(rank, 1 << 18)
    dist.all_reduce(tensor, group=group)
    return [tensor]


@row("all_reduce in inference mode")
def sum_in_inference(group, rank, ranks):
    with torch.inference_mode():
        tensor = ramp(rank, 12).reshape(3, 4)
        dist.all_reduce(tensor.t(), group=group)
        return [tensor.clone()]


@row("all_reduce async, is_completed")
def asynchronous(group, rank, ranks):
    tensor = ramp(rank, 100_000)
    work = dist.all_reduce(tensor, group=group, async_op=True)
    while not work.is_completed():
        pass
    work.wait()
    return [tensor, work.is_success()]


@row("all_reduce async, waited for twice, result")
def waited_twice(group, rank, ranks):
    tensor = ramp(rank)
    work = dist.all_reduce(tensor, group=group, async_op=True)
    work.wait()
    work.wait()
    return [tensor, *work.result()]


@row("all_reduce async, many at once")
def many(group, rank, ranks):
    tensors = [ramp(rank + i, 100 * i + 1) for i in range(20)]
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    return tensors


@row("all_reduce, future")
def future(group, rank, ranks):
    tensor = ramp(rank, 1000)
    return list(dist.all_reduce(tensor, group=group, async_op=True).get_future().wait())


@row("all_reduce, then on a future")
def then(group, rank, ranks):
    tensor = ramp(rank, 1000)
    chained = dist.all_reduce(tensor, group=group, async_op=True).get_future().then(lambda done: done.value()[0] * 2)
    return [chained.wait()]


@row("all_reduce, future and wait")
def future_and_wait(group, rank, ranks):
    tensor = ramp(rank, 1000)
    work = dist.all_reduce(tensor, group=group, async_op=True)
    future = work.get_future()
    work.wait()
    return [tensor, *future.wait()]


@row("all_reduce of a sparse tensor")
def sum_of_sparse(group, rank, ranks):
    tensor = torch.sparse_coo_tensor([[rank, rank + 1]], torch.tensor([[1.0, 2.0], [3.0, 4.0]]), (ranks + 1, 2))
    dist.all_reduce(tensor, group=group)
    return [tensor.to_dense()]


@row("all_reduce_coalesced")
def sums(group, rank, ranks):
    tensors = [ramp(rank), ramp(rank + 1, 3)]
    dist.all_reduce_coalesced(tensors, group=group)
    return tensors


@row("coalescing all_reduce")
def coalesced_sums(group, rank, ranks):
    tensors = [ramp(rank), ramp(rank + 1, 3)]
    with _coalescing_manager(group, async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor, group=group)
    manager.wait()
    return tensors


# --- broadcast and reduce

@rows([("broadcast %s" % str(dtype)[6:], dtype) for dtype in (
    torch.float32, torch.float64, torch.int8, torch.int32, torch.int64, torch.uint8)])
def from_last(group, rank, ranks, dtype):
    tensor = ramp(rank, dtype=dtype)
    dist.broadcast(tensor, src=ranks - 1, group=group)
    return [tensor]


@rows([("broadcast %s" % str(dtype)[6:], dtype) for dtype in (
    torch.bool, torch.int16, torch.bfloat16, torch.float16, torch.complex64, torch.complex128)])
def other_from_first(group, rank, ranks, dtype):
    tensor = ramp(rank, dtype=dtype)
    dist.broadcast(tensor, src=0, group=group)
    return [tensor]


@row("broadcast float8_e4m3fn", lacks="type")
def bytes_from_first(group, rank, ranks):
    tensor = ramp(rank).to(torch.float8_e4m3fn)
    dist.broadcast(tensor, src=0, group=group)
    return [tensor.float()], [ramp(0)]


@row("broadcast of a transposed tensor")
def transposed_from_last(group, rank, ranks):
    tensor = ramp(rank, 12).reshape(3, 4)
    dist.broadcast(tensor.t(), src=ranks - 1, group=group)
    return [tensor]


@row("broadcast async")
def broadcast_async(group, rank, ranks):
    tensor = ramp(rank)
    dist.broadcast(tensor, src=0, group=group, async_op=True).wait()
    return [tensor]


@rows([("reduce to rank 0", 0, OPS.SUM), ("reduce to the last rank", -1, OPS.SUM), ("reduce MAX", 0, OPS.MAX),
       ("reduce AVG", 0, OPS.AVG)])
def to_root(group, rank, ranks, root, op):
    root = root % ranks
    tensor = ramp(rank) * 6
    dist.reduce(tensor, dst=root, op=op, group=group)
    return [tensor] if rank == root else []


@row("reduce of a transposed tensor")
def transposed_to_root(group, rank, ranks):
    tensor = ramp(rank, 12).reshape(3, 4)
    dist.reduce(tensor.t(), dst=0, group=group)
    return [tensor] if rank == 0 else []


# --- Gathers

@rows([("all_gather %s" % str(dtype)[6:], dtype) for dtype in (torch.float32, torch.int64, torch.bool, torch.bfloat16)])
def gathered(group, rank, ranks, dtype):
    outputs = [torch.zeros(17, dtype=dtype) for _ in range(ranks)]
    dist.all_gather(outputs, ramp(rank, dtype=dtype), group=group)
    return outputs


@row("all_gather of uneven tensors", lacks="sizes")
def gathered_uneven(group, rank, ranks):
    outputs = [torch.zeros(5 + other) for other in range(ranks)]
    dist.all_gather(outputs, ramp(rank, 5 + rank), group=group)
    return outputs, [ramp(other, 5 + other) for other in range(ranks)]


@row("all_gather into columns")
def gathered_columns(group, rank, ranks):
    matrix = torch.zeros(4, ranks)
    dist.all_gather(list(matrix.unbind(1)), ramp(rank, 4), group=group)
    return [matrix]


@row("all_gather of one of its outputs")
def gathered_in_place(group, rank, ranks):
    outputs = [ramp(rank, 4) for _ in range(ranks)]
    dist.all_gather(outputs, outputs[rank], group=group)
    return outputs


@row("all_gather async, future")
def gathered_async(group, rank, ranks):
    outputs = [torch.zeros(4) for _ in range(ranks)]
    dist.all_gather(outputs, ramp(rank, 4), group=group, async_op=True).get_future().wait()
    return outputs


@rows([("all_gather_into_tensor", (lambda ranks: (4 * ranks,))), ("all_gather_into_tensor, stacked",
                                                                  (lambda ranks: (ranks, 4)))])
def gathered_flat(group, rank, ranks, shape):
    output = torch.zeros(*shape(ranks))
    dist.all_gather_into_tensor(output, ramp(rank, 4), group=group)
    return [output]


@row("all_gather_into_tensor in place")
def gathered_flat_in_place(group, rank, ranks):
    output = torch.zeros(4 * ranks)
    mine = output[4 * rank:4 * rank + 4]
    mine.copy_(ramp(rank, 4))
    dist.all_gather_into_tensor(output, mine, group=group)
    return [output]


@row("all_gather_into_tensor of a transposed tensor")
def gathered_flat_transposed(group, rank, ranks):
    output = torch.zeros(4 * ranks, 3)
    dist.all_gather_into_tensor(output, ramp(rank, 12).reshape(3, 4).t(), group=group)
    return [output]


@row("all_gather_coalesced")
def gathered_coalesced(group, rank, ranks):
    inputs = [ramp(rank, 3), ramp(rank, 5)]
    outputs = [[torch.zeros(3), torch.zeros(5)] for _ in range(ranks)]
    dist.all_gather_coalesced(outputs, inputs, group=group)
    return [tensor for of_rank in outputs for tensor in of_rank]


@row("coalescing all_gather_into_tensor")
def coalesced_gathers(group, rank, ranks):
    inputs = [ramp(rank, 3), ramp(rank, 5)]
    outputs = [torch.zeros(3 * ranks), torch.zeros(5 * ranks)]
    with _coalescing_manager(group, async_ops=True) as manager:
        for output, input in zip(outputs, inputs):
            dist.all_gather_into_tensor(output, input, group=group)
    manager.wait()
    return outputs


@row("all_gather_object")
def gathered_objects(group, rank, ranks):
    objects = [None] * ranks
    dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank}, group=group)
    return [objects]


@rows([("gather to rank 0", 0), ("gather to the last rank", -1)])
def gathered_at_root(group, rank, ranks, root):
    root = root % ranks
    outputs = [torch.zeros(5) for _ in range(ranks)] if rank == root else None
    dist.gather(ramp(rank, 5), outputs, dst=root, group=group)
    return outputs or []


@row("gather of a transposed tensor")
def gathered_transposed(group, rank, ranks):
    outputs = [torch.zeros(4, 3) for _ in range(ranks)] if rank == 0 else None
    dist.gather(ramp(rank, 12).reshape(3, 4).t(), outputs, dst=0, group=group)
    return outputs or []


@row("gather_object")
def objects_at_root(group, rank, ranks):
    objects = [None] * ranks if rank == 0 else None
    dist.gather_object(("rank", rank), objects, dst=0, group=group)
    return [objects]


if hasattr(dist, "gather_into_tensor"):
    @row("gather_into_tensor", lacks="operation")
    def gathered_flat_at_root(group, rank, ranks):
        output = torch.zeros(5 * ranks) if rank == 0 else None
        dist.gather_into_tensor(ramp(rank, 5), output, dst=0, group=group)
        expected = [torch.cat([ramp(other, 5) for other in range(ranks)])]
        return ([output], expected) if rank == 0 else ([], [])


# --- Scatters

@rows([("scatter from rank 0", 0), ("scatter from the last rank", -1)])
def scattered(group, rank, ranks, root):
    root = root % ranks
    output = torch.zeros(5)
    dist.scatter(output, [ramp(other, 5) for other in range(ranks)] if rank == root else None, src=root, group=group)
    return [output]


@row("scatter of columns", lacks="strides: it sends other elements")
def scattered_columns(group, rank, ranks):
    output = torch.zeros(4)
    columns = list(ramp(0, 4 * ranks).reshape(4, ranks).unbind(1))
    dist.scatter(output, columns if rank == 0 else None, src=0, group=group)
    return [output], [columns[rank]]


@row("scatter_object_list")
def scattered_objects(group, rank, ranks):
    output = [None]
    dist.scatter_object_list(output, [{"to": other} for other in range(ranks)] if rank == 0 else None, src=0, group=group)
    return [output]


@row("reduce_scatter")
def reduced_and_scattered(group, rank, ranks):
    output = torch.zeros(5)
    dist.reduce_scatter(output, [ramp(rank + other, 5) for other in range(ranks)], group=group)
    return [output]


@row("reduce_scatter of uneven tensors")
def reduced_and_scattered_uneven(group, rank, ranks):
    output = torch.zeros(rank + 1)
    dist.reduce_scatter(output, [ramp(rank, other + 1) for other in range(ranks)], group=group)
    return [output]


@rows([("reduce_scatter_tensor SUM", OPS.SUM), ("reduce_scatter_tensor MAX", OPS.MAX), ("reduce_scatter_tensor AVG", OPS.AVG)])
def reduced_flat(group, rank, ranks, op):
    output = torch.zeros(4)
    dist.reduce_scatter_tensor(output, ramp(rank, 4 * ranks) * 6, op=op, group=group)
    return [output]


@row("reduce_scatter_tensor into its input")
def reduced_in_place(group, rank, ranks):
    input = ramp(rank, 4 * ranks)
    output = input[4 * rank:4 * rank + 4]
    dist.reduce_scatter_tensor(output, input, group=group)
    return [output]


@row("coalescing reduce_scatter_tensor")
def coalesced_scatters(group, rank, ranks):
    inputs = [ramp(rank, 3 * ranks), ramp(rank, 5 * ranks)]
    outputs = [torch.zeros(3), torch.zeros(5)]
    with _coalescing_manager(group, async_ops=True) as manager:
        for output, input in zip(outputs, inputs):
            dist.reduce_scatter_tensor(output, input, group=group)
    manager.wait()
    return outputs


# --- All to all

@row("all_to_all_single")
def exchanged(group, rank, ranks):
    output = torch.zeros(3 * ranks)
    dist.all_to_all_single(output, ramp(rank, 3 * ranks), group=group)
    return [output]


@row("all_to_all_single of rows")
def exchanged_rows(group, rank, ranks):
    output = torch.zeros(2 * ranks, 3)
    dist.all_to_all_single(output, ramp(rank, 6 * ranks).reshape(2 * ranks, 3), group=group)
    return [output]


@row("all_to_all_single with splits")
def exchanged_uneven(group, rank, ranks):
    sent = [other + 1 for other in range(ranks)]
    output = torch.zeros((rank + 1) * ranks)
    dist.all_to_all_single(output, ramp(rank, sum(sent)), [rank + 1] * ranks, sent, group=group)
    return [output]


@row("all_to_all_single int64")
def exchanged_integers(group, rank, ranks):
    output = torch.zeros(ranks, dtype=torch.int64)
    dist.all_to_all_single(output, ramp(rank, ranks, torch.int64), group=group)
    return [output]


@row("all_to_all")
def exchanged_lists(group, rank, ranks):
    outputs = [torch.zeros(3) for _ in range(ranks)]
    dist.all_to_all(outputs, [ramp(rank + other, 3) for other in range(ranks)], group=group)
    return outputs


@row("all_to_all of uneven tensors")
def exchanged_uneven_lists(group, rank, ranks):
    outputs = [torch.zeros(rank + 1) for _ in range(ranks)]
    dist.all_to_all(outputs, [ramp(rank + other, other + 1) for other in range(ranks)], group=group)
    return outputs


# --- Barriers

@row("barrier")
def barrier(group, rank, ranks):
    dist.barrier(group=group)
    return []


@row("barrier async")
def barrier_async(group, rank, ranks):
    dist.barrier(group=group, async_op=True).wait()
    return []


@row("barrier, future")
def barrier_future(group, rank, ranks):
    dist.barrier(group=group, async_op=True).get_future().wait()
    return []


@rows([("monitored_barrier", False), ("monitored_barrier, all ranks", True)])
def monitored(group, rank, ranks, all_ranks):
    dist.monitored_barrier(group=group, wait_all_ranks=all_ranks)
    return []


# --- Messages

@row("send and recv")
def sent(group, rank, ranks):
    tensor = ramp(rank)
    if rank == 0:
        dist.send(tensor, 1, group=group)
    elif rank == 1:
        dist.recv(tensor, 0, group=group)
    return [tensor]


@row("send and recv with tags in another order")
def sent_with_tags(group, rank, ranks):
    first, second = ramp(rank, 4), ramp(rank + 5, 4)
    if rank == 0:
        works = [dist.isend(first, 1, group=group, tag=1), dist.isend(second, 1, group=group, tag=2)]
        for work in works:
            work.wait()
    elif rank == 1:
        dist.recv(second, 0, group=group, tag=2)
        dist.recv(first, 0, group=group, tag=1)
    return [first, second]


@row("isend of 1 MB before its recv")
def sent_early(group, rank, ranks):
    tensor = ramp(rank, 1 << 18)
    works = []
    if rank == 0:
        works.append(dist.isend(tensor, 1, group=group, tag=5))
    dist.barrier(group=group)
    if rank == 1:
        works.append(dist.irecv(tensor, 0, group=group, tag=5))
    for work in works:
        work.wait()
    return [tensor]


@row("recv of every second element", lacks="strides")
def received_strided(group, rank, ranks):
    tensor = ramp(rank, 12)
    expected = tensor.clone()
    if rank == 0:
        dist.send(tensor[:6], 1, group=group)
    elif rank == 1:
        expected[::2] = ramp(0, 12)[:6]
        dist.recv(tensor[::2], 0, group=group)
    return [tensor], [expected]


@row("recv from any rank")
def received_from_any(group, rank, ranks):
    if rank > 0:
        dist.send(ramp(rank, 4), 0, group=group, tag=9)
        return []
    got = {}
    for _ in range(ranks - 1):
        tensor = torch.zeros(4)
        got[dist.recv(tensor, None, group=group, tag=9)] = tensor
    return [tensor for _, tensor in sorted(got.items())] + [sorted(got)]


@row("send and recv both ways")
def exchanged_messages(group, rank, ranks):
    output = torch.zeros(1000)
    works = [dist.isend(ramp(rank, 1000), (rank + 1) % ranks, group=group),
             dist.irecv(output, (rank - 1) % ranks, group=group)]
    for work in works:
        work.wait()
    return [output]


@row("batch_isend_irecv")
def batch(group, rank, ranks):
    output = torch.zeros(4)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, ramp(rank, 4), (rank + 1) % ranks, group),
                                        dist.P2POp(dist.irecv, output, (rank - 1) % ranks, group)]):
        work.wait()
    return [output]


@row("broadcast_object_list")
def objects(group, rank, ranks):
    values = [rank, "text"] if rank == 0 else [None, None]
    dist.broadcast_object_list(values, src=0, group=group)
    return [values]


@row("send_object_list")
def object_messages(group, rank, ranks):
    values = [rank, "text"]
    if rank == 0:
        dist.send_object_list(values, 1, group=group)
    elif rank == 1:
        dist.recv_object_list(values, 0, group=group)
    return [values]


# --- Groups and what is built on them

@row("set_timeout")
def timeout_set(group, rank, ranks):
    import datetime

    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=20), group)
    tensor = ramp(rank)
    dist.all_reduce(tensor, group=group)
    return [tensor]


@row("sequence numbers")
def numbered(group, rank, ranks):
    before = group._get_sequence_number_for_group()
    for _ in range(3):
        dist.all_reduce(ramp(rank), group=group)
    return [group._get_sequence_number_for_group() - before]


@row("functional all_reduce")
def functional_sum(group, rank, ranks):
    return [functional.all_reduce(ramp(rank), "sum", group) + 0]


@row("functional all_gather_tensor")
def functional_gather(group, rank, ranks):
    return [functional.all_gather_tensor(ramp(rank, 4), 0, group) + 0]


@row("functional reduce_scatter_tensor")
def functional_scatter(group, rank, ranks):
    return [functional.reduce_scatter_tensor(ramp(rank, 4 * ranks), "sum", 0, group) + 0]


@row("functional all_to_all_single")
def functional_exchange(group, rank, ranks):
    return [functional.all_to_all_single(ramp(rank, 3 * ranks), None, None, group) + 0]


@row("functional broadcast")
def functional_broadcast(group, rank, ranks):
    return [functional.broadcast(ramp(rank), 0, group) + 0]


@row("DDP, gradients of a step")
def gradients(group, rank, ranks):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    wrapped = torch.nn.parallel.DistributedDataParallel(model, process_group=group, bucket_cap_mb=0.0005)
    wrapped(ramp(rank, 8).reshape(1, 8)).square().mean().backward()
    return [parameter.grad for parameter in model.parameters()] if ranks == 2 else []


@row("DDP, sparse gradients of an embedding")
def sparse_gradients(group, rank, ranks):
    torch.manual_seed(0)
    model = torch.nn.Embedding(6, 2, sparse=True)
    wrapped = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
    wrapped(torch.tensor([rank, rank + 1])).sum().backward()
    return [model.weight.grad.to_dense()]


# --- Mistakes: both refuse

MISTAKES = {
    "broadcast from a rank that is not there": lambda group, rank, ranks: group.broadcast(
        [torch.zeros(3)], options(dist.BroadcastOptions, rootRank=ranks)).wait(),
    "reduce to a rank that is not there": lambda group, rank, ranks: group.reduce(
        [torch.zeros(3)], options(dist.ReduceOptions, rootRank=-1)).wait(),
    "all_gather_into_tensor of a wrong size": lambda group, rank, ranks: dist.all_gather_into_tensor(
        torch.zeros(4 * ranks + 1), torch.zeros(4), group=group),
    "all_to_all_single with wrong splits": lambda group, rank, ranks: dist.all_to_all_single(
        torch.zeros(ranks), torch.zeros(ranks), [2] * ranks, [2] * ranks, group=group),
    "all_reduce float32 BAND": lambda group, rank, ranks: dist.all_reduce(torch.zeros(3), op=OPS.BAND, group=group),
    "all_gather of another type": lambda group, rank, ranks: group.allgather(
        [[torch.zeros(3, dtype=torch.int32) for _ in range(ranks)]], [torch.zeros(3)]).wait(),
}


def options(kind, **values):
    made = kind()
    for name, value in values.items():
        setattr(made, name, value)
    return made


for mistake, call in MISTAKES.items():
    @row("refused: " + mistake, call)
    def refused(group, rank, ranks, call):
        try:
            call(group, rank, ranks)
        except (ValueError, RuntimeError):
            return ["refused"]
        return ["accepted"]
