"""Reading samples: JSON lines of schema 1, as `weft bench --json FILE` writes them (docs/measuring.md)."""

import gzip
import json
import math
import zlib

SCHEMA = 1


class SampleError(Exception):
    """What is wrong with a file, for people: FILE:LINE: sentence."""


class Run:
    """What one job has written: its "run" line, and all lines up to the next one."""

    def __init__(self, file, head):
        self.file = file
        self.head = head
        self.cells = {}    # by id, in the order of the file
        self.missing = []
        self.switches = []
        self.simulated = []
        self.end = None    # the "end" line


class Cell:
    """A member at one point of a scenario, with its samples."""

    def __init__(self, head):
        self.head = head
        self.samples = []


# What a line of a kind must have, and of which type.
NUMBER = (int, float)
FIELDS = {
    "run": {"schema": int, "date": str, "command": str, "weft": dict, "host": dict, "scenarios": dict},
    "cell": {"id": int, "scenario": str, "contest": int, "member": str, "collective": str, "bytes": int,
             "ranks": int, "columns": list},
    "sample": {"cell": int, "repetition": int, "ranks": list},
    "missing": {"scenario": str, "why": str},
    "switch": {"scenario": str},
    "simulated": {"scenario": str, "member": str, "collective": str, "bytes": int, "ranks": int, "value": NUMBER,
                  "metric": str, "command": str},
    "end": {"complete": bool},
}
# What may be missing or null.
OPTIONAL = {
    "run": {"timer": dict, "settings": dict, "mpi": str},
    "cell": {"nodes": int, "link": dict, "compute": dict, "late": dict, "algorithm": str, "again": bool},
    "missing": {"member": str},
    "switch": {"bias_us": NUMBER, "late_max_us": NUMBER, "cpu_s": NUMBER, "bytes": NUMBER},
}
LINK = {"delay_us": NUMBER, "jitter_us": NUMBER, "loss": NUMBER}
SCENARIO = {"question": str, "says": str, "members": list, "statistic": dict, "column": str, "notes": list, "views": list,
            "compares": list}
STATISTICS = ("median", "min", "mean", "max")
WORDS = {int: "a whole number", str: "a text", dict: "an object", list: "a list", bool: "true or false",
         NUMBER: "a number"}


def is_of(value, wanted):
    return isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))


def check_type(name, value, wanted):
    if not is_of(value, wanted):
        raise ValueError('"%s" = %s; expected %s' % (name, json.dumps(value)[:60], WORDS[wanted]))


def check_optional(line, wanted):
    for name, kind in wanted.items():
        if line.get(name) is not None:
            check_type(name, line[name], kind)


def check_fields(line, kind):
    article = "an" if kind == "end" else "a"
    for name, wanted in FIELDS[kind].items():
        if name not in line:
            raise ValueError('%s "%s" line without "%s"' % (article, kind, name))
        check_type(name, line[name], wanted)
    check_optional(line, OPTIONAL.get(kind, {}))


def check_scenario(name, scenario):
    check_type(name, scenario, dict)
    check_optional(scenario, SCENARIO)
    for name in ("members", "views"):
        for one in scenario.get(name) or []:
            check_type(name, one, dict)
    statistic = (scenario.get("statistic") or {}).get("repetitions", "median")
    if statistic not in STATISTICS:
        raise ValueError('"statistic" = %s; expected one of %s' % (json.dumps(statistic), ", ".join(STATISTICS)))


def check_schema(schema):
    if schema > SCHEMA:
        raise ValueError("these samples have schema %d, and this report reads schema %d: use the report of the Weft "
                         "that wrote them" % (schema, SCHEMA))
    if schema < SCHEMA:
        raise ValueError("schema = %d; expected %d" % (schema, SCHEMA))


def check_sample(line, cell):
    columns = cell.head["columns"]
    for rank, values in enumerate(line["ranks"]):
        if not isinstance(values, list) or len(values) != len(columns):
            raise ValueError("rank %d has %s; expected %d numbers, one for each of %s" %
                             (rank, json.dumps(values)[:60], len(columns), ", ".join(map(str, columns))))
        for value in values:
            if value is not None and not (is_of(value, NUMBER) and math.isfinite(value)):
                raise ValueError("rank %d has %s; expected a number of microseconds" % (rank, json.dumps(value)[:60]))
    if len(line["ranks"]) != cell.head["ranks"]:
        raise ValueError("%d ranks; its cell has %d" % (len(line["ranks"]), cell.head["ranks"]))


def add_line(runs, file, text):
    """Takes one line of the file, or raises ValueError."""
    try:
        line = json.loads(text)
    except ValueError as error:
        raise ValueError("no JSON: %s" % error)
    kind = line.get("kind") if isinstance(line, dict) else None
    if not isinstance(kind, str) or kind not in FIELDS:
        raise ValueError('kind = %s; expected one of %s' % (json.dumps(kind), ", ".join(FIELDS)))
    if kind == "simulated" and isinstance(line.get("value"), float) and not math.isfinite(line["value"]):
        raise ValueError('"value" = %s; expected a number' % line["value"])
    if kind == "run" and isinstance(line.get("schema"), int):
        check_schema(line["schema"])
    check_fields(line, kind)
    if kind == "run":
        for name, scenario in line["scenarios"].items():
            check_scenario(name, scenario)
        runs.append(Run(file, line))
        return
    if not runs:
        raise ValueError('"%s" before the first "run" line' % kind)
    run = runs[-1]
    if kind == "cell":
        if line["id"] in run.cells:
            raise ValueError("a second cell with id %d" % line["id"])
        if line["scenario"] not in run.head["scenarios"]:
            raise ValueError('scenario "%s" is not among those of the "run" line' % line["scenario"])
        if line["bytes"] < 0 or line["ranks"] < 1:
            raise ValueError("bytes = %d, ranks = %d; expected at least 0 and 1" % (line["bytes"], line["ranks"]))
        check_optional(line.get("link") or {}, LINK)
        run.cells[line["id"]] = Cell(line)
    elif kind == "sample":
        cell = run.cells.get(line["cell"])
        if cell is None:
            raise ValueError("no cell has id %d" % line["cell"])
        check_sample(line, cell)
        cell.samples.append(line)
    elif kind == "missing":
        run.missing.append(line)
    elif kind == "switch":
        run.switches.append(line)
    elif kind == "simulated":
        if not any(line["scenario"] in one.head["scenarios"] for one in runs):
            raise ValueError('scenario "%s" is not among those of a "run" line before it' % line["scenario"])
        run.simulated.append(line)
    else:
        run.end = line


def read(file):
    """The runs of a file, which gzip may have packed (*.gz), and a sentence if it is not complete (otherwise "")."""
    try:
        with (gzip.open if file.endswith(".gz") else open)(file, "rt", encoding="utf-8", errors="replace") as lines:
            text = lines.read()
    except (OSError, EOFError, zlib.error) as error:
        raise SampleError("%s: %s" % (file, getattr(error, "strerror", None) or error))
    runs = []
    cut_off = False
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not line.strip():
            continue
        try:
            add_line(runs, file, line)
        except ValueError as error:
            # A run that was killed while it wrote: its last line has no end.
            if runs and not line.endswith("\n") and str(error).startswith("no JSON"):
                cut_off = True
                break
            raise SampleError("%s:%d: %s" % (file, number, error))
    if not runs:
        raise SampleError("%s: it is empty; expected the samples of `weft bench --json FILE`" % file)
    return runs, interruption(runs, cut_off)


def interruption(runs, cut_off):
    end = runs[-1].end
    if cut_off:
        return "The run was interrupted: the last line of the file is cut off."
    if end is None:
        return 'The run was interrupted: the file has no "end" line.'
    if not end["complete"]:
        return "The run was interrupted before everything was measured."
    return ""
