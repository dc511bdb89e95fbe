"""Along which axis a headline answers the question of its figure, and what it tells apart besides."""

import re
import statistics

from .. import words

BITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


def rate(link):
    match = re.fullmatch(r"([\d.]+)([kmg]?)bit", str((link or {}).get("rate")))
    return float(match.group(1)) * BITS[match.group(2)] if match else 0


# Of each axis its place of a row, of which rows are in order, and in words.
AXES = {
    "size": lambda contest: contest.bytes,
    "ranks": lambda contest: contest.head["ranks"],
    "late": lambda contest: words.late_us(contest.head),
    "outstanding": lambda contest: contest.head["collective"].count("+") + 1,
    "rate": lambda contest: rate(contest.head.get("link")),
    "delay": lambda contest: (contest.head.get("link") or {}).get("delay_us") or 0,
}
ASKED = (("outstanding", "outstanding"), (r"\blate\b", "late"), (r"\blink", "rate"), ("distance|delay", "delay"),
         ("(by|over the) ranks", "ranks"))
# How a question asks for the values themselves, not how members compare.
OWN = re.compile(r"(by|over the) (ranks|size)\b|outstanding|\blate\b")


def axis(experiment):
    """What the question asks for, if rows differ in it; else what curves go over; else what is different at all."""
    def differs(name):
        return len({AXES[name](contest) for contest in experiment.contests}) > 1

    for pattern, name in ASKED:
        if re.search(pattern, experiment.question) and differs(name):
            return name
    if experiment.is_over_ranks:
        return "ranks"
    return next((name for name in ("size", "rate", "delay", "late") if differs(name)), "size")


def is_of_values(experiment):
    """Whether the question is how values change along the axis."""
    return bool(OWN.search(experiment.question)) and "beside" not in experiment.question and "relative" not in experiment.question


def ends(name, known):
    """Of places in order: the first and the last, of sizes without the barrier's, which is none."""
    known = [place for place in known if place or name != "size"] or list(known)
    return [known[0], known[-1]]


def line_of(contest, name):
    """What rows have in common that differ along this axis only."""
    head = contest.head
    return tuple(words.axis(other, head.get(other)) for other in ("algorithm", "call", "compute", "progress", "mpi") +
                 ("transport",) * (name != "ranks")) + \
        (places(contest),) + tuple(AXES[other](contest) for other in AXES if other != name) + \
        ((head["collective"],) if name != "outstanding" else ())


def where(experiment, name, places, known):
    """These of the known places on the axis."""
    if name == "ranks":
        return "with %s rank%s" % (words.span(places), "s"[:list(places) != [1]])
    if name == "outstanding":
        return "with %s outstanding" % words.span(places)
    if name == "late":
        return "if late by " + words.between(min(places), max(places), lambda us: words.time(us) if us else "0") if max(places) else \
            "if none is late"
    if name == "rate":
        return "at " + words.between(min(places), max(places), rate_in_words)
    if name == "delay":
        return "with %s delay" % words.between(min(places), max(places), lambda us: words.time(us) if us else "no")
    sizes, known = ([place for place in some if place] for some in (places, known))
    parts = []
    if len(sizes) > 1 and sizes[-1] == known[-1] and sizes[0] != known[0]:
        parts = ["from " + words.size(sizes[0])]
    elif len(sizes) > 1 and sizes[0] == known[0] and sizes[-1] != known[-1]:
        parts = ["up to " + words.size(sizes[-1])]
    elif sizes:
        parts = ["at " + words.between(sizes[0], sizes[-1], words.size)]
    return " and ".join(parts + ["in the barrier"] * (0 in places))


def rate_in_words(bits):
    unit, name = next((pair for pair in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if bits >= pair[0]), (1, ""))
    return "%g %sbit/s" % (bits / unit, name)


def places(contest):
    return "on nodes" if (contest.head.get("nodes") or 1) > 1 else "on one machine"


def links(contest):
    bits = rate(contest.head.get("link"))
    return "at " + rate_in_words(bits) if bits and places(contest) == "on nodes" else places(contest)


def mpis(contest):
    return "beside " + words.without_version(contest.head["mpi"]) if contest.head.get("mpi") else ""


def clauses(experiment, found, agree, has_mpis=True):
    """The values (with their rows) by place, link or MPI, in words: the first in which their medians do not agree."""
    for of in (links,) * (axis(experiment) != "rate") + (places,) + (mpis,) * has_mpis:
        groups = {}
        for contest, value in found:
            groups.setdefault(of(contest), []).append((contest, value))
        middles = [statistics.median(value for _, value in group) for group in groups.values()]
        if len(groups) in (2, 3) and "" not in groups and not agree(min(middles), max(middles)) and \
                (of is not links or len([name for name in groups if name.startswith("at ")]) > 1):
            return sorted(groups.items(), key=lambda pair: pair[0] != "on one machine")
    return [("", found)]
