"""./dev report [FILES] -o report.html [--png FOLDER]"""

import argparse
import glob
import os
import re
import sys

from .experiment import experiments
from .samples import SampleError, read


def parse():
    parser = argparse.ArgumentParser(prog="./dev report", description="Draws the samples of `weft bench --json FILE` "
                                     "as one page of HTML.")
    parser.add_argument("file", nargs="*", help="samples; without any, those of the last ./dev bench")
    parser.add_argument("-o", "--output", default="report.html", help="the page (report.html)")
    parser.add_argument("--png", metavar="FOLDER", help="also each figure as a PNG, in this folder")
    parser.add_argument("--markdown", metavar="FOLDER", help="also each table as Markdown, in this folder")
    return parser.parse_args()


def file_names(found):
    """A name for each experiment that was measured: the scenario's, and the MPI's; numbered where they are equal."""
    names = {}
    for experiment in found:
        if experiment.contests:
            mpis = [mpi.split()[0] for mpi in experiment.mpis] if experiment.role not in ("verdict", "model") else []
            text = " ".join([experiment.name] + [experiment.role] * (experiment.role in ("detail", "model")) + mpis)
            name = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.").lower()
            at = 2
            while name in names:
                name, at = "%s-%d" % (re.sub(r"-\d+$", "", name) if at > 2 else name, at), at + 1
            names[name] = experiment
    return names


def write_markdown(folder, name, experiment):
    from . import table
    from .draw import verdict
    host = experiment.run.head["host"]
    with open(os.path.join(folder, name + ".md"), "w", encoding="utf-8") as file:
        file.write("# %s\n\n%s\n\n%s. %s, %s CPUs, Linux %s; %s.\n\n```\n%s\n```\n\n%s" % (
            experiment.question, verdict.headline(experiment), experiment.conditions(), host.get("cpu", "unknown"),
            host.get("cpus", "?"), host.get("kernel", "?"), experiment.run.head["date"],
            experiment.run.head["command"], table.markdown(experiment)))


def main():
    arguments = parse()
    last = os.environ.get("WEFT_REPORT_LAST", "")
    files = arguments.file or sorted(glob.glob(last))
    if not files:
        print("./dev report: no samples; name a file of `weft bench --json FILE`, or run ./dev bench first",
              file=sys.stderr)
        return 2
    try:
        measured = []
        for file in files:
            measured += experiments(*read(file))
    except SampleError as error:
        print("./dev report: %s" % error, file=sys.stderr)
        return 2
    from . import page, split  # (and so matplotlib: what is wrong with a file can be said without it)
    found = [part for experiment in measured for part in split.figures(experiment)]
    with open(arguments.output, "w", encoding="utf-8") as out:
        out.write(page.page(found))
    for folder, write in ((arguments.png, lambda name, experiment: page.png(
            experiment, os.path.join(arguments.png, name + ".png"))),
                          (arguments.markdown, lambda name, experiment: write_markdown(arguments.markdown, name,
                                                                                       experiment))):
        if folder:
            os.makedirs(folder, exist_ok=True)
            for name, experiment in file_names(found).items():
                write(name, experiment)
    print(os.path.abspath(arguments.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
