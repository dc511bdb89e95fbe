"""What a figure says, in one sentence."""

import re

from . import kind_of
from .. import words


def sentence(experiment):
    """That of its drawing, from the undisturbed rows; none if most rows are disturbed."""
    rows, good = len(experiment.contests), len(experiment.undisturbed)
    if 2 * (rows - good) > rows:
        return "No conclusion: %s (%s)." % (
            "the only row is disturbed" if rows == 1 else ("both" if rows == 2 else "all %d" % rows) + " rows are disturbed" if not good else "%d of %d rows are disturbed" % (rows - good, rows),
            first_reason(experiment))
    text = kind_of(experiment).sentence(experiment)
    if text.split(" ")[0] not in experiment.members:
        text = text[0].upper() + text[1:]
    if good < rows:
        text += " (Without %d disturbed row%s of %d.)" % (rows - good, "s"[:rows - good != 1], rows)
    return text


HEADLINE = 100  # characters: two lines over a figure


def headline(experiment):
    """The sentence, shortened until it fits over a figure: without what stands in parentheses, then without the last
    members."""
    text = sentence(experiment)
    short = getattr(kind_of(experiment), "short", None)
    if short is not None and not text.startswith("No conclusion") and short(experiment):
        text = short(experiment)
        text = text if text.startswith(tuple(experiment.members)) else text[0].upper() + text[1:]
    if len(text) <= HEADLINE:
        return text
    while "(" in text:  # the innermost first
        text, count = re.subn(r" ?\([^()]*\)", "", text)
        if not count:
            break
    text = re.sub(r"; with ([^;,]+), ", r"; \1 ", text).replace("operation and computation together", "both")
    while len(text) > HEADLINE and re.search(r"(;|,| and) ", text):
        text = re.sub(r"(;|,| and) (?!.*(;|,| and) ).*$", " ...", re.sub(r" \.\.\.$", "", text))
    return text[0].upper() + text[1:] if text.split(" ")[0] not in experiment.members else text


def notes(experiment):
    """What somebody has to know who sees the figure alone, and at last where and when it was measured."""
    found = list(kind_of(experiment).notes(experiment))
    if any(contest.disturbed for contest in experiment.contests):
        found.append("disturbed (pale or hollow): the same, measured twice, differed too much (other programs ran), so "
                     "this row shows nothing")
    if len(experiment.members) > 1:
        found.append("Weft: a library whose collectives run while the program computes; names in the legend: who moves "
                     "the data")
    return found + [words.machine(experiment)]


def texts(experiment, is_alone):
    from . import style  # (needs matplotlib)
    if not is_alone:
        return style.Texts(notes=notes(experiment))
    return style.Texts(experiment.question, headline(experiment), notes(experiment))


def first_reason(experiment):
    reasons = [contest.disturbed for contest in experiment.contests if contest.disturbed]
    return "for example, " + reasons[0] if len(reasons) > 1 else reasons[0]
