"""The verdicts of a figure: of each claim of a paper what was judged, point by point, beside what was asked."""

import math
import textwrap

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import ratio, scales, style
from .. import conditions, judge, words

HOW = "A row is a point that was judged; the shaded part of the axis is what was asked for."
ROWS_MAX = 30   # of more points, several are in a row
ROW, AXIS, LINE, GAP = 0.25, 0.6, 0.205, 0.2  # inches
COLUMNS = 92    # characters of a line
ASKED = "#d9ecd9"
STATES = {"holds": (0, "o", "holds: what was asked"), "fails": (1, "s", "fails: not what was asked"),
          "better": (2, "^", "better than asked"),
          "open": (9, "o", "hollow: does not count, for its bar reaches the bound, or the grey round it, or chance is not known")}
# Axes by which rows are told apart; the last is given up first.
AXES = ("mpi", "collective", "ranks", "nodes", "link", "algorithm", "late", "barrier", "timer", "transport", "size")
GIVEN_UP = ("collective", "link", "nodes", "size", "ranks")


def claims_of(experiment):
    """Those that this figure's samples decide."""
    metrics = {"total": "ratio" if experiment.says == "ratio" else "total"}
    found = []
    for claim in experiment.claims:
        if not claim.is_of_samples or "by" in claim.data or claim.is_simulated:
            continue
        drawn = "hidden" if experiment.says == "hidden" else experiment.contests[0].column()
        metric = {"ratio": "total"}.get(claim.rule["metric"], metrics.get(claim.rule["metric"], claim.rule["metric"]))
        if not experiment.is_view or metric in (drawn, "ratio"):
            found.append(claim)
    return found


def judged_of(experiment):
    """Each with its verdict; cached in the experiment."""
    if "judged" not in experiment.__dict__:
        experiment.judged = [(claim, judge.judge(claim.rule, [experiment])) for claim in claims_of(experiment)]
    return experiment.judged


def counted(one, how):
    """ "holds at 4 of 5 points"."""
    states = [finding.state for finding in one.findings]
    count = sum(state != "open" for state in states)
    if not states:
        return "no point has a value"
    if not count:
        return "none of %d points counts" % len(states) if len(states) > 1 else "its only point does not count"
    if one.whole:
        return "%s of %d points" % (how, len(states)) if len(states) > 1 else "one point"
    held = sum(state == "holds" for state in states)
    text = "holds at %d of %d point%s" % (held, count, "s"[:count != 1])
    better = sum(state == "better" for state in states)
    return text + (", better at %d" % better if better else "") + ("; %d more do%s not count" % (
        len(states) - count, "es"[:2 * (len(states) - count == 1)]) if len(states) > count else "")


def verdict(claim, one):
    return "%s (%s)" % (one.verdict.upper(), counted(one, claim.rule["cells"]))


def figure_of(value, rule):
    return judge.figure(value, rule)


def answer(experiment, claim, one):
    """What was found, in a sentence."""
    shown = [one.whole] if one.whole else [finding for finding in one.findings if finding.counts] or one.findings
    if not shown:
        return "Nothing that can be used was measured at these points."
    values = [finding.found.value for finding in shown]
    text = words.between(min(values), max(values), lambda value: figure_of(value, claim.rule))
    text = ("in the %s " % claim.rule["cells"]) * bool(one.whole) + text
    return claim.answer(experiment.shown, text) + ("." if shown[0].counts else ": not decided.")


def headline(experiment):
    found = judged_of(experiment)
    if len(found) == 1:
        return "%s. %s" % (verdict(*found[0]), answer(experiment, *found[0]))
    return ", ".join("%s %s" % (claim.letter, one.verdict.upper()) for claim, one in found) + "."


def rows_of(experiment, findings, rule):
    """Findings by the label of their row."""
    chosen = {conditions.axis_of(one) for finding in findings[:1] for one in rule.get("of_where", []) + rule.get("to_where", [])}
    axes = [axis for axis in AXES if (axis == "mpi" or axis == "size" and not experiment.is_of_program or axis in experiment.varying) and {"size": "bytes"}.get(axis, axis) not in chosen]
    for give_up in (None,) + GIVEN_UP:
        axes = [axis for axis in axes if axis != give_up]
        rows = {}
        parts = [label_parts(experiment, finding, axes) for finding in findings]
        same = set.intersection(*map(set, parts)) if len(findings) > 1 else set()
        for finding, words_ in zip(findings, parts):
            rows.setdefault(", ".join(word for word in words_ if word not in same) or "all", []).append(finding)
        if len(rows) <= ROWS_MAX:
            break
    return rows, sorted(same, key=parts[0].index)


def label_parts(experiment, finding, axes):
    head, contest = finding.cell.head, finding.cell.contest
    parts = []
    for axis in axes:
        if axis == "size":
            parts.append(words.size(contest.bytes) if contest.bytes else "")
        elif axis == "mpi":
            parts.append(words.without_version(finding.cell.mpi) if finding.cell.mpi else words.MPIS.get(finding.cell.own_mpi, ""))
        elif axis == "collective":
            parts.append(experiment.collective_of(contest))
        elif axis != "link" or head.get("nodes"):
            parts.append(words.axis(axis, head.get(axis)))
    return [part for part in parts if part]


def lines_of(text, columns=COLUMNS):
    return textwrap.wrap(text, columns, subsequent_indent="    ")


class Block:
    """A claim, its text, and its rows."""

    def __init__(self, experiment, claim, one, is_alone, has_head):
        self.claim, self.one = claim, one
        self.rule = claim.rule
        wide = COLUMNS if is_alone else 62
        self.head = textwrap.wrap("%s  %s. %s" % (claim.letter, verdict(claim, one), answer(experiment, claim, one)), wide - 12) if has_head else []
        self.rows, same = rows_of(experiment, one.findings, claim.rule) if one.findings else ({}, [])
        self.text = lines_of(claim.says, wide) + lines_of("drawn: %s%s; asked: %s%s." % (
            claim.quantity(experiment.shown), " (%s)" % ", ".join(same) if same and not self.rule.get("over") else "", claim.asked(),
            "; but " + self.rule["unreachable"] if self.rule.get("unreachable") else ""), wide) + \
            (lines_of(claim.cause, wide) if one.verdict == claim.data["verdict"] else [])
        if one.whole and len(one.findings) > 1:
            self.rows["the %s" % self.rule["cells"]] = [one.whole]
        self.text_height = LINE * (len(self.head) + len(self.text)) + GAP * (1 + has_head)
        self.height = ROW * len(self.rows) + AXIS if self.rows else 0.02


def draw(experiment, title):
    found = judged_of(experiment)
    blocks = [Block(experiment, claim, one, title.is_alone, len(found) > 1 or not title.is_alone) for claim, one in found]
    states = {finding.state for block in blocks for finding in block.one.findings}
    entries = [Line2D([], [], linestyle="none", label=STATES[state][2], **look(state)) for state in STATES if state in states]
    if states:
        entries.append(Patch(color=ASKED, label="shaded: what was asked for"))
    if any(len(findings) == 1 for block in blocks for findings in block.rows.values()):
        entries += [Patch(color=style.BAND, label="grey: how far chance may move the bound (the same measured twice)"),
                    Line2D([], [], color=style.MUTED, linewidth=2, label="bar: 95 % interval")]
    heights = [height for block in blocks for height in (block.text_height, block.height)]
    figure = style.new_figure(experiment, sum(heights) + 0.1, title, entries)
    spec = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    for at, block in enumerate(blocks):
        axes = figure.add_subplot(spec[2 * at])
        axes.axis("off")
        for line_at, line in enumerate(block.head + block.text):
            is_head = line_at < len(block.head)
            axes.annotate(line, (0.01, 1), xycoords=("figure fraction", "axes fraction"), xytext=(0, -72 * LINE * line_at),
                          textcoords="offset points", va="top", fontsize=10.5 if is_head else 9.5, annotation_clip=False,
                          weight="bold" if is_head else "normal").set_in_layout(False)
        axes = figure.add_subplot(spec[2 * at + 1])
        if block.rows:
            draw_rows(axes, block)
        else:
            axes.axis("off")
    return figure


def look(state):
    at, mark, _ = STATES[state]
    colour = style.SERIES[at]
    return dict(style.HOLLOW if state == "open" else {"markeredgewidth": 0.7, "markeredgecolor": style.PAPER}, marker=mark, color=colour,
                markersize=7, **({"markeredgecolor": colour} if state == "open" else {}))


def limits_of(block, is_log):
    rule = block.rule
    found = [finding.found for finding in block.one.findings]
    values = [one.value for one in found] + judge.bounds_of(rule) + [1] * judge.is_quotient(rule)
    ends = [end for one in found if one.has_interval for end in (one.low, one.high)]
    if not is_log:
        least, most = min(values), max(values)
        room = max(0.12 * (most - least), 5 if judge.is_percent(rule) else 0.1 * max(abs(most), 1e-3))
        return max(least - 4 * room, min([least] + ends)) - room, min(most + 4 * room, max([most] + ends)) + room
    values, ends = [value for value in values if value > 0], [end for end in ends if end > 0]
    least, most = min(values), max(values)
    low, high = max(least / 3, min([least] + ends)), min(most * 3, max([most] + ends))
    return min(low / 1.12, least / 1.25), max(high * 1.12, most * 1.25)


def draw_rows(axes, block):
    rule = block.rule
    is_log = judge.is_quotient(rule) or not judge.is_percent(rule) and rule["metric"] not in judge.NUMBERS
    low, high = limits_of(block, is_log)
    if is_log:
        axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(len(block.rows) - 0.4, -0.6)
    begin, end = max(rule.get("at_least", low), low), min(rule.get("at_most", high), high)
    axes.axvspan(begin, end, color=ASKED, linewidth=0, zorder=0.2)
    for bound in judge.bounds_of(rule):
        axes.axvline(bound, color=style.INK, linewidth=1.2)
    if len(block.rows) > 1 and block.one.whole:
        axes.axhline(len(block.rows) - 1.5, color=style.MUTED, linewidth=0.8)
    if judge.is_quotient(rule):
        ticks = ratio.ticks(low, high)
        ticks = sorted([tick for tick in ticks if all(abs(math.log(tick / bound)) > 0.09 * math.log(high / low) for bound in judge.bounds_of(rule))] +
                       judge.bounds_of(rule))
    elif is_log:
        ticks = scales.ticks(low, high)
    else:
        step = next(size * 10.0**power for power in range(-2, 9) for size in (1, 2, 5) if size * 10.0**power * 6 >= high - low)
        ticks = [step * at for at in range(int(low / step) - 1, int(high / step) + 2) if low <= step * at <= high]
    axes.set_xticks(ticks, ["%g" % tick if judge.is_quotient(rule) else figure_of(tick, rule) for tick in ticks], fontsize=9.5)
    style.minor_ticks(axes.xaxis, False)
    axes.set_yticks(range(len(block.rows)), list(block.rows), fontsize=9.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_xlabel(("quotient (log scale)" if judge.is_quotient(rule) else "difference in points" if "to" in rule else
                     "log scale" if is_log else "%" if judge.is_percent(rule) else "number"), fontsize=9.5)
    for at, findings in enumerate(block.rows.values()):
        for finding in findings:
            draw_point(axes, at, finding, low, high, len(findings) == 1)
        axes.text(1.02, at, beside(findings, rule), transform=axes.get_yaxis_transform(), va="center", fontsize=9.5)


def draw_point(axes, at, finding, low, high, has_interval):
    found = finding.found
    for begin, end in finding.chance or [] if has_interval else []:
        begin, end = max(begin, low), min(end, high)
        if begin < end:
            axes.fill_betweenx([at - 0.36, at + 0.36], begin, end, color=style.BAND, linewidth=0, zorder=0.4)
    inside = min(max(found.value, low), high)
    if has_interval and found.has_interval:
        axes.plot([min(max(found.low, low), high), min(max(found.high, low), high)], [at, at], color=look(finding.state)["color"], linewidth=2,
                  solid_capstyle="butt")
    axes.plot([inside], [at], linestyle="none", clip_on=False, **look(finding.state))


def beside(findings, rule):
    if len(findings) == 1:
        found = findings[0].found
        text = figure_of(found.value, rule)
        return text + (" (%s)" % words.between(found.low, found.high, lambda value: figure_of(value, rule)) if found.has_interval else "")
    counting = [finding for finding in findings if finding.counts]
    values = [finding.found.value for finding in findings]
    return "%s; holds at %d of %d" % (words.between(min(values), max(values), lambda value: figure_of(value, rule)),
                                      sum(finding.state == "holds" for finding in counting), len(counting))


def notes(experiment):
    setup = experiment.scenario.get("setup")
    of_model = [claim.letter for claim in experiment.claims if claim.is_simulated]
    return ["the paper's set-up: %s" % setup] * bool(setup) + \
        ["%s: about the simulation, in the figure %s-model" % (words.listing(of_model), experiment.name)] * bool(of_model)
