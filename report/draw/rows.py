"""Rows of dots: one row for each contest, from left to right the value, with its interval. A phone shows it, too."""

import textwrap

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from . import style
from .. import words

LANE = 0.2   # inches for a member of a row
GAP = 0.16   # between rows
HEAD = 0.30  # a group's name
HEAD_COLUMNS = 44
LABEL_COLUMNS = 50
COLUMN = 7.0 # inches of rows in a column, where there may be several
SHORT = 26   # characters of a line beside a row


class Scale:
    """The axis of a drawing of rows."""

    def __init__(self, label, is_log, limits, ticks, text, line=None, line_label=None, tick_text=None,
                 better="less", reference=None):
        self.label = label    # what it is, with its unit
        self.better = better  # "less", "more", or "": neither end
        self.is_log = is_log
        self.limits = limits  # (least, most)
        self.ticks = ticks
        self.text = text      # the words of a value
        self.tick_text = tick_text or text
        self.line = line      # a line at this value
        self.line_label = line_label
        self.reference = reference  # a value to compare with, and its words

    def words(self, less, more):
        """The label, with the way to read it."""
        end = {"less": less, "more": more}.get(self.better)
        said = ["log scale"] * self.is_log + ([end + " is better"] if end else [])
        return self.label + (" (%s)" % "; ".join(said) if said else "")


def row_label(contest, experiment, has_heads):
    label = words.size(contest.bytes) if contest.bytes and not experiment.is_of_program else ""
    if experiment.is_over_ranks or experiment.is_over_late:
        label = words.axis("ranks", contest.head["ranks"]) if experiment.is_over_ranks else experiment.x_text(experiment.x_of(contest))
    if experiment.is_by_row:
        label = words.axis(experiment.asked, contest.head.get(experiment.asked)).removeprefix("algorithm ").replace(" among the leaders", "") or "default"
    elif not has_heads:
        label = ("%s " % (experiment.group_of(contest) or experiment.collective_of(contest)) + label).strip()
    return "\n".join(textwrap.wrap(label or experiment.collective_of(contest), SHORT))


def has_heads(experiment):
    """Whether groups stand over their rows; a group of one short row does not need it."""
    return bool(experiment.axes) and any(len(contests) > 1 for contests in experiment.groups.values())


def draw(experiment, title, scale, value_of, band_of, bars=None, more_entries=()):
    """Rows, of a drawing that is alone in several columns. value_of(contest, member): an Estimate or None. band_of(contest): (low, high) or None.

    bars(axes, contest, member, lane, colour), for drawings of bars: draws them, and returns their sum."""
    names = [name for name in experiment.members if not (scale.line_label and name == experiment.baseline)]
    with_heads = has_heads(experiment)
    lines = max(row_label(contest, experiment, with_heads).count("\n") + 1 for contest in experiment.contests)
    pitch = max(len(names) * LANE, lines * style.NOTE_LINE, LANE) + GAP
    blocks = []  # of each group: its lines, and its contests
    for group, contests in experiment.groups.items():
        blocks.append((textwrap.wrap(group, HEAD_COLUMNS) if with_heads else [], contests))
    if not with_heads:
        blocks = [([], [contest]) for contest in experiment.contests] if len(blocks) == 1 else blocks

    def inches(block):
        return (HEAD + style.LINE * (len(block[0]) - 1)) * bool(block[0]) + pitch * len(block[1])
    whole = sum(map(inches, blocks))
    columns = title.columns(min(len(blocks), 1 + int(whole / COLUMN)))
    stacks = in_stacks(blocks, inches, columns)
    entries = style.entries_of(experiment, names, has_points=bars is None) + list(more_entries)
    if scale.line_label:
        entries.insert(0, Line2D([], [], color=style.MUTED, linewidth=1.4, label=scale.line_label))
    if scale.reference:
        entries.append(style.reference_entry(scale.reference[1]))
    tall = max(sum(map(inches, stack)) for stack in stacks)
    heights = [tall + 0.95] * len(stacks)
    columns = len(stacks)
    figure = style.new_figure(experiment, sum(style.in_grid(heights, columns)), title, entries, columns)
    for axes, stack in zip(style.grid(figure, heights, columns), stacks):
        draw_stack(axes, experiment, names, stack, tall, pitch, with_heads, scale, value_of, band_of, bars)
    return figure


def in_stacks(blocks, inches, columns):
    """Blocks in their order, in stacks of about the same height."""
    least = sum(map(inches, blocks)) / columns
    stacks, height = [[]], 0
    for block in blocks:
        if stacks[-1] and len(stacks) < columns and height + inches(block) / 2 > least:
            stacks.append([])
            height = 0
        stacks[-1].append(block)
        height += inches(block)
    return stacks


def draw_stack(axes, experiment, names, stack, tall, pitch, with_heads, scale, value_of, band_of, bars):
    places, heads, at = [], [], 0.0
    for lines, contests in stack:
        if lines:
            height = HEAD + style.LINE * (len(lines) - 1)
            heads.append((at + height / 2, "\n".join(lines)))
            at += height
        for contest in contests:
            places.append((at + pitch / 2, contest))
            at += pitch
    axes.spines["left"].set_visible(False)
    axes.set_ylim(tall, 0)  # inches, from above
    if scale.is_log:
        axes.set_xscale("log")
    axes.set_xlim(*scale.limits)
    axes.xaxis.set_major_locator(FixedLocator(scale.ticks))
    style.minor_ticks(axes.xaxis, scale.is_log)
    axes.set_xticks(scale.ticks, [scale.tick_text(tick) for tick in scale.ticks])
    axes.set_yticks([place for place, _ in places],
                    [row_label(contest, experiment, with_heads) for _, contest in places])
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=10)
    axes.grid(axis="x")
    axes.set_xlabel("\n".join(textwrap.wrap(scale.words("left", "right"), LABEL_COLUMNS)))
    axes.text(1.02, 1, experiment.statistic if not bars else "sum", transform=axes.transAxes, va="bottom", fontsize=9.5, color=style.MUTED)
    if scale.line is not None:
        axes.axvline(scale.line, color=style.MUTED, linewidth=1.4)
    if scale.reference:
        axes.axvline(scale.reference[0], **style.REFERENCE)
    for place, group in heads:
        axes.text(0, place, group, transform=axes.get_yaxis_transform(), weight="bold", va="center", ha="left",
                  bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.5})
    for place, contest in places:
        draw_row(axes, experiment, names, place, contest, scale, value_of, band_of, bars)


def draw_row(axes, experiment, names, place, contest, scale, value_of, band_of, bars):
    lanes = max(len(names), 1)
    band = band_of(contest)
    if band:
        low, high = (min(max(end, scale.limits[0]), scale.limits[1]) for end in band)
        axes.fill_betweenx([place - lanes * LANE / 2, place + lanes * LANE / 2], low, high, color=style.BAND,
                           linewidth=0)
    for member in contest.members:
        if member.name not in names:
            continue
        colour, mark = style.look(experiment, member.name)
        lane = place + (names.index(member.name) - (lanes - 1) / 2) * LANE
        if not bars:
            draw_simulated(axes, experiment, contest, member.name, lane, scale)
        value = value_of(contest, member) if value_of else None
        is_open = experiment.is_open(contest, member)
        if bars:
            axes.text(1.02, lane, bars(axes, contest, member, lane, colour),
                      transform=axes.get_yaxis_transform(), va="center", fontsize=9.5, color=style.INK)
        if value is None:
            continue
        if not experiment.is_defined(value.value):
            axes.text(1.02, lane, "not defined here", transform=axes.get_yaxis_transform(), va="center", fontsize=9.5,
                      color=style.MUTED)
            continue
        draw_points(axes, value.points, lane, scale, colour)
        inside = [min(max(x, scale.limits[0]), scale.limits[1]) for x in (value.value, value.low or 0, value.high or 0)]
        if value.has_interval:
            axes.plot(inside[1:], [lane, lane], color=colour, linewidth=style.THIN if is_open else style.THICK,
                      solid_capstyle="butt")
        if inside[0] == value.value:  # (else the triangle at the edge tells that it is beyond)
            axes.plot(inside[:1], [lane], marker=mark, markersize=6.5, color=colour, clip_on=False,
                      **(dict(style.HOLLOW, markeredgecolor=colour) if is_open else
                         {"markeredgecolor": style.PAPER, "markeredgewidth": 0.7}))
        axes.text(1.02, lane, scale.text(value.value), transform=axes.get_yaxis_transform(), va="center",
                  fontsize=9.5, color=style.INK)


def draw_simulated(axes, experiment, contest, name, lane, scale, unit=1):
    value = experiment.simulated_of(contest, name)
    if value is not None:
        colour, mark = style.look(experiment, name)
        axes.plot([min(max(value / unit, scale.limits[0]), scale.limits[1])], [lane], color=colour,
                  clip_on=False, linestyle="none", **dict(style.SIMULATED, marker=mark))


def draw_points(axes, points, lane, scale, colour):
    """All repetitions; those beyond the edge as a triangle at it."""
    low, high = scale.limits
    inside = [point for point in points if low <= point <= high]
    style.speckles(axes, inside, [lane] * len(inside), colour, is_log=False)
    for is_beyond, edge, mark in ((min(points) < low, low, "<"), (max(points) > high, high, ">")):
        if is_beyond:
            axes.plot([edge], [lane], marker=mark, markersize=4.5, color=colour, alpha=0.6, clip_on=False,
                      markeredgewidth=0)


def middles(experiment, value_of):
    """Of all members in all rows in which these are defined, with the simulated values."""
    found = [value_of(contest, member) for contest in experiment.contests for member in contest.members
             if contest.is_defined(member)]
    return [line["value"] for line in experiment.simulated] + [value.value for value in found if value is not None]


def ends(experiment, value_of):
    """The least and the largest of all values and their intervals' ends."""
    found = [line["value"] for line in experiment.simulated]
    for contest in experiment.contests:
        for member in contest.members:
            value = value_of(contest, member)
            if value is not None and experiment.is_defined(value.value):
                found += [value.value] + ([value.low, value.high] if value.has_interval else [])
    return (min(found), max(found)) if found else None
