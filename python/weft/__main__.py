"""python -m weft: the program `weft`, which runs scripts with this Python.

python -m weft run -n 4 script.py        start ranks on this machine
mpiexec -n 4 python -m weft preload script.py    run an mpi4py program with its nonblocking collectives by Weft
"""

import os
import sys

from ._start import program


def with_interpreter(arguments):
    """Puts this Python in front of a script, unless the program is named."""
    for index, word in enumerate(arguments):
        if os.path.basename(word).startswith("python"):
            break
        if word.endswith(".py"):
            return arguments[:index] + [sys.executable] + arguments[index:]
    return arguments


def main():
    arguments = sys.argv[1:]
    if arguments[:1] in (["run"], ["preload"]):
        arguments = with_interpreter(arguments)
    try:
        os.execv(program(), ["weft"] + arguments)
    except OSError as error:
        sys.exit("weft: %s: %s" % (program(), error.strerror))


if __name__ == "__main__":
    main()
