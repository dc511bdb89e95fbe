"""Along which axis a headline answers the question of its figure."""

import re

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
