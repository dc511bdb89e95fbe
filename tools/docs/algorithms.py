"""Writes docs/algorithms.md and its drawings, docs/algorithms/*.svg: every algorithm, from the comment
that opens its file and from what `weft schedule` prints of it.

usage: algorithms.py PROGRAM [--check]

PROGRAM is a built weft. With --check nothing is written: fails if the files are not what would be written.
"""

import concurrent.futures
import functools
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = os.path.join(ROOT, "src", "algorithm")
PAGE = "docs/algorithms.md"
DRAWINGS = "docs/algorithms"

RANKS = (4, 7, 8, 16)     # measured
DRAWN_RANKS = (8, 4, 16)  # drawn: the first of these that an algorithm can serve
BYTES = 1000
SENTENCES_MAX = 3         # that describe an algorithm
TORI = {4: "2x2", 7: "1x7", 8: "2x4", 16: "4x4"}  # for algorithms that need one

# The tuning that an algorithm may follow: how it is then measured and drawn, its description, and an example setting.
FOLLOWED = {
    "segment": (["--segment", "250"], "segments of 250 bytes", "segment=64K"),
    "window": ([], None, "window=8"),
    "ports": ([], None, "ports=3"),
    "throttle": ([], None, "throttle=1"),
    "inner": ([], None, "inner=ring"),
    "leaders": ([], None, "leaders=2"),
    "nodes": (["--nodes", "2"], "the ranks on 2 nodes", None),
}
MORE_PORTS = (16, 3)  # ranks and ports of an additional measurement, if it follows ports

INTRODUCTION = """\
# Algorithms

This page is written by `./dev docs` from the comments and the schedules of the algorithms: change those, not this
page. `weft schedule COLLECTIVE -a ALGORITHM` prints the same for any number of ranks, and the schedules themselves;
with `--check` it proves them correct.

**Choosing one.** By default Weft takes the algorithm that its table names (`src/select/shipped.table`, or your own
table, measured by `weft tune`), and the first one of a list where the table names none. The variable
`WEFT_ALGORITHM`, the same on all ranks, names others for all calls; a call that does not meet the
algorithm's needs is refused. A program can give a communicator its own choice (`weft_comm_dup_with`).

**Reading the tables.** A block, which is what one rank contributes or gets, has %d bytes; for alltoall, what one rank
sends another. The root is rank 0. A *round* is a unit of time in which a rank can send one message and receive one,
or as many as it has ports; everything else takes no time. So rounds show the cost of small messages, and the
bytes that one rank sends show the cost of large ones.

**Reading the drawings.** Time goes from left to right. An arrow is a message, in the round in which it moves; a
dashed one is empty. A dot marks where a rank has combined operands. Ranks of every second node are shaded.
""" % BYTES


def stop(text):
    sys.exit("algorithms.py: " + text)


# --- What the sources say ------------------------------------------------------------------------

def read(path):
    with open(path) as file:
        return file.read()


def opening_comment(path):
    """The first paragraph of the comment that opens a file, as one line."""
    lines = []
    for line in read(path).splitlines():
        text = line[2:].strip() if line.startswith("//") else ""
        if not text:
            break
        lines.append(text)
    if not lines:
        stop(os.path.relpath(path, ROOT) + " does not begin with a comment")
    return " ".join(lines)


def comment_above(path, line):
    """The first paragraph of the comment directly above a line of a file, as one line."""
    lines = read(path).splitlines()
    at = next(i for i, text in enumerate(lines) if text.startswith(line))
    first = at
    while lines[first - 1].lstrip().startswith("//"):
        first -= 1
    paragraphs = "\n".join(text.strip()[2:].strip() for text in lines[first:at]).split("\n\n")
    return paragraphs[0].replace("\n", " ")


def description(path, constant):
    """What an algorithm does, in at most three sentences: the comment above its constant, or the file's."""
    text = (comment_above(path, "extern const Algorithm %s " % constant) or opening_comment(path))
    sentences = len(re.findall(r"[.!?](?= [A-Z`]|$)", text))
    if sentences > SENTENCES_MAX:
        stop("%s begins with %d sentences; expected at most %d" %
             (os.path.relpath(path, ROOT), sentences, SENTENCES_MAX))
    return text


def files_of_constants():
    """The file that defines each algorithm: collectives share some."""
    files = {}
    for folder, _, names in sorted(os.walk(SOURCES)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(".cpp"):
                for constant in re.findall(r"^extern const Algorithm (\w+)\s*[={(]", read(path),
                                           re.MULTILINE):
                    files[constant] = path
    return files


def markdown(text):
    """The text of a comment, in which only backticks are special."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*<>\[\]])", r"\\\1", parts[i])
    return "`".join(parts)


def paragraph(text):
    return textwrap.fill(markdown(text), 115, break_long_words=False, break_on_hyphens=False)


def linked(source):
    """A publication, with links instead of its DOI and arXiv number."""
    source = re.sub(r"\bdoi:(10\.\d+/[^\s,;]+)", r"[doi:\1](https://doi.org/\1)", source)
    return re.sub(r"\barXiv[: ](\d{4}\.\d+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", source)


# --- What the program says -----------------------------------------------------------------------

class Program:
    def __init__(self, path):
        self.path = path

    @functools.lru_cache(maxsize=None)
    def schedule(self, *arguments):
        """The output of `weft schedule`; None if the algorithm cannot serve such a call."""
        done = subprocess.run([self.path, "schedule", *map(str, arguments)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        if done.returncode == 0:
            return done.stdout
        if done.returncode == 2 and " needs " in done.stderr:
            return None
        stop("weft schedule %s: %s" % (" ".join(map(str, arguments)), done.stderr.strip()))

    def catalogue(self):
        """Collective -> [(algorithm, source)], in order."""
        known = {}
        for line in self.schedule("--list").splitlines():
            collective, name, source = line.split(None, 2)
            known.setdefault(collective, []).append((name, source))
        return known


def field(text, name):
    """A line of the summary, such as `needs    an operation that commutes`."""
    match = re.search(r"^%s {2,}(.*)$" % name, text, re.MULTILINE)
    return match[1] if match else ""


class Algorithm:
    def __init__(self, collective, constant, name, source, file):
        self.collective = collective
        self.constant = constant
        self.name = name
        self.source = source
        self.file = file
        self.drawing = "%s_%s.svg" % (collective, name)
        self.needs = ""
        self.follows = []
        self.arguments = []
        self.rows = []
        self.drawn_ranks = 0
        self.svg = ""

    def measure(self, program):
        call = [self.collective, "-a", self.name, "--bytes", BYTES]

        def ask(ranks, *more):
            return program.schedule(*call, "-n", ranks, "--torus", TORI[ranks], *more, *self.arguments)

        for ranks in DRAWN_RANKS:
            text = ask(ranks, "--rank", 0)
            if text is None:
                continue
            self.needs = field(text, "needs")
            self.follows = [name for name in field(text, "follows").split(", ") if name]
            unknown = [name for name in self.follows if name not in FOLLOWED]
            if unknown:
                stop("%s %s follows %s, which FOLLOWED does not have" %
                     (self.collective, self.name, ", ".join(unknown)))
            self.arguments = sum(self.followed(0), [])
            self.drawn_ranks = ranks
            self.svg = ask(ranks, "--format", "svg")
            break
        else:
            stop("%s %s serves a call of none of %s ranks: it has to be called in another way" %
                 (self.collective, self.name, DRAWN_RANKS))
        for ranks in RANKS:
            self.add_row(str(ranks), ask(ranks, "--rank", 0))
        if "ports" in self.follows:
            ranks, ports = MORE_PORTS
            self.add_row("%d, %d ports" % (ranks, ports), ask(ranks, "--rank", 0, "--ports", ports))

    def add_row(self, ranks, text):
        if text is None:
            return
        row = [ranks, re.match(r"\d+", field(text, "rounds"))[0]]
        for name in ("messages", "bytes sent"):
            row += re.match(r"(\d+); at most (\d+)", field(text, name)).groups()
        if "nodes" in self.follows:
            row.append(re.match(r"\d+", field(text, "between nodes"))[0])
        self.rows.append(row)

    def followed(self, column):
        """A column of FOLLOWED, for the tuning that this algorithm follows."""
        return list(filter(None, (FOLLOWED[name][column] for name in self.follows)))

    def setting(self):
        values = ",".join(self.followed(2))
        return "WEFT_ALGORITHM=%s=%s" % (self.collective, self.name + (":" + values if values else ""))

    def text(self):
        lines = ["### %s %s" % (self.collective, self.name), "", paragraph(description(self.file, self.constant)), "",
                 "- Source: " + linked(self.source)]
        if self.needs:
            lines.append("- Needs " + self.needs)
        if self.follows:
            lines.append("- Follows " + ", ".join(
                "which ranks share a node" if name == "nodes" else "`%s`" % name for name in self.follows))
        lines += ["- Chosen by `%s`" % self.setting(), "- Code: `%s`" % os.path.relpath(self.file, ROOT), "",
                  "![%s %s among %d ranks](%s/%s)" % (self.collective, self.name, self.drawn_ranks,
                                                      os.path.basename(DRAWINGS), self.drawing), ""]
        circumstances = self.followed(1)
        if "torus" in self.needs:
            circumstances.append("tori of 2 x 2, 1 x 7, 2 x 4 and 4 x 4 ranks")
        if self.collective.startswith("neighbor_"):
            circumstances.append("a ring of ranks, in which each has two neighbors")
        if circumstances:
            lines += ["With %s:" % " and ".join(circumstances), ""]
        heading = ["ranks", "rounds", "messages", "at most by one rank", "bytes", "at most by one rank"]
        return lines + table(heading + ["bytes between nodes"] * ("nodes" in self.follows), self.rows)


def table(heading, rows, align="---:"):
    lines = ["| " + " | ".join(heading) + " |", "|---|" + "|".join([align] * (len(heading) - 1)) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


# --- The page ------------------------------------------------------------------------------------

def algorithms_of(collective, known):
    """The algorithms of a collective, with their files, in the order of the program's list."""
    path = os.path.join(SOURCES, "algorithms.def")
    constants = re.findall(r"^ALGORITHM\(%s, (\w+)\)" % collective, read(path), re.MULTILINE)
    if len(constants) != len(known):
        stop("%s lists %d algorithms, the program %d: build it" % (
            os.path.relpath(path, ROOT), len(constants), len(known)))
    files = files_of_constants()
    missing = [constant for constant in constants if constant not in files]
    if missing:
        stop("no file below src/algorithm defines " + ", ".join(missing))
    return [Algorithm(collective, constant, name, source, files[constant])
            for constant, (name, source) in zip(constants, known)]


def definition(collective):
    """What a collective does: the comment above its description, without the leading name."""
    text = comment_above(os.path.join(SOURCES, "catalogue.cpp"),
                         "    {.collective = Collective::%s," % collective).split(": ", 1)[-1]
    return paragraph(text[0].upper() + text[1:])


def generate(program):
    """Path -> content of all files."""
    chosen = {collective: algorithms_of(collective, known)
              for collective, known in program.catalogue().items()}
    everything = [algorithm for some in chosen.values() for algorithm in some]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda algorithm: algorithm.measure(program), everything))

    def links(collective, some):
        return ", ".join("[%s](#%s-%s)" % (one.name, collective, one.name) for one in some)

    lines = [INTRODUCTION] + table(["collective", "algorithms"], [
        ["[%s](#%s)" % (collective, collective), links(collective, some)]
        for collective, some in chosen.items()], align="---")
    for collective, some in chosen.items():
        lines += ["", "## " + collective, "", definition(collective)]
        for one in some:
            lines += [""] + one.text()
    files = {PAGE: "\n".join(lines) + "\n"}
    files.update({"%s/%s" % (DRAWINGS, one.drawing): one.svg for one in everything})
    return files


def committed():
    """Path -> content of the existing files."""
    folder = os.path.join(ROOT, DRAWINGS)
    drawings = os.listdir(folder) if os.path.isdir(folder) else []
    paths = [PAGE] + ["%s/%s" % (DRAWINGS, name) for name in drawings if name.endswith(".svg")]
    return {path: read(os.path.join(ROOT, path)) for path in paths
            if os.path.exists(os.path.join(ROOT, path))}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__.strip())
    there = committed()
    wanted = generate(Program(sys.argv[1]))
    differing = sorted(path for path in there.keys() | wanted.keys()
                       if there.get(path) != wanted.get(path))
    if sys.argv[2:]:
        if differing:
            stop("%s: no longer what the algorithms' comments and schedules say; run ./dev docs" %
                 ", ".join(differing))
        return
    os.makedirs(os.path.join(ROOT, DRAWINGS), exist_ok=True)
    for path in differing:
        if path in wanted:
            with open(os.path.join(ROOT, path), "w") as file:
                file.write(wanted[path])
        else:
            os.remove(os.path.join(ROOT, path))
    print("%s: %d algorithms; %d files changed" % (PAGE, len(wanted) - 1, len(differing)))


if __name__ == "__main__":
    main()
