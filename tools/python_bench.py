"""Measures the Python package against C, mpi4py with each MPI, and asyncio: `./dev bench --python`.

usage: python_bench.py [BUILD CMAKE GENERATOR MAKE_PROGRAM COMPILER]

Two ranks with a core each, over shared memory. BUILD is a release build; the module is built in it for the newest Python of
which ./dev has an environment. Without arguments the package of the Python that runs this is measured: that of an installed
wheel. Takes about a minute; nothing else should run."""

import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "python"))

import mpis  # noqa: E402
import run as module  # noqa: E402 (builds the module for tests)

RANK = os.path.join(ROOT, "bench", "python", "rank.py")


def measured(command, settings):
    """What rank 0 printed; ends this program if the job fails."""
    done = subprocess.run(command, env=dict(os.environ, **settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit("status %d of %s\n%s%s" % (done.returncode, " ".join(command), done.stdout, done.stderr))
    return json.loads(done.stdout.strip().splitlines()[-1])


def show(what, value, bound=None, unit=""):
    """A line of the table; `bound`: the largest that is wanted."""
    verdict = "" if bound is None else "  (wanted: at most %g%s: %s)" % (bound, unit, "yes" if value <= bound else "NO")
    print("  %-58s %9.3f%s%s" % (what, value, unit, verdict), flush=True)


def show_latency(name, result):
    print("Sums of 8 bytes, started and waited for, %s, in turn in one process" % name)
    for member, nanoseconds in sorted(result["ns"].items(), key=lambda item: item[1]):
        show(member, nanoseconds / 1000, unit=" us")
    show("the package over C", result["over_c_ns"] / 1000, 0.25, " us")
    show("the package / itself (how accurate this is)", result["again"])
    if "of_mpi4py" in result:
        show("the package / mpi4py", result["of_mpi4py"], 0.65)


def show_awaiting(result):
    us = result["wake_up_us"]
    print("A rank that sleeps, from the other rank's start to its waking")
    show("C, weft_wait", us["C"], unit=" us")
    show("asyncio, by a byte through a pipe", us["pipe"], unit=" us")
    show("await request", us["await"], unit=" us")
    show("await / (C + asyncio)", us["await"] / (us["C"] + us["pipe"]), 1.15)
    print("Awaiting")
    show("CPU in a second of it", result["cpu_ms"], 2, " ms")
    show("10,000 in groups of 100, each", result["groups"]["us"], unit=" us")
    show("threads more than before", result["groups"]["threads"], 0)
    print("100,000 operations")
    show("the resident set has grown by", result["grown_kib"], 256, " KiB")


def built(build, *others):
    """The Python, its settings, the library and the program of a build."""
    version = module.chosen("newest")[0] if len(module.versions()) > 1 else module.chosen("oldest")[0]
    package = module.build(version, build, *others)
    return (os.path.join(module.ENVIRONMENTS, version, "bin", "python"), {"PYTHONPATH": package},
            os.path.join(build, "libweft.so"), os.path.join(build, "weft"))


def installed():
    import weft
    return sys.executable, {}, weft.libraries()["library"], weft.program()


def main():
    python, settings, library, program = built(*sys.argv[1:]) if len(sys.argv) > 1 else installed()
    with tempfile.TemporaryDirectory() as folder:
        measure(python, dict(settings, PYTHONDONTWRITEBYTECODE="1"), library, program, folder)


def measure(python, settings, library, program, folder):
    part = os.path.join(folder, "c_part.so")
    compiler = sys.argv[-1] if len(sys.argv) > 1 else "cc"
    subprocess.check_call([compiler, "-x", "c", "-O2", "-shared", "-fPIC", "-I", os.path.join(ROOT, "include"),
                           os.path.join(ROOT, "bench", "python", "c_part.c"), "-x", "none", "-o", part, library,
                           "-Wl,-rpath," + os.path.dirname(library)])
    print("%s, %s" % (python, library))
    by_weft = [program, "run", "-n", "2", "--bind", "core", python, RANK]
    show_latency("without an MPI", measured(by_weft + ["latency", part], settings))
    for mpi in mpis.MPIS:
        home = mpis.home_of(ROOT, mpi)
        if home is None:
            print("No %s: not compared with mpi4py there" % mpi)
            continue
        result = measured(mpis.command(home, 2) + [python, RANK, "latency", part], dict(mpis.settings(mpi, home), **settings))
        show_latency("beside mpi4py with " + result["library"], result)
    show_awaiting(measured(by_weft + ["await", part, folder], settings))


if __name__ == "__main__":
    main()
