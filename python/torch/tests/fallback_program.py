"""What the back end in Python can do, against gloo."""

import datetime

import torch.distributed as dist
import weft

import table
import weft_torch
from rows import are_same, run

CANNOT = ("is_completed", "sparse", "monitored", "sequence", "future", "refused", "from any", "result", "set_timeout",
          "uint16", "functional", "coalescing", "all_gather_coalesced", "gather_into_tensor", "float8")
if not hasattr(weft.Comm, "isend"):
    CANNOT += ("send", "recv")


def main():
    timeout = datetime.timedelta(seconds=30)
    dist.init_process_group("gloo", timeout=timeout)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    everyone = list(range(ranks))
    gloo, weft = (dist.new_group(everyone, backend=name, timeout=timeout) for name in ("gloo", "weft"))
    assert weft_torch.backend_kind() == "python"
    wrong = []
    for name, function in table.ROWS:
        if any(word in name for word in CANNOT):
            continue
        values, outcome = run(function, weft, rank, ranks)
        if name in table.ONLY_WEFT:
            values, expected = values or (None, None)
            of_gloo = "ok"
        else:
            expected, of_gloo = run(function, gloo, rank, ranks)
        if of_gloo == "ok" and (outcome != "ok" or not are_same(values, expected)):
            wrong.append("%s: %s: %s; expected %s" % (name, outcome, values, expected))
    assert not wrong, "\n".join(wrong)
    dist.barrier()


main()
