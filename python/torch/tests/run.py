"""Runs a test file of this folder with a Python that has torch, and the package weft beside a build of Weft.

usage: run.py NAME|NAME_test.CLASS.TEST BUILD CMAKE GENERATOR MAKE_PROGRAM COMPILER

The Python is WEFT_TORCH_PYTHON, or that of .cache/torch (./dev test --torch makes it), or the one that runs this. Exits
with 77 if none has torch, and says so."""

import fcntl
import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
METADATA = "Metadata-Version: 2.1\nName: weft-torch\nVersion: 0.1.0\n"
ENTRY_POINTS = "[torch.distributed.backends]\nweft = weft_torch:register\n"


def load(path, name):
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


of_weft = load(os.path.join(ROOT, "tests", "python", "run.py"), "of_weft")


def version_with_torch(python):
    """Such as "3.11"; None: it has no torch."""
    look = ("import importlib.util, sys; has = importlib.util.find_spec; "
            "print('%d.%d' % sys.version_info[:2] if has('torch') and has('numpy') else '')")
    try:
        done = subprocess.run([python, "-c", look], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError as error:
        of_weft.skip("WEFT_TORCH_PYTHON=%s: %s" % (python, error.strerror))
    return done.stdout.strip() or None


def find_python():
    named = os.environ.get("WEFT_TORCH_PYTHON")
    made = os.path.join(ROOT, ".cache", "torch", "bin", "python")
    for python in [named] if named else [path for path in (made, sys.executable) if os.path.exists(path)]:
        version = version_with_torch(python)
        if version:
            return python, version
    of_weft.skip("no Python with torch and numpy: WEFT_TORCH_PYTHON names one, ./dev test --torch installs one")


def package(folder):
    """The package as pip would install it, of links to the sources. Returns the folder to import it from."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        link = os.path.join(folder, "weft_torch")
        if not os.path.islink(link):
            os.symlink(os.path.join(ROOT, "python", "torch", "weft_torch"), link)
        described = os.path.join(folder, "weft_torch-0.1.0.dist-info")
        os.makedirs(described, exist_ok=True)
        for name, text in (("METADATA", METADATA), ("entry_points.txt", ENTRY_POINTS)):
            with open(os.path.join(described, name), "w") as file:
                file.write(text)
    return folder


def environment(version, weft, build_folder):
    folder = os.path.join(build_folder, "python", "torch-" + version)
    paths = [weft, package(folder), HERE]
    made = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), PYTHONDONTWRITEBYTECODE="1",
                XDG_CACHE_HOME=os.path.join(build_folder, "python", "cache"))
    made.pop("WEFT_TORCH_PYTHON", None)  # Weft warns of variables that it does not know
    return made


def main():
    name, build_folder, *of_build = sys.argv[1:]
    python, version = find_python()
    if version not in of_weft.versions():
        of_weft.skip("no Python %s in .cache/python, for the package weft; ./dev test --torch makes it" % version)
    weft = of_weft.build(version, build_folder, *of_build)
    settings = environment(version, weft, build_folder)
    # Compiled here, which takes minutes on a busy machine, no test waits for it.
    compiled = subprocess.call([python, "-B", "-c", "from weft_torch import _build; _build.path()"], env=settings)
    return compiled or subprocess.call([python, "-B", "-m", "unittest", "-v", name if "." in name else name + "_test"],
                                       env=settings, cwd=HERE)


if __name__ == "__main__":
    sys.exit(main())
