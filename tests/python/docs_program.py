"""A rank that runs the programs of docs/python.md, then examples, one after the other: most of a job's time is Python's
start."""

import os
import re
import runpy
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

with open(os.path.join(ROOT, "docs", "python.md")) as file:
    programs = [text for text in re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL) if "mpi4py" not in text]
assert len(programs) >= 4
for number, text in enumerate(programs):
    exec(compile(text, "docs/python.md, program %d" % number, "exec"), {"__name__": "__main__"})
for example in sys.argv[1:]:
    runpy.run_path(os.path.join(ROOT, "python", "examples", example), run_name="__main__")
