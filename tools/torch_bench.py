"""Measures the back end of PyTorch beside gloo, in turn in one run: `./dev bench --torch`.

usage: torch_bench.py PYTHON BUILD CMAKE GENERATOR MAKE_PROGRAM COMPILER [--seconds S] [--only WORD]

PYTHON has torch; BUILD is a release build. Prints times of weft, what they are of gloo's, and the bounds that are wanted.
Of gloo's median, also the interval (95 %, of the medians of the turns, pair by pair): a bound of 1 is broken if all of the
interval is above. Two ranks with a core each over shared memory; the same without cores of their own; two nodes with a link
of 1 Gbit/s between them (as root, or with user namespaces); four ranks on two cores, also with a program beside them that
computes without end; steps of training. Nothing else should run."""

import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RANK = os.path.join(ROOT, "bench", "torch", "rank.py")
MASTER_PORT = "29517"
KB, MB = 1 << 10, 1 << 20

SHM = ["-n", "2", "--bind", "core"]
UNPINNED = ["-n", "2"]
FOUR = ["-n", "4", "--cores", "0,1"]
LINK = ["-n", "2", "--nodes", "2", "--rate", "1gbit", "--bind", "core"]

# What runs where, and for each size the largest that is wanted of gloo's median, 99th percentile and CPU; us at most.
OPERATIONS = (
    ("2 ranks, a core each, shm", SHM, "allreduce", "float32", {
        8: {"median": 0.05, "p99": 0.15, "cpu": 0.15, "us": 7}, 4 * KB: {"median": 0.05, "p99": 0.15, "cpu": 0.15},
        64 * KB: {"median": 0.12, "p99": 0.15, "cpu": 0.15}, MB: {"median": 0.30, "p99": 0.15, "cpu": 0.5},
        16 * MB: {"median": 0.50, "p99": 0.6, "cpu": 0.5}}),
    ("2 ranks, a core each, shm", SHM, "barrier", "float32", {8: {"median": 0.07}}),
    ("2 ranks, a core each, shm", SHM, "future", "float32", {8: {"median": 0.15}}),
    ("2 ranks, a core each, shm", SHM, "allreduce", "bfloat16", {MB: {"median": 0.2}, 16 * MB: {"median": 0.45}}),
    ("2 ranks, no core of their own, shm", UNPINNED, "allreduce", "float32", {8: {"median": 0.06}, 16 * MB: {"median": 0.6}}),
    ("2 nodes, 1 Gbit/s", LINK, "allreduce", "float32", {
        8: {"median": 0.07, "p99": 0.1, "us": 15}, 64 * KB: {"median": 1.0}, MB: {"median": 1.0}, 16 * MB: {"median": 1.0}}),
    ("2 nodes, 1 Gbit/s", LINK, "allgather", "float32", {MB: {"median": 0.70}}),
    ("4 ranks on 2 cores, shm", FOUR, "allreduce", "float32", {
        8: {"median": 0.2}, 64 * KB: {"median": 0.16}, MB: {"median": 0.95, "p99": 1.0}, 16 * MB: {"median": 0.95, "p99": 1.0}}),
)
BUSY = "4 ranks on 2 cores, shm, beside a busy program"
OPERATIONS += ((BUSY, FOUR, "allreduce", "float32", {MB: {"median": 1.1}, 16 * MB: {"median": 1.1}}),)
STEPS = (  # hidden, layers, bucket in MB, inputs, hook, settings
    ("DDP, 1 Gbit/s, 3 MB in buckets of 0.25 MB", LINK, (256, 12, 0.25, 64), 0.87),
    ("DDP, 1 Gbit/s, 25 MB in buckets of 4 MB", LINK, (512, 24, 4, 64), 0.98),
    ("DDP, 1 Gbit/s, 25 MB, computation as long as gloo's communication, weft's bfloat16 wire / gloo", LINK,
     (512, 24, 4, "equal", "none", "wire=bfloat16"), 0.65),
    ("DDP, 1 Gbit/s, 25 MB, weft's bfloat16 wire / gloo", LINK, (512, 24, 4, 64, "none", "wire=bfloat16"), None),
    ("DDP, 1 Gbit/s, 25 MB, weft's bfloat16 wire / gloo's bf16 hook", LINK, (512, 24, 4, 64, "bf16", "wire=bfloat16"), 0.97),
    ("DDP, shm, 3 MB", SHM, (256, 12, 25, 64), 0.33),
    ("DDP, shm, 25 MB", SHM, (512, 24, 25, 64), 0.80),
)


def load(*path):
    file = os.path.join(ROOT, *path)
    specification = importlib.util.spec_from_file_location(path[-1][:-3] + "_of_tests", file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def measured(build, python, environment, where, *arguments):
    """What rank 0 printed; nothing if the job fails, which is said."""
    on_nodes = "--nodes" in where
    settings = dict(environment, MASTER_PORT=MASTER_PORT, MASTER_ADDR="10.77.0.1" if on_nodes else "127.0.0.1")
    if on_nodes:
        settings["GLOO_SOCKET_IFNAME"] = "eth0"
    done = subprocess.run([os.path.join(build, "weft"), "run"] + where + [python, "-B", RANK] + [str(word) for word in arguments],
                          env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        print("  not measured: status %d\n%s" % (done.returncode, (done.stdout + done.stderr)[-2000:]), flush=True)
        return {}
    return json.loads(lines[-1])


@contextlib.contextmanager
def busy_program(wanted):
    """A program that computes until the block ends, on the cores that the ranks have."""
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if program:
            program.kill()
            program.wait()


held = []  # of each bound: does it hold?


def verdict(value, bound, low=None):
    if bound is None:
        return ""
    held.append(value <= bound or (bound == 1 and low is not None and low <= 1))
    return "   at most %-5g %s" % (bound, "yes" if held[-1] else "NO")


def show(name, result, bounds):
    gloo, weft = result["gloo"], result["weft"]
    print("  %-22s %11.1f us, gloo %.1f us%s" % (name, 1e6 * weft["median"], 1e6 * gloo["median"],
                                                 verdict(1e6 * weft["median"], bounds.get("us"))))
    for what in ("median", "p99", "cpu"):
        if gloo[what] > 0:
            ratio = weft[what] / gloo[what]
            interval, low = "", None
            if what == "median":
                low, high = result["interval"]
                interval = " [%.3f, %.3f]" % (low, high)
            print("    %-8s %.3f of gloo's%-16s%s" % (what, ratio, interval, verdict(ratio, bounds.get(what), low)))
    if "batch" in result:
        print("    %d inputs, computation alone %.1f ms" % (result["batch"], 1e3 * result["computation"]))
    sys.stdout.flush()


def size_text(size):
    return "%d MB" % (size // MB) if size >= MB else "%d KB" % (size // KB) if size >= KB else "%d B" % size


def measure_operation(run, seconds, options, is_beside_program, kind, dtype, sizes):
    with busy_program(is_beside_program):
        result = run(options, "operation", seconds, kind, dtype, *sizes)
    for size, bounds in sizes.items():
        if str(size) in result:
            show(kind if kind in ("barrier", "future") else size_text(size), result[str(size)], bounds)


def measure_step(run, seconds, options, arguments, bound):
    result = run(options, "ddp", seconds * 3, *arguments)
    if result:
        show("step", result["step"], {"median": bound})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", default="")
    ours, (python, build, *of_build) = parser.parse_known_args()
    tests = load("python", "torch", "tests", "run.py")
    version = tests.version_with_torch(python)
    environment = tests.environment(version, tests.of_weft.build(version, build, *of_build), build)
    rows = [("%s: %s of %s" % (where, kind, dtype), measure_operation, (options, where == BUSY, kind, dtype, sizes))
            for where, options, kind, dtype, sizes in OPERATIONS]
    rows += [(title, measure_step, row) for title, *row in STEPS]
    rows = [row for row in rows if ours.only in row[0]]
    begin = time.monotonic()
    for number, (title, measure, row) in enumerate(rows):
        print("[%d of %d, %.0f s] %s" % (number + 1, len(rows), time.monotonic() - begin, title), flush=True)
        measure(lambda *words: measured(build, python, environment, *words), ours.seconds, *row)
    print("%d bounds hold, %d do not" % (sum(held), len(held) - sum(held)))


if __name__ == "__main__":
    main()
