"""Runs the table with gloo and with weft on the same inputs. Rank 0 prints a line of JSON for each row: its name, and
for each back end "ok", "differs" or the failure."""

import datetime
import json

import torch
import torch.distributed as dist

import table
from rows import are_same, run

if torch.__version__.startswith("2.13"):  # it looks for no entry points
    import weft_torch  # noqa: F401

TIMEOUT = datetime.timedelta(seconds=30)


def main():
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    groups = {name: dist.new_group(list(range(ranks)), backend=name, timeout=TIMEOUT) for name in ("gloo", "weft")}
    for name, function in table.ROWS:
        values, outcome = {}, {}
        for backend in ("gloo", "weft"):
            if name in table.ONLY_WEFT and backend == "gloo":
                outcome[backend] = "lacks " + table.ONLY_WEFT[name]
                continue
            values[backend], outcome[backend] = run(function, groups[backend], rank, ranks)
        if outcome["weft"] == "ok":
            got, expected = values["weft"] if name in table.ONLY_WEFT else (values["weft"], values.get("gloo"))
            if expected is not None and not are_same(got, expected):
                outcome["weft"] = "differs: %s; expected %s" % (got, expected)
        everywhere = [None] * ranks
        dist.all_gather_object(everywhere, outcome)
        line = {"name": name}
        for backend in groups:
            failures = [one[backend] for one in everywhere if one[backend] != "ok"]
            line[backend] = failures[0][:400] if failures else "ok"
            # A failure may break the group.
            if failures and not failures[0].startswith("lacks"):
                groups[backend] = dist.new_group(list(range(ranks)), backend=backend, timeout=TIMEOUT)
        if rank == 0:
            print(json.dumps(line), flush=True)
    dist.destroy_process_group()


main()
