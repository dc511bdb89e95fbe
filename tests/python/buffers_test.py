"""What can be a buffer, and what is refused with a sentence; in a job of one rank."""

import array
from xml.etree import ElementTree

import numpy
import pytest
import weft


@pytest.fixture(scope="module")
def comm():
    return weft.init()


class OfArrayInterface:
    """Only has __array_interface__."""

    def __init__(self, values, **changes):
        self.values = values
        self.__array_interface__ = dict(values.__array_interface__, **changes)


class OfDlpack:
    """Only has DLPack."""

    def __init__(self, values, device=None):
        self.values = values
        self.device = device

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device or self.values.__dlpack_device__()


def refused(kind, sentence, call, *arguments, **named):
    with pytest.raises(kind, match=sentence) as raised:
        call(*arguments, **named)
    assert raised.value.call, raised.value
    return raised.value


@pytest.mark.parametrize("wrap", [
    lambda values: values, OfArrayInterface, OfDlpack, memoryview,
    lambda values: array.array(values.dtype.char, values.tolist())])
def test_memory_is_used_without_a_copy(comm, wrap):
    sent, received = wrap(numpy.arange(5.0)), wrap(numpy.zeros(5))
    assert comm.iallreduce(sent, received).wait() is received
    values = getattr(received, "values", received)
    assert list(values) == [0, 1, 2, 3, 4]


def test_bytes_are_sent_and_bytearrays_received(comm):
    buffer = bytearray(4)
    assert comm.allgather(b"abcd", buffer) is buffer
    assert buffer == b"abcd"
    refused(weft.ArgumentError, r"recvbuf is read-only", comm.allgather, b"abcd", b"1234")


def test_a_result_is_allocated(comm):
    result = comm.allreduce(numpy.ones((2, 3), "int16"))
    assert result.shape == (2, 3) and result.dtype == numpy.int16
    assert comm.allgather(numpy.ones((2, 3))).shape == (1, 2, 3)
    assert comm.alltoall(numpy.ones((4, 3))).shape == (4, 3)
    assert comm.allgatherv(numpy.ones(3), [None, [3]]).shape == (3,)
    assert comm.allreduce(2.0 * numpy.ones(())).shape == ()
    refused(weft.ArgumentError, r"recvbuf is missing", comm.allreduce, weft.IN_PLACE)


def test_arrays_that_are_not_contiguous_are_refused(comm):
    for strided in (numpy.zeros((4, 4))[:, 1], numpy.zeros((3, 4), order="F"), numpy.zeros(4)[::-1]):
        for wrap in (lambda values: values, OfArrayInterface, OfDlpack):
            if wrap is OfDlpack and strided.strides[0] < 0:
                continue  # DLPack has none such
            error = refused(weft.ArgumentError, r"sendbuf is not contiguous.*ascontiguousarray", comm.iallreduce,
                            wrap(strided))
            assert error.status == "WEFT_REFUSED_ARGUMENT" and error.call == "iallreduce"
    # One row of it is, and so is a column of one element.
    comm.allreduce(numpy.zeros((4, 4))[1])
    comm.allreduce(numpy.zeros((1, 4))[:, 1])


def test_what_is_read_only_is_not_written(comm):
    frozen = numpy.zeros(3)
    frozen.flags.writeable = False
    for wrap in (lambda values: values, OfArrayInterface, OfDlpack):
        refused(weft.ArgumentError, r"recvbuf is read-only", comm.iallreduce, numpy.ones(3), wrap(frozen))
    assert (frozen == 0).all()
    comm.allreduce(frozen)


def test_device_arrays_are_refused_by_name(comm):
    class CudaArray:
        __cuda_array_interface__ = {}

    for device in (CudaArray(), OfDlpack(numpy.zeros(3), (2, 0))):
        refused(weft.Unsupported, r"sendbuf is in the memory of a device \(.*" + type(device).__name__, comm.iallreduce,
                device)


def test_other_objects_are_refused_by_name(comm):
    refused(weft.ArgumentError, r"sendbuf is a builtins.list; expected the buffer protocol", comm.iallreduce, [1.0])
    refused(weft.ArgumentError, r"sendbuf is a builtins.NoneType", comm.iallreduce, None)
    refused(weft.ArgumentError, r"buf is a builtins.NoneType", comm.ibcast, None)


def test_types_that_weft_does_not_combine_are_moved(comm):
    for values in (numpy.array(["2026-11-27"], "M8[D]"), numpy.array([b"abcde", b"f"], "S5"),
                   numpy.zeros(3, [("a", "i4"), ("b", "f8")]), numpy.zeros(3, ">f8"), numpy.zeros(3, "g")):
        result = comm.allgather(values)
        assert (result[0] == values).all() and result.dtype == values.dtype
        error = refused(weft.Unsupported, r"can be moved, but not combined", comm.allreduce, values)
        assert str(values.dtype) in str(error)


def test_numbers_of_16_bits_and_complex_ones_are_combined(comm):
    values = numpy.array([1.5, -2, 0], "float16")
    for wrap in (lambda values: values, memoryview, OfArrayInterface, OfDlpack):
        result = numpy.zeros(3, "float16")
        comm.allreduce(wrap(values), wrap(result), op=weft.MAX)
        assert (result == values).all()
    for dtype in ("complex64", "complex128"):
        values = numpy.array([1 + 2j, 3j], dtype)
        for wrap in (lambda values: values, memoryview, OfArrayInterface, OfDlpack):
            result = numpy.zeros(2, dtype)
            comm.allreduce(wrap(values), wrap(result), op=weft.PROD)
            assert (result == values).all()
    refused(weft.ArgumentError, "min.*complex|complex.*min", comm.allreduce, values, op="min")


def test_types_of_extensions(comm):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = numpy.array([1, 2, 3], ml_dtypes.bfloat16)
    assert (comm.allreduce(values) == values).all()
    result = numpy.zeros(3, ml_dtypes.bfloat16)
    comm.ialltoallw([values, [3], [0], [values.dtype]], [result, [3], [0], ["bfloat16"]]).wait()
    assert (result == values).all()
    op = weft.Op(lambda a, b: numpy.add(a, b, out=b))
    assert (comm.allreduce(values, op=op) == values).all()
    small = values.astype(ml_dtypes.float8_e4m3fn)  # Weft has no type for it
    assert (comm.allgather(small)[0] == small).all()
    refused(weft.Unsupported, "float8_e4m3fn can be moved, but not combined", comm.allreduce, small)


def test_operations_have_names(comm):
    values = numpy.array([1.5, 2])
    for op in ("avg", weft.AVG, "max", "sum"):
        assert (comm.iallreduce(values, op=op).wait() == values).all()
    refused(weft.ArgumentError, "op = 'mean'; expected a weft.Op, or one of sum, prod", comm.iallreduce, values, op="mean")
    refused(weft.ArgumentError, "avg", comm.iallreduce, numpy.ones(2, int), op="avg")
    with pytest.raises(TypeError):
        comm.iallreduce(values, op=sum)


def test_pairs_are_combined(comm):
    pair = numpy.dtype([("value", "f8"), ("index", "i4")], align=True)
    values = numpy.array([(2.5, 1), (1.5, 0)], pair)
    assert (comm.allreduce(values, op=weft.MINLOC) == values).all()


def test_truth_values_are_combined_as_numpy_does(comm):
    values = numpy.array([True, False])
    for op in (weft.SUM, weft.PROD, weft.MIN, weft.MAX):
        result = comm.allreduce(values, op=op)
        assert result.dtype == bool and (result == values).all()


def test_both_buffers_have_one_type(comm):
    refused(weft.ArgumentError, r"sendbuf is of float64, recvbuf of int64; expected one type", comm.iallreduce,
            numpy.ones(3), numpy.ones(3, "int64"))


def test_both_buffers_have_one_size(comm):
    refused(weft.ArgumentError, r"count", comm.iallreduce, numpy.ones(3), numpy.ones(4))


def test_counts_stay_inside_of_the_buffer(comm):
    one, few = numpy.ones(3), numpy.zeros(2)
    refused(weft.ArgumentError, r"recvbuf has 2 elements; block 0 begins at 0 and has 3", comm.iallgatherv, one, [few, [3]])
    refused(weft.ArgumentError, r"block 0 begins at 1 and has 2", comm.iallgatherv, one[:2], [few, [2], [1]])
    refused(weft.ArgumentError, r"has a number -1; expected 0 or more", comm.iallgatherv, one, [few, [-1]])
    refused(weft.ArgumentError, r"has 2 counts; expected 1", comm.iallgatherv, one, [few, [1, 1]])
    refused(weft.ArgumentError, r"no counts; expected \[buffer, counts\]", comm.iallgatherv, one, few)
    refused(weft.ArgumentError, r"has 1 parts", comm.iallgatherv, one, [few])
    refused(weft.ArgumentError, r"recvbuf has 16 bytes; block 0 begins at 8 and has 2", comm.ialltoallw,
            [one, [1], [0], ["float64"]], [few, [2], [8], ["float64"]])
    refused(weft.ArgumentError, r"type 'float7'", comm.ialltoallw, [one, [1], [0], ["float7"]],
            [few, [1], [0], ["float64"]])
    refused(weft.ArgumentError, r"recvbuf has 2 elements; expected 3", comm.ireduce_scatter, one, few, [3])
    refused(weft.ArgumentError, r"recvcounts is missing", comm.ireduce_scatter, one, one)
    with pytest.raises(TypeError):
        comm.iallgatherv(one, [few, [0.5]])


def test_weft_refuses_what_it_checks_itself(comm):
    error = refused(weft.ArgumentError, r"root = 7; expected 0\.\.0", comm.ibcast, numpy.ones(3), 7)
    assert error.rank is None
    refused(weft.ArgumentError, r"recvbuf = IN_PLACE", comm.iallreduce, numpy.ones(3), weft.IN_PLACE)


def test_a_bytearray_cannot_shrink_under_an_operation(comm):
    buffer = bytearray(8)
    request = comm.allgather_init(b"12345678", buffer)
    with pytest.raises(BufferError):
        buffer.clear()
    request.free()
    buffer.clear()


def test_an_operation_of_the_program(comm):
    op = weft.Op(lambda a, b: numpy.add(a, b, out=b), commute=True)
    assert (comm.allreduce(numpy.arange(3), op=op) == [0, 1, 2]).all()


def test_communicators(comm):
    for made in (comm.dup(), comm.dup("reproducible=1"), comm.split(0), comm.split_node()):
        assert (made.rank, made.size) == (0, 1)
        assert made.allreduce(numpy.ones(1)) == 1
        made.free()
        with pytest.raises(weft.HandleError):
            made.allreduce(numpy.ones(1))
    assert comm.split(None) is None
    assert weft.init() is comm
    refused(weft.ArgumentError, "bcast=none|none", comm.dup, "none=1")


def test_engines(comm):
    before = weft.engine()
    weft.set_engine("manual")
    assert weft.engine() == "manual"
    assert comm.iallreduce(numpy.ones(1)).wait() == 1
    weft.set_engine(before)
    with pytest.raises(weft.ArgumentError, match="expected one of manual, thread"):
        weft.set_engine("none")


def test_statistics(comm):
    before = weft.statistics()
    comm.allreduce(numpy.ones(1))
    after = weft.statistics()
    assert after["operations"] == before["operations"] + 1 and after["engine"] == weft.engine()
    assert set(after) >= {"offloaded", "unexpected_messages", "connections", "descriptors", "memory_bytes"}


def test_a_schedule_of_the_program(comm):
    schedule = weft.Schedule(comm)
    scratch = schedule.scratch(16)
    first = schedule.copy(weft.SENDBUF[0:16], scratch)
    seen = []
    called = schedule.call(lambda memory: seen.append(bytes(memory)), scratch, after=first)
    schedule.copy(scratch, weft.RECVBUF[0:16], after=[called])
    schedule.seal()
    schedule.check()
    result = numpy.zeros(2)
    refused(weft.ArgumentError, r"recvbuf has 8 bytes; expected 16", schedule.init, numpy.ones(2), numpy.zeros(1))
    request = schedule.init(numpy.array([2.0, 3.0]), result)
    request.start()
    assert request.wait() is result
    assert list(result) == [2, 3] and seen == [numpy.array([2.0, 3.0]).tobytes()]
    with pytest.raises(weft.ArgumentError, match=r"\[begin:end\]"):
        scratch[8:24]
    words = [text.text for text in ElementTree.fromstring(schedule._repr_svg_()).iter("{http://www.w3.org/2000/svg}text")]
    assert words == ["0: copy send[0..16) -> scratch[0..16)", "1: call scratch[0..16)", "2: copy scratch[0..16) -> recv[0..16)"]
    assert schedule.simulate()["end_ns"] == 0  # nothing is sent


def test_a_drawing():
    assert weft.draw("allgather", "bruck", 6)._repr_svg_().startswith("<svg")
    with pytest.raises(weft.ArgumentError):
        weft.draw("allgather", "none", 6)
    assert weft.simulate("allreduce", "ring", 8, "--latency", "1000")["end_ns"] > 1000


def test_methods_are_documented():
    for name in dir(weft.Comm):
        if not name.startswith("_"):
            assert getattr(weft.Comm, name).__doc__, name
    assert "sendbuf" in weft.Comm.iallreduce.__doc__ and "Returns\n-------" in weft.Comm.iallreduce.__doc__


def test_memory_stays_flat(comm):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    sent, received = numpy.ones(1000), numpy.zeros(1000)
    for turn in range(3):
        before = resident()
        for _ in range(3000):
            comm.iallreduce(sent, received).wait()
            comm.allgather(sent)
            with pytest.raises(weft.ArgumentError):
                comm.iallreduce(sent, received[:3])
    assert resident() - before < 1 << 20
