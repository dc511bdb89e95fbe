#!/usr/bin/env python3
"""Compare two builds of Weft, or two settings: a bench command runs with each of them in turn.

    bench/alternate.py build/old build/release -- micro --repetitions 100
    bench/alternate.py --rounds 20 build/old build/release -- latency --engine manual,thread
    bench/alternate.py --new-env WEFT_SHM_LARGE=vm_readv build/release build/release -- overlap

Compares every number of the tables that `weft bench` prints: each build's median over the rounds, the ratio of
the two, and the median of the rounds' own ratios new / old with a 95 % interval. A machine drifts, so a
difference counts only between alternating runs; many short rounds tell more than a few long ones. Ranks stay
on their cores, as the command's --bind and --cores say.
"""

import argparse
import math
import os
import re
import statistics
import subprocess
import sys

NUMBER = re.compile(r"^-?\d+(\.\d+)?$")


def cells_of(line):
    return [cell.strip() for cell in re.split(r"\s{2,}", line.strip()) if cell.strip()]


def numbers_in(text):
    """All numbers, by the words before a row's first number and the column: ('barrier, start + wait', 'thread', 1)."""
    found = {}
    for line in text.splitlines():
        cells = cells_of(line)
        numbers = [i for i, cell in enumerate(cells) if NUMBER.match(cell)]
        if not numbers or numbers[0] == 0:
            continue
        for column, at in enumerate(numbers):
            key = tuple(cells[:numbers[0]]) + (column + 1,)
            while key in found:  # rows that read the same
                key += ("again",)
            found[key] = float(cells[at])
    return found


def setting(text):
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError("%s; expected NAME=VALUE" % text)
    return name, value


def run(build, settings, command):
    program = os.path.join(build, "weft")
    done = subprocess.run([program, "bench"] + command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env={**os.environ, **dict(settings)}, timeout=1800)
    if done.returncode != 0:
        sys.exit("%s bench %s exited with status %d" % (program, " ".join(command), done.returncode))
    return numbers_in(done.stdout.decode())


def interval(values):
    """From the k-th smallest to the k-th largest, where k misses the median in at most 5 % (sign test); None: too few."""
    n, k, missed = len(values), 0, 0.0
    while missed + 2 * math.comb(n, k) / 2 ** n <= 0.05:
        missed += 2 * math.comb(n, k) / 2 ** n
        k += 1
    ordered = sorted(values)
    return (ordered[k - 1], ordered[n - k]) if k > 0 else None


def by_round(old, new):
    """The ratio, as text: the rounds that have both numbers."""
    ratios = [after / before for before, after in zip(old, new) if before]
    if not ratios or len(old) != len(new):
        return "-"
    ends = interval(ratios)
    return "%.3f" % statistics.median(ratios) + (" (%.3f-%.3f)" % ends if ends else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="a folder with the program weft")
    parser.add_argument("new", help="another")
    parser.add_argument("--rounds", type=int, default=10, help="how often each runs")
    for side in ("old", "new"):
        parser.add_argument("--%s-env" % side, type=setting, action="append", default=[], metavar="NAME=VALUE",
                            help="an environment variable of %s; may be repeated" % side)
    parser.add_argument("command", nargs="+", help="after --: the arguments of `weft bench`")
    arguments = parser.parse_args()

    samples = {"old": {}, "new": {}}
    for number in range(arguments.rounds):
        # The order alternates as well.
        order = ("old", "new") if number % 2 == 0 else ("new", "old")
        for side in order:
            build, settings = getattr(arguments, side), getattr(arguments, side + "_env")
            for key, value in run(build, settings, arguments.command).items():
                samples[side].setdefault(key, []).append(value)
        if sys.stderr.isatty():
            print("round %d of %d" % (number + 1, arguments.rounds), end="\r", file=sys.stderr)

    print("%-60s %10s %10s %7s  %s" % ("median of %d rounds" % arguments.rounds, "old", "new", "ratio", "by round"))
    for key, old in samples["old"].items():
        new = samples["new"].get(key)
        if not new:
            print("%-60s %10.4g %10s" % (" ".join(map(str, key)), statistics.median(old), "gone"))
            continue
        before, after = statistics.median(old), statistics.median(new)
        ratio = "%7.3f" % (after / before) if before else "      -"
        print("%-60s %10.4g %10.4g %s  %s" % (" ".join(map(str, key)), before, after, ratio, by_round(old, new)))


if __name__ == "__main__":
    main()
