"""What a figure says: its title, and the notes under it."""

import re

from . import along, judged, kind_of, model, style, times
from .. import words
from ..experiment import is_measurable, quotient

HEADLINE = 240  # characters
NAMES = ("less", "equal", "more")
NAMES_MAX = 4


def headline(experiment):
    """The answer to the question, of the members (or algorithms, or latenesses) that it compares; of what is not compared, values."""
    if experiment.role == "verdict":
        return judged.headline(experiment)
    if experiment.role == "model":
        return model.headline(experiment)
    if experiment.asked or len(experiment.members) > 1 and not along.is_of_values(experiment):
        opening, parts = compared(experiment)
    else:
        opening, parts = values(experiment)
    for count in range(len(parts), 0, -1):
        text = opening + "; ".join(parts[:count]) + "."
        if len(text) <= HEADLINE:
            break
    return text[0].upper() + text[1:] if parts else "Nothing was compared."


def compared(experiment):
    """How it begins, and what it says of each that is compared."""
    found = {}
    last = max(map(experiment.late_of, experiment.contests)) if experiment.asked == "late" else None
    only = (judged_members(experiment) or experiment.members[-1:])[0] if experiment.asked and experiment.asked != "late" else ""
    for contest in experiment.contests:
        for member in contest.members:
            other = experiment.partner(contest, member)
            if other and last in (None, experiment.late_of(contest)) and only in ("", member.name):
                found.setdefault(name_of(experiment, contest, member), []).append(
                    (experiment.state(contest, member), difference(experiment, (contest, member), other)))
    first = [experiment.shown(name) for name in dict.fromkeys(judged_members(experiment) + experiment.compared[1])]
    ordered = sorted(found, key=lambda name: first.index(name) if name in first else len(first))
    if not found and experiment.contests[0].again is not None:
        found = [contest.aa.value for contest in experiment.contests if contest.aa is not None]
        return "", ["%s measured twice takes %s of its time" % (experiment.shown(experiment.contests[0].twin().name),
                                                               words.between(min(found), max(found), words.ratio))] if found else []
    texts = {}
    for name in ordered:
        texts.setdefault(said(experiment, found[name]), []).append(name)
    opening = "%s%s beside %s: " % (what_of(experiment), " with %s" % experiment.shown(only) if only else "", experiment.compared_with)
    if last:
        opening = "%s if late by %s beside %s: " % (what_of(experiment), words.time(last), experiment.compared_with)
    return opening, ["%s %s" % (words.listing(names) if len(names) <= NAMES_MAX else "the others" if len(names) < len(found) else "all %d" % len(names),
                                text) for text, names in texts.items()]


def judged_members(experiment):
    return [claim.rule["of"] for claim in experiment.claims if claim.is_of_samples and claim.rule["of"] in experiment.members]


def what_of(experiment):
    """What is drawn, in a few words."""
    contest = experiment.contests[0]
    if experiment.says == "hidden":
        return "hidden share"
    column = contest.drawn_column(contest.baseline)
    if column == "total" and experiment.is_of_program:
        return "time of the program"
    if column == "total" and contest.baseline.computes():
        return "time of operation and computation"
    return words.quantity(column)


def name_of(experiment, contest, member):
    """Of what is compared: the member, or the algorithm or lateness, with the member where there are several."""
    if experiment.asked in ("", "late"):
        return experiment.shown(member.name)
    value = "several ports" if experiment.has_ports else words.axis(experiment.asked, contest.head.get(experiment.asked))
    return value.removeprefix("algorithm ").removeprefix("algorithms ").replace(" among the leaders", "")


def difference(experiment, one, other):
    if experiment.says == "hidden":
        shares = one[0].hidden(one[1]), other[0].hidden(other[1])
        return shares[0].value - shares[1].value if None not in shares else None
    value = quotient(one, other)
    return value.value if value is not None else None


def said(experiment, found):
    """ "less at 12 of 22 points (0.22 to 0.86 of it), equal at 3, not decided at 7"."""
    is_hidden = experiment.says == "hidden"
    parts, count = [], len(found)
    for name in NAMES:
        some = [value for state, value in found if state == name and value is not None]
        if some:
            where = ("at %d" % len(some)) + (" of %d points" % count if not parts and count > 1 else "") if count > 1 else ""
            by = words.between(min(some), max(some), lambda value: "%+.0f points" % value if is_hidden else words.ratio(value))
            parts.append(" ".join(filter(None, (name, where, "" if name == "equal" else "(%s%s)" % (by, "" if is_hidden else " of it" if name == "less" else " times")))))
    left = sum(state == "open" for state, _ in found)
    if not parts:
        return "not decided" + (" at any of %d points" % count if count > 1 else "")
    return ", ".join(parts + ["not decided at %d" % left] * bool(left))


def statistics_of(experiment):
    """Of the rows of one member: what each statistic would say, relative to the median."""
    found = {"least": [], "mean": [], "most": []}
    for contest in experiment.contests:
        points = contest.baseline.estimate(contest.column()).points
        for name, value in zip(found, (points[0], sum(points) / len(points), points[-1])):
            found[name].append(value / contest.baseline.estimate(contest.column()).value)
    return "beside the median of the times, ", ["the %s is %s of it" % (name, words.between(min(some), max(some), words.ratio))
                                               for name, some in found.items()]


def values(experiment):
    """What members' values are at both ends of the axis."""
    if "statistic" in experiment.question and len(experiment.members) == 1:
        return statistics_of(experiment)
    axis = along.axis(experiment)
    known = sorted({along.AXES[axis](contest) for contest in experiment.contests})
    ends = along.ends(axis, known)
    parts = []
    for name in dict.fromkeys(judged_members(experiment) + [experiment.compared[0]] + experiment.compared[1]):
        texts = []
        for end in dict.fromkeys(ends):
            found = [value_of(experiment, contest, contest.member(name)) for contest in experiment.contests
                     if along.AXES[axis](contest) == end and contest.member(name)]
            found = [value for value in found if value is not None]
            text = words.percent if experiment.says == "hidden" else experiment.text
            where = " " + along.where(experiment, axis, [end], known) if len(known) > 1 else ""
            if found:
                texts.append(words.between(min(found), max(found), text) + where)
            elif any(contest.member(name) for contest in experiment.contests):
                texts.append("not measurable" + where)
        if texts:
            parts.append("%s %s" % (experiment.shown(name), ", ".join(texts)))
    return what_of(experiment) + ": ", parts


def value_of(experiment, contest, member):
    if experiment.says == "hidden":
        share = contest.hidden(member)
        return share.value if is_measurable(share) else None
    found = member.estimate(contest.drawn_column(member))
    return found.value if found is not None and experiment.is_defined(found.value) else None


def notes(experiment):
    """What somebody has to know who sees the figure alone, and at last where and when it was measured."""
    if experiment.role == "verdict":
        found = judged.notes(experiment)
    elif experiment.role == "model":
        found = model.notes(experiment)
    else:
        found = list(kind_of(experiment).notes(experiment)) + band_notes(experiment)
        if experiment.role == "detail":
            found.append("This is a detail of the figure %s, which has the verdicts." % experiment.name)
        elif not experiment.claims:
            found += experiment.scenario.get("notes") or []
    if experiment.role != "model" and any(re.search("Weft", experiment.shown(name)) for name in experiment.members):
        found.append("Weft: a library of nonblocking collectives, which progress while the program computes.")
    return found + [words.machine(experiment)] * (experiment.role != "model")


def band_of(experiment):
    return getattr(kind_of(experiment), "band", times.band)


def band_notes(experiment):
    """Why there is no grey band, where there is none."""
    if experiment.parts:
        return ["a bar: the median of the sum; its parts: their shares in the mean"]
    if len(experiment.members) > 1 and all(contest.again is None for contest in experiment.contests):
        return ["no grey band: no member was measured twice, so small differences may be chance"]
    return []


def texts(experiment, is_alone):
    if not is_alone:
        return style.Texts(notes=notes(experiment))
    question = experiment.question if experiment.question.startswith(experiment.name) else "%s: %s" % (experiment.name, experiment.question)
    return style.Texts(question, headline(experiment), notes(experiment), is_alone=True)
