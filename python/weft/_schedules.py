"""Schedules as drawings and in the simulator of the program `weft`."""

import html
import json
import subprocess

from ._errors import ArgumentError
from ._objects import allgather_object
from ._start import program

BUFFERS = ("send", "recv", "scratch")
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT, MARGIN = 230, 40, 200, 24, 10  # pixels


def output_of(call, words, text=""):
    """What the program `weft` prints."""
    done = subprocess.run([program()] + words, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ArgumentError(done.stderr.strip(), "WEFT_REFUSED_ARGUMENT", call)
    return done.stdout


class Drawing:
    """An SVG that notebooks show."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg


def draw(collective, algorithm, ranks, *options):
    """Draw who sends to whom in an algorithm, as `weft schedule` does.

    Parameters
    ----------
    collective, algorithm : str
    ranks : int
    options : str
        Further options of `weft schedule`.

    Returns
    -------
    Drawing
    """
    words = ["schedule", collective, "--algorithm", algorithm, "--ranks", str(ranks), "--format", "svg"]
    return Drawing(output_of("draw", words + list(options)))


def simulate(collective, algorithm, ranks, *options):
    """Compute how long a collective takes on a network, as `weft simulate` does.

    Parameters
    ----------
    collective, algorithm : str
    ranks : int
    options : str
        Further options of `weft simulate`, such as "--bytes", "1M", "--latency", "1000".

    Returns
    -------
    dict
        The command's JSON; times are in nanoseconds.
    """
    words = ["simulate", collective, "--algorithm", algorithm, "--ranks", str(ranks), "--format", "json"]
    return json.loads(output_of("simulate", words + list(options)))


def simulate_own(schedule, *options):
    """Compute how long it takes on a network, as `weft simulate` does. All ranks call it.

    Reductions, copies and functions take no time.

    Parameters
    ----------
    options : str
        Options of `weft simulate`, such as "--latency", "1000".

    Returns
    -------
    dict
        The command's JSON; times are in nanoseconds.
    """
    words = ["simulate", "--goal", "-", "--format", "json"]
    return json.loads(output_of("simulate", words + list(options), goal_of(schedule)))


def goal_of(schedule):
    """All ranks' parts in the simulator's language, GOAL; collective."""
    ranks = allgather_object(schedule.comm, schedule.operations)
    lines = ["num_ranks %d" % len(ranks)]
    for rank, operations in enumerate(ranks):
        lines.append("rank %d {" % rank)
        lines += [] if operations else ["l0: calc 0"]
        messages = {}  # so far, on each lane: a tag keeps their order
        for number, (kind, peer, regions, _) in enumerate(operations):
            if kind not in ("send", "recv"):
                lines.append("l%d: calc 0" % number)
                continue
            tag = messages[kind, peer] = messages.get((kind, peer), -1) + 1
            lines.append("l%d: %s %db %s %d tag %d" % (number, kind, regions[0][2], "to" if kind == "send" else "from", peer,
                                                        tag))
        lines += ["l%d requires l%d" % (number, other) for number, operation in enumerate(operations)
                  for other in operation[3]]
        lines.append("}")
    return "\n".join(lines) + "\n"


def sentence_of(number, operation):
    """An operation as refusals name it: "0: send recv[0..80) -> rank 1"."""
    kind, peer, regions, _ = operation
    places = ["%s[%d..%d)" % (BUFFERS[buffer], offset, offset + size) for buffer, offset, size in regions]
    if peer >= 0:
        places.append("rank %d" % peer)
    return "%d: %s %s" % (number, kind, (" <- " if kind == "recv" else " -> ").join(places))


def svg_of(schedule):
    """This rank's operations as boxes, from left to right in the order that they wait for each other."""
    columns, places = [], []
    for operation in schedule.operations:
        column = 1 + max((places[other][0] for other in operation[3]), default=-1)
        columns += [0] * (column + 1 - len(columns))
        places.append((column, columns[column]))
        columns[column] += 1
    width = 2 * MARGIN + COLUMN * max(len(columns), 1) - (COLUMN - BOX_WIDTH)
    height = 2 * MARGIN + ROW * max(columns, default=1) - (ROW - BOX_HEIGHT)
    corners = [(MARGIN + COLUMN * column, MARGIN + ROW * row) for column, row in places]
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">' % (
        width, height), '<rect width="100%" height="100%" fill="#fff"/>']
    for operation, (x, y) in zip(schedule.operations, corners):
        for other_x, other_y in (corners[other] for other in operation[3]):
            parts.append('<path d="M%d %dL%d %d" stroke="#2f6f9f"/>' % (
                other_x + BOX_WIDTH, other_y + BOX_HEIGHT // 2, x, y + BOX_HEIGHT // 2))
    for number, (operation, (x, y)) in enumerate(zip(schedule.operations, corners)):
        parts.append('<rect x="%d" y="%d" width="%d" height="%d" rx="3" fill="#eef1f3" stroke="#555"/>' % (
            x, y, BOX_WIDTH, BOX_HEIGHT))
        parts.append('<text x="%d" y="%d">%s</text>' % (x + 6, y + 16, html.escape(sentence_of(number, operation))))
    return "\n".join(parts + ["</svg>"]) + "\n"
