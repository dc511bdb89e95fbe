"""What a figure says, in one sentence."""

import functools
import re
import textwrap

from . import along, apart, kind_of, style, times
from .. import words


def sentence(experiment):
    """That of its drawing, from the rows that are not disturbed, or in which members differ by more than that."""
    rows, good = len(experiment.contests), len(experiment.undisturbed)
    if not is_decided(experiment):
        return "No conclusion: %s (%s)." % (
            "the only row is disturbed" if rows == 1 else ("both" if rows == 2 else "all %d" % rows) + " rows are disturbed" if not good else "%d of %d rows are disturbed" % (rows - good, rows),
            first_reason(experiment))
    text = capital(experiment, kind_of(experiment).sentence(experiment))
    decided = experiment.decided_rows
    if good < rows:
        wide = len([contest for contest in decided if contest.disturbed])
        text += " (%d of %d row%s disturbed%s.)" % (
            rows - good, rows, " is" if rows == 1 else "s are", "; in %d of them members differ by more than the same "
            "measured twice" % wide if wide else "")
    return text


def is_decided(experiment):
    """Whether there is something to say."""
    return bool(experiment.decided_rows)


def rows_decided(experiment, with_sizes):
    """ ", in the 5 decided rows of 9 (from 64 KiB)"; "": all are."""
    reference, others = experiment.compared
    asked = [contest for contest, _ in experiment.decided(others[0], reference)] \
        if others and [others[0], reference] in (experiment.scenario.get("compares") or []) else []
    decided = asked or experiment.decided_rows  # (what a rule asks counts, not what other members show)
    if len(decided) == len(experiment.contests) or experiment.says != "hidden" and experiment.by_ports():
        return ""  # (or it has been said)
    axis = along.axis(experiment)
    known, places = (sorted({along.AXES[axis](contest) for contest in some}) for some in (experiment.contests, decided))
    is_run = places in [known[at:at + len(places)] for at in range(len(known))] and places != known
    where = " (%s)" % along.where(experiment, axis, places, known) if with_sizes and is_run else ""
    return ", in the %s of %d%s" % ("one decided row" if len(decided) == 1 else "%d decided rows" % len(decided),
                                    len(experiment.contests), where)


def capital(experiment, text):
    """With a capital letter, unless it begins with a member's name."""
    is_name = any(text.startswith(name) and not text[len(name):][:1].isalnum() for name in experiment.members)
    return text if is_name else text[0].upper() + text[1:]


HEADLINE = 150  # characters: three lines over a figure


# From what says most to what is shortest: how much of an axis; one machine and nodes, and MPIs, together; of the compared
# members' times only their ratios; decided rows without their sizes.
TERSE = [(is_relative, detail, is_pooled, with_sizes)
         for detail, is_pooled in ((apart.FULL, False), (apart.ENDS, False), (apart.FULL, True), (apart.ENDS, True), (apart.BARE_ENDS, True),
                                    (apart.RANGE, True))
         for is_relative in (False, True) for with_sizes in (True, False)]


@functools.lru_cache(maxsize=None)
def headline(experiment):
    """The answer, so short that it fits over a figure: without the last members, if there is no room for them, but with
    those that are compared."""
    if not is_decided(experiment):
        return cut(without_parentheses(sentence(experiment)))
    text = ""
    for has_growth in (True, False) if along.is_of_values(experiment) else (False,):  # (this first, for it is asked)
        for is_relative, detail, is_pooled, with_sizes in TERSE:
            short = kind_of(experiment).short(experiment.terse(is_relative, detail, is_pooled))
            if not short or not short[1]:
                continue
            opening, parts, end, *is_of_all = short
            if any(is_of_all) != has_growth:
                continue
            if not has_growth:
                end = end[:-1] + rows_decided(experiment, with_sizes) + "."
            least = min(len(parts), 1 if is_relative or has_growth and not experiment.is_pair_asked else 2)
            for count in range(len(parts), least - 1, -1):
                text = capital(experiment, opening + joined(parts[:count]) + end)
                if fits(text):
                    return text
    return cut(text or without_parentheses(sentence(experiment)))


def cut(text):
    """Still a sentence, with a full stop."""
    if len(text) <= HEADLINE:
        return text
    return re.sub("[,;:]?[.]$", ".", textwrap.shorten(text, HEADLINE, placeholder="."))


def joined(parts):
    """With semicolons, if parts have commas."""
    return "; ".join(parts) if any("," in part for part in parts) else words.listing(parts)


def fits(text):
    return len(text) <= HEADLINE and len(textwrap.wrap(text, style.TITLE_COLUMNS)) <= style.TITLE_LINES


def without_parentheses(text):
    count = 1
    while count:  # the innermost first
        text, count = re.subn(r" ?\([^()]*\)", "", text)
    return text


def notes(experiment):
    """What somebody has to know who sees the figure alone, and at last where and when it was measured."""
    found = list(kind_of(experiment).notes(experiment)) + band_notes(experiment)
    if any(contest.disturbed for contest in experiment.contests):
        found.append("disturbed (%s): the same, measured twice, differed much (other programs ran)%s" % (
                     "hatched" if experiment.parts else "crossed", "" if experiment.parts else "; differences smaller than the grey band are not decided"
                      if any(map(band_of(experiment), experiment.contests)) else ""))
    found += headline_notes(experiment)
    if len(experiment.members) > 1:
        found.append("Weft: a library whose collectives run while the program computes" +
                     ("" if "arguments" in experiment.contests[0].head else "; names in the legend: who moves the data"))
    if experiment.simulated or experiment.simulated_alone:
        found.append("simulated: by a model (LogGP) with parameters that are mostly assumed; its commands are in docs/papers.md")
    found += [text if text.startswith(OURS) else "the paper: " + text for text in experiment.scenario.get("notes") or []]
    return found + [words.machine(experiment)]


OURS = ("Not in the paper", "A control of ours")  # how claims begin that are no paper's


def headline_notes(experiment):
    """What the words of the headline mean."""
    text, found = headline(experiment), []
    if "decided row" in text:
        found.append("row: an operation of one size, with so many ranks in one place (and the MPI); decided: the same measured twice "
                     "differs little there, or members differ by more than that, which is %s" % (
                         "the grey band" if any(map(band_of(experiment), experiment.contests)) and not experiment.parts else
                         "what a grey band would show"))
    if "decided line" in text:
        found.append("line: rows that differ in what the title names only (size, ranks, lateness); decided: its ends, of the first that is "
                     "named, differ by more than the same measured twice, or that differs little")
    if re.search(r"relative to|[\d.]+ of that|times that", text) and experiment.says != "ratio":
        found.append("quotients in the title are taken by repetition, then their median: those of the medians that are written may be others")
    return found


def band_of(experiment):
    return getattr(kind_of(experiment), "band", times.band)


def band_notes(experiment):
    """Why there is no grey band, where there is none."""
    if experiment.parts:
        return ["no grey band: bars do not show how much the same differs when it is measured twice"]
    if len(experiment.members) < 2:
        return []  # nothing is compared
    lacking = [contest for contest in experiment.contests if not band_of(experiment)(contest)]
    if not lacking:
        return []
    why = ("no member was measured twice" if all(contest.again is None for contest in lacking) else
           "too few repetitions to tell how much the same differs")
    where = "no grey band" if len(lacking) == len(experiment.contests) else "where there is no grey band"
    return ["%s: %s, so small differences may be chance" % (where, why)]


def texts(experiment, is_alone):
    if not is_alone:
        return style.Texts(notes=notes(experiment))
    return style.Texts(experiment.question, headline(experiment), notes(experiment))


def first_reason(experiment):
    reasons = [contest.disturbed for contest in experiment.contests if contest.disturbed]
    return "for example, " + reasons[0] if len(reasons) > 1 else reasons[0]
