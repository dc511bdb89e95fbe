"""All collectives against NumPy's results, over shm and tcp, with cases that hypothesis chooses."""

import importlib.util
import json
import os
import random

import pytest

from support import job, runs_all

COLLECTIVES = """barrier bcast gather scatter allgather alltoall reduce allreduce reduce_scatter_block allgatherv
    reduce_scatter scan exscan gatherv scatterv alltoallv alltoallw neighbor_allgather neighbor_allgatherv
    neighbor_alltoall neighbor_alltoallv neighbor_alltoallw""".split()
NUMBERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
if importlib.util.find_spec("ml_dtypes"):
    NUMBERS.append("bfloat16")
FORMS = ["nonblocking", "blocking", "persistent"]
SEED = int(os.environ.get("WEFT_TEST_TURN", "1"))


def operations_of(dtype, collective):
    averages = [] if collective in ("scan", "exscan") else ["AVG"]
    if dtype.startswith("complex"):
        return ["SUM", "PROD"] + averages
    if "float" in dtype:
        return ["SUM", "PROD", "MIN", "MAX"] + averages
    if dtype == "bool":
        return ["SUM", "PROD", "MIN", "MAX", "LAND", "LOR", "LXOR", "BAND"]
    return ["SUM", "PROD", "MIN", "MAX", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"]


def case(choose, collective, form):
    """A case by `choose(list)`."""
    dtype = choose(NUMBERS + ["bool"])
    return {"collective": collective, "form": form, "dtype": dtype, "op": choose(operations_of(dtype, collective)),
            "shape": choose([[], [1], [3], [2, 3], [0], [65], [400, 5]]), "root": choose([0, 1, 2, 3]),
            "in_place": choose([False, True]), "gives_out": choose([True, False]), "seed": choose(list(range(40)))}


def chosen_by_hypothesis(collective, form, number):
    import hypothesis
    from hypothesis import strategies

    cases = []

    @hypothesis.seed(SEED)
    @hypothesis.settings(max_examples=number, database=None, deadline=None, phases=[hypothesis.Phase.generate],
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(strategies.data())
    def collect(data):
        cases.append(case(lambda values: data.draw(strategies.sampled_from(values)), collective, form))

    collect()
    return cases


def cases(number):
    result = []
    for collective in COLLECTIVES:
        for form in FORMS:
            try:
                result += chosen_by_hypothesis(collective, form, number)
            except ImportError:
                chance = random.Random("%d %s %s" % (SEED, collective, form))
                result += [case(chance.choice, collective, form) for _ in range(number)]
    return result


@pytest.fixture(scope="module")
def file_of_cases(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "cases.json"
    path.write_text(json.dumps(cases(60 if runs_all() else 6)))
    return str(path)


@pytest.mark.parametrize("ranks, transport", [(1, "shm")] + [(ranks, transport) for ranks in (2, 3, 4) for transport in ("shm", "tcp")])
def test_results_are_numpys(file_of_cases, ranks, transport):
    lines = job(ranks, "spec_program.py", file_of_cases, WEFT_TRANSPORT=transport)
    assert len(lines) == ranks and len(set(lines)) == 1, lines
