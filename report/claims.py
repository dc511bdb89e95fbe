"""What a paper says about a figure, and what was asked of the measurement (docs/papers.md)."""

import re

from . import conditions, words

OURS = ("Not in the paper", "A control of ours", "Our question")  # how claims begin that are no paper's
# What a rule measures.
METRICS = {"total": "time of operation and computation", "ratio": "time of operation and computation",
           "blocking": "time of the operation alone", "hidden": "hidden share", "cpu": "CPU time", "idle": "idle time",
           "overhead": "time in start, tests and wait", "cpu_share": "CPU time / time", "idle_share": "idle time / time",
           "cpu_outside": "share of the CPU outside of the computation", "tests": "time in all tests", "test": "time of one test",
           "start": "time of the starting call", "wait": "time of the wait", "work": "time of the computation",
           "delivery": "time until the last rank has ended", "unexpected": "messages that come before their receive",
           "end": "time until all ranks have ended", "card_us": "time by the card", "host_us": "time by the host (blocking)",
           "overlap_percent": "hidden share"}
SIGNS = {">=": "%s or more", "<=": "at most %s", "=": "%s"}
PERCENT = ("hidden", "cpu_share", "idle_share", "cpu_outside", "overlap_percent")
OURS_SHOWN = "Our question"


class Claim:
    """A claim with its letter in the figure. `data`: see claim_of() in tools/docs/measure.py."""

    def __init__(self, number, data, is_of_program=False):
        self.letter = "ABCDEFGHIJ"[number]
        self.data = data
        self.metrics = dict(METRICS, total="time of the program") if is_of_program else METRICS
        self.rule = data.get("rule", {})
        self.is_of_samples = "scenario" in self.rule and "of" in self.rule and not self.rule.get("in_words")
        self.is_simulated = bool(data.get("is_simulated"))

    @property
    def cause(self):
        return "why: %s." % self.data["cause"] if self.data.get("cause") else ""

    @property
    def says(self):
        """ "paper (§4.4): It hides." """
        text = self.data["says"].rstrip(".")
        text += "" if text.endswith("?") else "."
        if text.startswith(OURS):
            return "our question" + text.removeprefix(OURS_SHOWN) if text.startswith(OURS_SHOWN) else "our question: " + text
        return "paper (%s): %s" % (re.sub(r"^(?=[IVX\d]+(\.|$|,))", "§", self.data["where"]), text)

    def asked(self):
        """The bounds, in words."""
        rule = self.rule
        is_quotient = bool(rule.get("to") or rule.get("relative_to"))
        is_percent = rule["metric"] in PERCENT

        def bound(value):
            if rule["metric"] == "hidden" and "to" in rule:
                return "%+g points" % value if value else "as much"
            if is_quotient:
                return "as much" if value == 1 else "%g times as much" % value
            return "%g %%" % value if is_percent else "%g" % value
        text = " and ".join("%s %s" % (name.replace("_", " "), bound(rule[name])) for name in ("at_least", "at_most") if name in rule)
        return text + {"all": " at every point", "any": " at one point at least", "mean": " in the mean",
                       "median": " in the median"}.get(rule.get("cells"), "")

    def quantity(self, shown, middle="/"):
        """What is drawn, and of whom: shown(member) is how the figure calls it."""
        rule = self.rule
        what = self.metrics.get(rule["metric"], rule["metric"])
        of = ", ".join(filter(None, ("%s of %s" % (what, shown(rule["of"])), places(rule.get("of_where", [])))))
        of += ", less that of %s" % shown(rule["less"]) if "less" in rule else ""
        over = places(rule.get("over", []))
        over = " (%s)" % over if over and middle == "/" else ""
        if "to" not in rule:
            return of + over if middle == "/" else "%s is %s" % (of, middle)
        other = METRICS.get(rule["to_metric"], rule["to_metric"]) if "to_metric" in rule else what
        is_same = rule["to"] == rule["of"]
        name = "that" if other == what else "its " + other if is_same else "the " + other
        if not is_same:
            name += " of " + shown(rule["to"])
        name += " " * bool(rule.get("to_where")) + places(rule.get("to_where", []))
        return "%s %s %s%s" % (of, middle if middle == "/" and rule["metric"] != "hidden" else "less" if middle == "/" else "is " + middle, name, over)

    def answer(self, shown, value):
        """What was found, in a sentence. value: in words."""
        text = self.quantity(shown, value + ("" if "to" not in self.rule else " over" if self.rule["metric"] == "hidden" else " times"))
        return text[0].upper() + text[1:]

    def model(self):
        """Of a simulated one: what was asked, and what the model says."""
        rule = self.rule
        where = rule.get("where", {})
        what = METRICS.get(rule.get("metric"), str(rule.get("metric")).replace("_", " "))
        base = rule.get("relative_to")
        text = what + (" of " + values(where) if where else "")
        if isinstance(base, dict):
            other = values({key: value for key, value in base.get("where", {}).items() if where.get(key) != value})
            text += " / " + METRICS.get(base["metric"], base["metric"]) + (" of " + other if other else "")
        elif base:
            text += " / that of a second run of the model"
        size = re.search(r"--bytes (\S+)", self.data.get("command", ""))
        text += ", " + words.size(int(conditions.number("bytes", size.group(1)))) if size and "," not in size.group(1) else ""
        found = re.split(r"\. (?=[A-Z*])", self.data.get("why", ""))[0].rstrip(".").replace("*", "")
        return "asked: %s %s. In the model: %s." % (text, self.asked(), found)


def values(where):
    return ", ".join("%s" % str(value).replace("_", " ") if isinstance(value, str) else "%s = %s" % (key, value)
                     for key, value in where.items())


def places(wanted):
    """Conditions in words: "from 64 KiB on, between nodes"."""
    return ", ".join(filter(None, map(place, wanted)))


def place(condition):
    axis, sign, value = conditions.CONDITION.fullmatch(condition).groups()
    if axis == "bytes":
        text = words.size(int(conditions.number(axis, value)))
        return {">=": "from %s on", "<=": "up to %s", "=": "at %s"}[sign] % text
    if axis == "nodes" and sign == ">=" and value == "2":
        return "between nodes"
    if axis in ("nodes", "ranks"):
        return ("on " if axis == "nodes" else "with ") + SIGNS[sign] % value + " %s" % axis
    if axis == "rate":
        return {">=": "at %s or more", "<=": "at %s or less", "=": "at %s"}[sign] % words.rate(value)
    if axis == "delay":
        return "without delay" if float(conditions.number(axis, value)) == 0 else \
            {">=": "with %s of delay or more", "<=": "with %s of delay or less", "=": "with %s of delay"}[sign] % words.duration(value)
    if axis == "late":
        if value == "0":
            return "where no rank is late"
        text = value[:-1] + " times as much as the operation takes" if value.endswith("x") else words.duration(value)
        return {">=": "late by %s or more", "<=": "late by at most %s", "=": "late by %s"}[sign] % text
    if axis in ("algorithm", "barrier", "timer"):
        return "with " + (words.axis(axis, value).removeprefix("algorithm ").removeprefix("algorithms ") or "the default algorithm")
    if axis == "collective":
        return "with " + words.axis("collective", value[1:] if value.startswith("i") and "+" not in value else value)
    return "%s %s" % (axis, value)


def claims_of(scenario, is_of_program=False):
    return [Claim(number, data, is_of_program) for number, data in enumerate(scenario.get("claims") or [])]
