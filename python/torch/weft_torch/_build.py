"""Compiles the back end in C++ for this torch and this Python, once."""

import contextlib
import fcntl
import hashlib
import importlib.machinery
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import torch
import weft
from torch.utils import cpp_extension

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "native")
BUILT = os.path.join(HERE, "built")  # modules that a wheel brings
MODULE = "weft_torch_native"
LIBRARIES = ("c10", "torch_cpu", "torch", "torch_python")


class CannotBuild(RuntimeError):
    """There is no compiler, or it failed."""


def abi():
    """What a module is compiled for: "torch2.15-cpython-311-x86_64-linux-gnu"."""
    return "torch%s-%s" % (".".join(torch.__version__.split("+")[0].split(".")[:2]), sysconfig.get_config_var("SOABI"))


def sources():
    return sorted(os.path.join(SOURCES, name) for name in os.listdir(SOURCES) if name.endswith((".cpp", ".h")))


def compiler():
    return shutil.which(cpp_extension.get_cxx_compiler()) or shutil.which("g++")


def command(cxx, output):
    # As cpp_extension.load() has it, but as one command: that needs ninja, and waits forever for a process that died.
    found = weft.libraries()
    include = cpp_extension.include_paths() + [sysconfig.get_path("include", scheme="posix_prefix")]
    return ([cxx, "-O2", "-std=c++20", "-fPIC", "-shared", "-fvisibility=hidden", "-DNDEBUG",
             "-DTORCH_EXTENSION_NAME=" + MODULE, "-DTORCH_API_INCLUDE_EXTENSION_H",
             "-D_GLIBCXX_USE_CXX11_ABI=%d" % torch.compiled_with_cxx11_abi(), "-I" + found["include"]] +
            [word for folder in include for word in ("-isystem", folder)] +
            [os.path.join(SOURCES, "unit.cpp"), "-o", output, found["library"]] +
            ["-L" + folder for folder in cpp_extension.library_paths()] + ["-l" + name for name in LIBRARIES])


def digest():
    """Of all that a module depends on."""
    total = hashlib.sha256()
    for path in sources() + sorted(headers(weft.libraries()["include"])):
        with open(path, "rb") as file:
            total.update(file.read())
    total.update(repr((torch.__version__, sysconfig.get_config_var("SOABI"), platform.machine())).encode())
    return total.hexdigest()[:16]


def headers(folder):
    folder = os.path.join(folder, "weft")
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".h")]


def cache():
    """A folder that this user can write: of XDG, or a temporary one."""
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft-torch")
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    folder = os.path.join(tempfile.gettempdir(), "weft-torch-%d" % os.getuid())
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise CannotBuild("%s belongs to another user" % folder)
    return folder


def compile_to(output):
    """Compiles the module. Another process may do so at the same time: `output` appears whole."""
    cxx = compiler()
    if cxx is None:
        raise CannotBuild("no C++ compiler (CXX, c++ or g++)")
    handle, unfinished = tempfile.mkstemp(suffix=".so", dir=os.path.dirname(output))
    os.close(handle)
    try:
        done = subprocess.run(command(cxx, unfinished), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
        if done.returncode != 0:
            errors = [line for line in done.stdout.splitlines() if "error" in line] or done.stdout.splitlines()[-3:]
            raise CannotBuild("%s failed: %s" % (cxx, "; ".join(errors[:3])))
        os.chmod(unfinished, 0o755)
        os.replace(unfinished, output)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)


def path():
    """The module's file, which this compiles if need be. The other ranks of a node wait meanwhile."""
    brought = os.path.join(BUILT, abi(), MODULE + ".so")
    if os.path.exists(brought):
        return brought
    output = os.path.join(cache(), "%s-%s" % (abi(), digest()), MODULE + ".so")
    if not os.path.exists(output):
        os.makedirs(os.path.dirname(output), exist_ok=True)
        with open(os.path.join(os.path.dirname(output), "lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the process that holds it
            if not os.path.exists(output):
                compile_to(output)
    return output


def bring(folder):
    """Compiles the module into the folder `built` of a wheel's sources."""
    output = os.path.join(folder, abi(), MODULE + ".so")
    os.makedirs(os.path.dirname(output), exist_ok=True)
    compile_to(output)


def native():
    """The module. The package weft has loaded the library that it uses."""
    if MODULE in sys.modules:
        return sys.modules[MODULE]
    file = path()
    loader = importlib.machinery.ExtensionFileLoader(MODULE, file)
    specification = importlib.util.spec_from_file_location(MODULE, file, loader=loader)
    try:
        module = importlib.util.module_from_spec(specification)
        loader.exec_module(module)
    except ImportError as error:
        raise CannotBuild("%s cannot be loaded: %s" % (file, error)) from error
    sys.modules[MODULE] = module
    return module
