"""Which back end is loaded, and how it is compiled."""

import os
import stat
import subprocess
import sys
import tempfile
import unittest

from support import job

HERE = os.path.dirname(os.path.abspath(__file__))
KIND = "import weft_torch; print(weft_torch.backend_kind())"


def python(code, **settings):
    return subprocess.run([sys.executable, "-B", "-c", code], env=dict(os.environ, **settings), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=400)


class Build(unittest.TestCase):
    def test_native_is_compiled_once(self):
        path = "from weft_torch import _build; print(_build.path())"
        first = python(path)
        self.assertEqual(first.returncode, 0, first.stderr)
        file = first.stdout.strip()
        before = os.stat(file)
        self.assertEqual(python(path, CXX="/nothing").stdout.strip(), file)
        self.assertEqual(os.stat(file).st_mtime_ns, before.st_mtime_ns)
        self.assertTrue(before.st_mode & stat.S_IXUSR)

    def test_without_compiler_python_is_used(self):
        with tempfile.TemporaryDirectory() as empty:
            ended = python(KIND, XDG_CACHE_HOME=empty, CXX="/nothing", PATH=empty)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stdout, "python\n")
        self.assertIn("no C++ compiler", ended.stderr)

    def test_native_is_demanded(self):
        with tempfile.TemporaryDirectory() as empty:
            ended = python(KIND, XDG_CACHE_HOME=empty, CXX="/nothing", PATH=empty, TORCH_WEFT_BACKEND="native")
        self.assertIn("no C++ compiler", ended.stderr)
        self.assertNotEqual(ended.returncode, 0)

    def test_unknown_kind(self):
        ended = python(KIND, TORCH_WEFT_BACKEND="rust")
        self.assertIn("TORCH_WEFT_BACKEND=rust; expected one of auto, native, python", ended.stderr)


class Fallback(unittest.TestCase):
    def test_operations(self):
        job(2, "fallback_program.py", TORCH_WEFT_BACKEND="python")


class Examples(unittest.TestCase):
    def run_example(self, name):
        example = os.path.join(os.path.dirname(HERE), "examples", name)
        ended = subprocess.run([sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                                example], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=400,
                               env=dict(os.environ, OMP_NUM_THREADS="1"))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def test_ddp(self):
        self.assertRegex(self.run_example("ddp.py"), r"^loss after 20 steps: \d+\.\d{4}\n$")

    def test_control_groups(self):
        self.assertIn("steps: 100, last plan: {'step': 99", self.run_example("control_groups.py"))


if __name__ == "__main__":
    unittest.main()
