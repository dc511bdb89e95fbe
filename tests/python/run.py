"""Builds the Python module beside a build of Weft, and runs the tests of this folder with it.

usage: run.py oldest|newest|between BUILD CMAKE GENERATOR MAKE_PROGRAM COMPILER

For the oldest, the newest or all other Pythons for which ./dev has made an environment in .cache/python. Exits with 77 if
there is nothing to do, and says why."""

import fcntl
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ENVIRONMENTS = os.path.join(ROOT, ".cache", "python")


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def versions():
    """Such as ["3.10", "3.13"], from old to new."""
    names = os.listdir(ENVIRONMENTS) if os.path.isdir(ENVIRONMENTS) else []
    made = [name for name in names if name.startswith("3.") and os.path.exists(os.path.join(ENVIRONMENTS, name, "requirements.txt"))]
    return sorted(made, key=lambda name: int(name.split(".")[1]))


def chosen(which):
    known = versions()
    if not known:
        skip("no Python in .cache/python; ./dev test makes one for each that has its headers")
    # In a run of all suites the oldest and the newest take turns.
    turn = int(os.environ.get("WEFT_TEST_TURN", "-1"))
    if len(known) > 1 and turn >= 0 and not os.environ.get("WEFT_TEST_ALL") and which == ("oldest", "newest")[turn % 2]:
        skip("it is not its turn")
    if which == "oldest":
        return known[:1]
    if which == "newest":
        return known[1:][-1:] or skip("there is one Python, " + known[0])
    if not os.environ.get("WEFT_TEST_ALL"):
        skip("for a run of all tests")
    return known[1:-1] or skip("there are no other Pythons than " + ", ".join(known))


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout)


def build(version, build_folder, cmake, generator, make_program, compiler):
    """Builds the module; returns the folder to import the package from."""
    folder = os.path.join(build_folder, "python", version)
    os.makedirs(folder, exist_ok=True)
    python = os.path.join(ENVIRONMENTS, version, "bin", "python")
    configure = [cmake, "-S", os.path.join(ROOT, "python"), "-B", folder, "-G", generator,
                 "-DCMAKE_MAKE_PROGRAM=" + make_program, "-DCMAKE_CXX_COMPILER=" + compiler,
                 "-DPython_EXECUTABLE=" + python, "-DWEFT_BUILD=" + build_folder]
    stamp = os.path.join(folder, "configured")
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(stamp) or open(stamp).read() != repr(configure):
            if os.path.exists(os.path.join(folder, "CMakeCache.txt")):
                os.remove(os.path.join(folder, "CMakeCache.txt"))
            run(configure)
            with open(stamp, "w") as file:
                file.write(repr(configure))
        run([cmake, "--build", folder, "-j", "2"])
    return folder


def main():
    which, *of_build = sys.argv[1:]
    status = 0
    for version in chosen(which):
        print("Python " + version, flush=True)
        package = build(version, *of_build)
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join([package, HERE]), PYTHONDONTWRITEBYTECODE="1")
        command = [os.path.join(ENVIRONMENTS, version, "bin", "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   "-o", "python_files=*_test.py", "--durations=5", HERE]
        status = subprocess.call(command, env=environment, cwd=package) or status
    return status


if __name__ == "__main__":
    sys.exit(main())
