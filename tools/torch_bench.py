"""Measures the back end of PyTorch beside gloo, in turn in one run: `./dev bench --torch`.

usage: torch_bench.py PYTHON BUILD CMAKE GENERATOR MAKE_PROGRAM COMPILER [--seconds S] [--only WORD]

PYTHON has torch; BUILD is a release build. Prints times of weft, what they are of gloo's, and the bounds that are wanted.
Two ranks with a core each over shared memory; the same without cores of their own; two nodes with a link of 1 Gbit/s
between them (as root, or with user namespaces); four ranks on two cores; steps of training. Nothing else should run."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys

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
STEPS = (  # hidden, layers, bucket in MB, hook, settings
    ("DDP, 1 Gbit/s, 3 MB in buckets of 0.25 MB", LINK, (256, 12, 0.25), 0.87),
    ("DDP, 1 Gbit/s, 25 MB in buckets of 4 MB", LINK, (512, 24, 4), 0.98),
    ("DDP, 1 Gbit/s, 25 MB, weft's bfloat16 wire / gloo", LINK, (512, 24, 4, "none", "wire=bfloat16"), 0.65),
    ("DDP, 1 Gbit/s, 25 MB, weft's bfloat16 wire / gloo's bf16 hook", LINK, (512, 24, 4, "bf16", "wire=bfloat16"), 0.97),
    ("DDP, shm, 3 MB", SHM, (256, 12, 25), 0.33),
    ("DDP, shm, 25 MB", SHM, (512, 24, 25), 0.80),
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


def verdict(value, bound):
    return "" if bound is None else " (wanted: at most %g: %s)" % (bound, "yes" if value <= bound else "NO")


def show(name, result, bounds):
    gloo, weft = result["gloo"], result["weft"]
    print("  %-22s %11.1f us%s" % (name, 1e6 * weft["median"], verdict(1e6 * weft["median"], bounds.get("us"))))
    for what in ("median", "p99", "cpu"):
        if gloo[what] > 0:
            ratio = weft[what] / gloo[what]
            print("    %-20s %11.3f of gloo's%s" % (what, ratio, verdict(ratio, bounds.get(what))))
    sys.stdout.flush()


def size_text(size):
    return "%d MB" % (size // MB) if size >= MB else "%d KB" % (size // KB) if size >= KB else "%d B" % size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", default="")
    ours, (python, build, *of_build) = parser.parse_known_args()
    tests = load("python", "torch", "tests", "run.py")
    version = tests.version_with_torch(python)
    environment = tests.environment(version, tests.of_weft.build(version, build, *of_build), build)
    for where, options, kind, dtype, sizes in OPERATIONS:
        title = "%s: %s of %s" % (where, kind, dtype)
        if ours.only not in title:
            continue
        print(title, flush=True)
        result = measured(build, python, environment, options, "operation", ours.seconds, kind, dtype, *sizes)
        for size, bounds in sizes.items():
            if str(size) in result:
                show(kind if kind in ("barrier", "future") else size_text(size), result[str(size)], bounds)
    for title, options, arguments, bound in STEPS:
        if ours.only not in title:
            continue
        print(title, flush=True)
        hidden, layers, bucket, *rest = arguments
        result = measured(build, python, environment, options, "ddp", ours.seconds * 3, hidden, layers, bucket, *rest)
        if result:
            show("step", result["step"], {"median": bound})


if __name__ == "__main__":
    main()
