"""What a paper says about a figure, what of the figure that was judged by, and the verdict (docs/papers.md)."""

import re

from . import conditions, words

OURS = ("Not in the paper", "A control of ours")  # how claims begin that are no paper's
# What a rule measures.
METRICS = {"total": "time of operation and computation together", "ratio": "time of operation and computation together",
           "blocking": "time of the operation alone", "hidden": "share that is hidden", "cpu": "CPU time", "idle": "idle time",
           "overhead": "time in the library's calls", "cpu_share": "share of a core that is used", "idle_share": "share of the time that is idle",
           "cpu_outside": "CPU share outside of the computation", "tests": "time in all tests", "test": "time of one test",
           "start": "time of the starting call", "wait": "time of the wait", "work": "time of the computation",
           "delivery": "time until the last rank has ended", "unexpected": "number of unexpected messages",
           "end": "time until all ranks have ended", "card_us": "time by the card", "host_us": "time by the host (blocking)", "overlap_percent": "share that is hidden"}
SIGNS = {">=": "%s or more", "<=": "at most %s", "=": "%s"}


class Claim:
    """A claim with its number in the figure. `data`: see claim_of() in tools/docs/measure.py."""

    def __init__(self, number, data):
        self.number = number
        self.data = data
        self.rule = data.get("rule", {})
        self.is_of_samples = "scenario" in self.rule and "of" in self.rule and not self.rule.get("in_words")

    def judges(self, contest, names):
        """Whether the verdict is (also) by this row, of which members of these names are drawn."""
        if not self.is_of_samples or "by" in self.data:
            return False
        rule = self.rule
        over = rule.get("over", [])
        wanted = [(rule["of"], over + rule.get("of_where", []))]
        wanted += [(rule["to"], over + rule.get("to_where", []))] if "to" in rule else []
        for member in contest.members:
            found = member.estimate("blocking") if member.name in names else None
            for name, where in wanted:
                if name in (member.name, member.name_in_scenario) and member.name in names and \
                        conditions.meets_all(member.head, where, found.value if found else None):
                    return True
        return False

    def text(self, has_model, column="", has_marks=True, has_others=False):
        """The lines under a figure. has_model: whether it has what was simulated; column: of what it is; has_marks: whether some
        of its points are judged; has_others: whether points of other parts of the figure are."""
        data = self.data
        is_ours = data["says"].startswith(OURS)
        text = "(%d) %s%s (%s)." % (self.number, "" if is_ours else "The paper: ", data["says"], data["where"])
        where = ("in the model (%s)" % ("dashed" if has_model else "not drawn here")) if data.get("is_simulated") else "here" if "by" not in data else "by the figure " + data["by"]
        judged = self.judged
        if judged:
            mark = "" if not self.is_of_samples or "by" in data else ", marked (%d)" % self.number if has_marks else \
                ", in the other parts of this figure" if has_others else ""
            text += " Judged %s: %s." % (where + mark, judged)
        drawn = {"ratio": "total"}.get(self.rule.get("metric"), self.rule.get("metric"))
        if self.is_of_samples and column and column not in (drawn, self.rule.get("metric")) and "by" not in data:
            text += " (This figure draws another quantity of the same points.)"
        if has_others and has_marks and self.is_of_samples and "by" not in data:
            text += " (Other such points are in the other parts of this figure.)"
        found = self.found
        text += " Found: %s." % found if found else ""
        text += " Verdict: %s." % data["verdict"].upper()
        return text + (" Why: %s." % data["cause"] if data.get("cause") else "")

    @property
    def judged(self):
        """What was compared, where, and which threshold was asked for."""
        rule = self.rule
        if rule.get("in_words"):
            return "by a reader: " + str(rule["in_words"]).rstrip(".") if isinstance(rule["in_words"], str) else "by a reader"
        if "metric" not in rule or not ("at_least" in rule or "at_most" in rule):
            return ""
        if "of" in rule and "cells" in rule:
            return self.of_samples()
        where = rule.get("where", {})
        what = METRICS.get(rule["metric"], rule["metric"].replace("_", " "))
        base = rule.get("relative_to", rule.get("to"))
        text = what + " of " + values(where) if where else what
        if isinstance(base, dict):
            other = values({key: value for key, value in base.get("where", {}).items() if where.get(key) != value})
            text += ", relative to the " + METRICS.get(base["metric"], base["metric"].replace("_", " ")) + (" of " + other if other else "")
        elif base:
            text += ", relative to that of a second run of the model"
        command = re.search(r"--bytes (\S+)", self.data.get("command", ""))
        text += " at %s" % command.group(1) if command else ""
        return text + "; asked: " + self.asked(is_quotient=bool(base))

    def of_samples(self):
        rule = self.rule
        what = METRICS.get(rule["metric"], rule["metric"])
        other = METRICS.get(rule.get("to_metric"), what) if "to_metric" in rule else what
        text = "%s with %s" % (what, " ".join(filter(None, (rule["of"], places(rule.get("of_where", []))))))
        text += ", less that with %s" % rule["less"] if "less" in rule else ""
        if "to" in rule:
            name = "" if rule["to"] == rule["of"] and ("to_where" in rule or other != what) else "with " + rule["to"]
            text += ", relative to %s %s" % ("that" if other == what else "the " + other,
                                             " ".join(filter(None, (name, places(rule.get("to_where", []))))))
        over = places(rule.get("over", []))
        text = text.strip() + (", " + over if over else "")
        how = {"all": "in every such point", "any": "in one such point at least", "mean": "in the mean of such points",
               "median": "in the median of such points"}[rule["cells"]]
        return "%s; asked: %s %s" % (text, self.asked("to" in rule), how)

    def asked(self, is_quotient):
        is_percent = not is_quotient and (self.rule["metric"] in ("hidden", "cpu_share", "idle_share", "cpu_outside", "overlap_percent"))

        def bound(value):
            if is_quotient:
                return "as much (1)" if value == 1 else "%g of it" % value if value < 1 else "%g times as much" % value
            return ("%g %%" % value) if is_percent else "%g" % value
        return " and ".join("%s %s" % (name.replace("_", " "), bound(self.rule[name])) for name in ("at_least", "at_most") if name in self.rule)

    @property
    def found(self):
        """Without what was asked."""
        why = self.data.get("why", "")
        if not self.is_of_samples:
            return re.split(r"\. (?=[A-Z*])", why)[0].rstrip(".").replace("*", "") if why else ""
        if why.startswith("all its cells are missing"):
            return "nothing, for no such point has a value that can be used"
        parts = why.split("; ")
        found = [re.sub(r"^.*?, (the worst|the best|mean of the|median of the) cells?: ", lambda match: {
            "the worst": "at worst ", "the best": "at best ", "mean of the": "mean ", "median of the": "median "}[match.group(1)], parts[0])]
        for part in parts[1:]:
            count = re.match(r"(\d+) of (\d+) cells (hold|do not count)", part)
            if count and count.group(3) == "hold":
                found.append("it holds in %s of %s points" % count.groups()[:2])
            elif count:
                found.append("%s of %s points do not count: the same measured twice differs there by as much, or was not measured "
                             "twice" % count.groups()[:2])
            elif part.startswith("the worst cell"):
                found.append(part.replace("the worst cell", "at worst"))
            elif "have no value" in part:
                found.append(part.replace("cells", "points"))
        text = re.sub(r"\b(\w+=[\w=:]+(?:,\w+=[\w=:]+)*)", lambda match: words.algorithm(match.group(1)), "; ".join(found))
        number = r"(-?[\d.]+(?:e[-+]\d+)?)"
        if "to" in self.rule:
            text = re.sub(r"\b(at worst|at best|mean|median) %s(?= |;|$)" % number, r"\1 \2 times", text)
        return re.sub(r"\((%s[^()]* to %s[^()]*)\)" % (number, number), r"(95 % interval \1)", text)


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
    if axis == "algorithm":
        return words.algorithm(value) or "the default algorithm"
    if axis == "collective":
        return value[1:] if value.startswith("i") else value
    return "%s %s" % (axis, value)


def claims_of(scenario):
    return [Claim(number, data) for number, data in enumerate(scenario.get("claims") or [], 1)]
