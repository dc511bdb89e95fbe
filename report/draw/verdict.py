"""What a figure says, in one sentence."""

import functools
import re
import textwrap

from . import along, apart, kind_of, style, times
from .. import claims, words


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
    text = of_algorithms(experiment) or of_lateness(experiment)
    if text:
        return cut(text)
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


def of_algorithms(experiment):
    """The answer to a question that compares algorithms: of two the quotient, of more the best and the worst at both ends of the
    axis; "": it is answered otherwise."""
    if experiment.asked != "algorithm":
        return ""
    if experiment.by_ports():
        return of_hidden_by_ports(experiment) if experiment.says == "hidden" else ""
    column = experiment.contests[0].column()
    is_hidden = experiment.says == "hidden"

    def value_of(contest, name):
        member = contest.member(name)
        found = None if member is None or not contest.is_defined(member) else contest.hidden(member) if is_hidden else member.estimate(column)
        return found.value if found is not None else None
    names = list(dict.fromkeys(words.axis("algorithm", contest.head.get("algorithm")) for contest in experiment.contests))
    short = {name: name.replace("algorithm ", "", 1).replace(" among the leaders", "") for name in names}
    of = {name: [contest for contest in experiment.contests if words.axis("algorithm", contest.head.get("algorithm")) == name] for name in names}
    judged = [claim.rule["of"] for claim in experiment.claims if claim.is_of_samples and claim.rule["of"] in experiment.members]
    member = (judged or experiment.members[-1:])[0]
    if len(names) == 2 and not is_hidden:
        first, second = names
        parts = []
        for name in experiment.members:
            pairs = [(contest, other) for contest in of[second] for other in of[first]
                     if experiment.group_of(contest, "algorithm") == experiment.group_of(other, "algorithm") and
                     experiment.x_of(contest) == experiment.x_of(other) and value_of(contest, name) and value_of(other, name)]
            filled = [pair for pair in pairs if not pair[0].disturbed and not pair[1].disturbed]
            values = [value_of(one, name) / value_of(other, name) for one, other in filled or pairs]
            if values:
                parts.append("%s %s (%s)" % (name, words.between(min(values), max(values), words.ratio), "filled marks" if filled else
                                             "hollow marks: not decided"))
        return "%s with %s relative to that with %s: %s." % (
            words.quantity(column).capitalize(), short[second], short[first], "; ".join(parts)) if parts else ""
    if len(experiment.axes) > 1:
        return ""
    places = sorted({experiment.x_of(contest) for contest in experiment.contests})
    parts, is_hollow = [], False
    for place in dict.fromkeys((places[0], places[-1])):
        found = sorted((value_of(contest, member), short[name], bool(contest.disturbed)) for name in names for contest in of[name]
                       if experiment.x_of(contest) == place and value_of(contest, member) is not None)
        if len(found) > 1:
            text = words.percent if is_hidden else experiment.text
            is_hollow = is_hollow or found[0][2] or found[-1][2]
            parts.append("at %s %s (%s) to %s (%s)" % (experiment.x_text(place), text(found[0][0]), found[0][1], text(found[-1][0]), found[-1][1]))
    opening = "%s with %s: " % ("Hidden share" if is_hidden else words.quantity(column).capitalize(), member)
    end = " (hollow marks: not decided)." if is_hollow else "."
    whole = opening + "; ".join(parts) + end
    return "" if not parts else whole if len(whole) <= 1.2 * HEADLINE else opening + parts[-1] + end


def of_hidden_by_ports(experiment):
    """How many points more or less of an operation several ports hide, where both shares are defined."""
    parts, is_hollow = [], False
    for name in experiment.members:
        found = []
        for several, one in experiment.by_ports():
            members = several.member(name), one.member(name)
            if None in members or not several.is_defined(members[0]) or not one.is_defined(members[1]):
                continue
            shares = several.hidden(members[0]), one.hidden(members[1])
            if None not in shares:
                found.append(shares[0].value - shares[1].value)
                is_hollow = is_hollow or bool(several.disturbed or one.disturbed)
        if found:
            parts.append("%s %s" % (name, words.between(min(found), max(found), lambda points: "%+.0f points" % points)))
    return "Hidden share with several ports, less that with one: %s%s." % (
        "; ".join(parts), " (hollow marks: not decided)" * is_hollow) if parts else ""


def of_lateness(experiment):
    """What it costs that ranks are late: the difference at the end of that axis, over all panels; "": this is not asked, or
    of one member, whose times have room."""
    if len(experiment.members) < 2 or not experiment.is_over_late or experiment.is_percent or experiment.is_count or experiment.says not in ("time", ""):
        return ""
    last = max(experiment.x_of(contest) for contest in experiment.contests)
    parts = []
    for name in experiment.members:
        found = []
        for contests in experiment.groups.values():
            by_place = {experiment.x_of(contest): contest.member(name) for contest in contests}
            values = [member and member.estimate(contests[0].column()) for member in (by_place.get(0), by_place.get(last))]
            if None not in values:
                found.append(values[1].value - values[0].value)
        if found:
            parts.append("%s %s" % (name, words.between(min(found), max(found), experiment.text)))
    is_hollow = any(contest.disturbed for contest in experiment.contests if experiment.x_of(contest) in (0, last))
    return "Lateness of %s adds: %s%s." % (words.time(last), "; ".join(parts), " (hollow marks: not decided)" * is_hollow) if parts else ""


def cut(text):
    """Still a sentence, with a full stop."""
    if len(text) <= 1.2 * HEADLINE:
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
    found = list(kind_of(experiment).notes(experiment)) + claims_notes(experiment) + band_notes(experiment)
    if any(contest.disturbed for contest in experiment.contests):
        found.append("disturbed (%s): the same, measured twice, differed much (other programs ran)%s" % (
                     "hatched" if experiment.parts else "hollow marks", "" if experiment.parts else "; differences smaller than the grey band are not decided"
                      if any(map(band_of(experiment), experiment.contests)) else ""))
    found += headline_notes(experiment)
    if len(experiment.members) > 1:
        found.append("Weft: a library whose collectives run while the program computes" +
                     ("" if "arguments" in experiment.contests[0].head else "; names in the legend: who moves the data"))
    if experiment.simulated or experiment.simulated_alone:
        found.append("simulated: by a model (LogGP) with parameters that are mostly assumed; its commands are in docs/papers.md")
        if any("k = " in line["member"] for line in experiment.simulated_alone):
            found.append("k: how many messages a rank sends at a time (ports)")
    return found + [words.machine(experiment)]



def column_of(experiment):
    """What rules call it; "": of parts, which are several."""
    if experiment.says == "hidden":
        return "hidden"
    if not experiment.contests[0].baseline.computes() and experiment.contests[0].column() in ("total", "blocking"):
        return "blocking"  # (the same, where nothing is computed)
    return "" if experiment.parts else experiment.contests[0].column()


def claims_notes(experiment):
    """What the paper says, and the verdict; of samples that have no claims apart, as they are told there."""
    if experiment.claims:
        marked = [any(claim.judges(contest, experiment.members) for contest in experiment.contests) for claim in experiment.claims]
        has_model = bool(experiment.simulated or experiment.simulated_alone)
        return [claim.text(has_model, column_of(experiment), is_marked, bool(experiment.part))
                for claim, is_marked in zip(experiment.claims, marked)] + \
            ["point: a size (or number of ranks, or lateness) of a panel or row; (1), (2): at these points the claim of this number is "
             "judged"] * any(marked)
    return [text if text.startswith(claims.OURS) else "the paper: " + text for text in experiment.scenario.get("notes") or []]


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
        return ["a bar: the median of the sum; its parts: their shares in the mean", "no grey band: bars do not show how much the same differs when it is measured twice"]
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
    return style.Texts(experiment.question, headline(experiment), notes(experiment), is_alone=True)


def first_reason(experiment):
    reasons = [contest.disturbed for contest in experiment.contests if contest.disturbed]
    return "for example, " + reasons[0] if len(reasons) > 1 else reasons[0]
