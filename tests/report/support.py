"""What several of these tests use: the drawn file of schema 1, and small files made of lines."""

import importlib.util
import json
import os
import tempfile
import unittest

from report import samples
from report.experiment import experiments

SCHEMA_1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema1.jsonl")
NO_MATPLOTLIB = "" if importlib.util.find_spec("matplotlib") else "no matplotlib: ./dev test installs it in .cache/report"
needs_matplotlib = unittest.skipIf(NO_MATPLOTLIB, NO_MATPLOTLIB)

COLUMNS = ["blocking", "work", "total"]


def head(**scenario):
    scenario = dict({"name": "overlap", "question": "How much hides?", "says": "hidden"}, **scenario)
    return {"kind": "run", "schema": 1, "date": "2026-11-27T02:20:00Z", "command": "weft bench " + scenario["name"],
            "weft": {"version": "1.0"}, "host": {"cpu": "a CPU", "cpus": 2, "kernel": "6.1"},
            "scenarios": {scenario["name"]: scenario}}


def cell(number, member, scenario="overlap", contest=0, columns=COLUMNS, **other):
    return dict({"kind": "cell", "id": number, "scenario": scenario, "contest": contest, "member": member,
                 "again": member.endswith(" again"), "collective": "ibcast", "bytes": 1048576, "ranks": 1, "nodes": 1,
                 "engine": member.replace(" again", ""), "columns": columns,
                 "compute": {"who": "all", "for": "operation"}}, **other)


def sample(number, repetition, *values):
    return {"kind": "sample", "cell": number, "repetition": repetition, "order": 0, "ranks": [list(values)]}


END = {"kind": "end", "seconds": 1.0, "complete": True}


def text_of(lines):
    return "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)


def read_text(text):
    """The runs and the interruption of a file "samples" with this text."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            with open("samples", "w") as file:
                file.write(text)
            return samples.read("samples")
        finally:
            os.chdir(before)


def experiments_of(lines):
    return experiments(*read_text(text_of(lines)))


def contest(values, repetitions=9, first=0, number=0, **other):
    """Lines of a contest: its members have a function each, from the repetition to the columns' values."""
    lines = [cell(first + at, member, contest=number, **other) for at, member in enumerate(values)]
    return lines + [sample(first + at, repetition, *value(repetition))
                    for repetition in range(repetitions) for at, value in enumerate(values.values())]
