"""Lines over the message size, the ranks, or how late a rank is: a panel for each group, in it a line for each member; or, where a
question compares algorithms, a panel for each member, in it a line for each algorithm. Places on the axis are as far from each
other whatever their values, so that the lines' marks have room beside each other."""

import textwrap

from matplotlib.transforms import ScaledTranslation

from . import style
from .. import words

WRITTEN = 9         # points between values that are written at an edge
ASIDE = 0.085       # inches between members at one place
PANEL = 2.6         # inches
LABEL_COLUMNS = 26  # of what an axis is of
MANY_PLACES = 6     # on an axis, from here on their labels are turned


def draw(experiment, title, scale, value_of, band_of):
    """As rows.draw, with the same arguments."""
    names = names_of(experiment)
    panels = panels_of(experiment, names)
    entries = style.entries_of(experiment, names)
    own = {line.label: line for lines in panels.values() for line in lines if line.is_own}
    if own:  # each line has a colour of its own, not the member
        entries[:len(names)] = [line.entry() for line in own.values()] + [
            style.Line2D([], [], linestyle="none", label="panels of " + experiment.explained(name)) for name in names]
    if scale.line_label:
        entries.insert(0, style.Line2D([], [], color=style.MUTED, linewidth=1.4, label=scale.line_label))
    if scale.reference:
        entries.append(style.reference_entry(scale.reference[1]))
    columns = title.columns(len(panels))
    characters = title.panel_columns(columns)
    titles = [textwrap.wrap(group, characters) for group in panels]
    heights = [PANEL + style.LINE * (len(lines) - 1) for lines in titles]
    height = 0.2 + sum(style.in_grid(heights, columns))
    figure = style.new_figure(experiment, height, title, entries, columns)
    for at, (axes, lines, texts) in enumerate(zip(style.grid(figure, heights, columns), panels.values(), titles)):
        draw_panel(axes, experiment, lines, scale, value_of, band_of)
        axes.set_title("\n".join(texts), loc="left", fontsize=10.5, weight="bold", pad=6)
        axes.set_xlabel(experiment.x_name, fontsize=9.5)
        if at % columns == 0:
            axes.set_ylabel("\n".join(textwrap.wrap(scale.words("lower", "higher"), LABEL_COLUMNS)), fontsize=9.5)
    return figure


def places_of(experiment, lines):
    return sorted({experiment.x_of(contest) for line in lines for contest in line.contests})


class Line:
    """A member in contests that differ along the axis only."""

    def __init__(self, name, contests, label, look, is_own=False):
        self.name = name
        self.contests = contests
        self.label = label
        self.colour, self.mark = look
        self.at = 0  # among those of its panel
        self.style = style.line_of(self.colour)
        self.is_own = is_own  # its look is of what it is compared in, not of the member

    def entry(self):
        return style.Line2D([], [], color=self.colour, marker=self.mark, markersize=6.5, linewidth=2, linestyle=self.style,
                            label=self.label)


def is_by_collective(experiment, names):
    """Whether a panel is an MPI, and its lines are collectives: one member is compared with several MPIs."""
    return len(names) == 1 and {"mpi", "collective"} == set(experiment.axes)


def names_of(experiment):
    """The members that have a line: of ratios, all but the one with which the others are compared."""
    return [name for name in experiment.members if not (experiment.says == "ratio" and name == experiment.baseline)] or experiment.members


def line_axis(experiment, names):
    """The axis whose values have a line each, in one panel of each member; "": members have."""
    if is_by_collective(experiment, names):
        return "collective"
    return experiment.asked if experiment.asked in experiment.axes else ""


def panels_of(experiment, names):
    """Lines by the title of their panel."""
    panels, axis = {}, line_axis(experiment, names)
    if not axis:
        for group, contests in experiment.groups.items():
            panels[group] = [Line(name, contests, experiment.shown(name), style.look(experiment, name)) for name in names]
        return panels
    values = list(dict.fromkeys(words.axis(axis, contest.head.get(axis)) for contest in experiment.contests))
    for name in names:
        for contests in experiment.groups.values():
            value = words.axis(axis, contests[0].head.get(axis))
            others = experiment.group_of(contests[0], without=axis)
            panel = ", ".join(filter(None, (experiment.shown(name) if len(names) > 1 else "", others)))
            found = [contest for contest in contests if contest.member(name)]
            if found:
                panels.setdefault(panel, []).append(Line(
                    name, found, label_of(axis, value), style.look_at(values.index(value)), is_own=True))
    return panels


def label_of(axis, value):
    text = value.removeprefix("algorithms ").removeprefix("algorithm ") if axis == "algorithm" else value
    return text or {"algorithm": "the default algorithm", "late": "none late"}.get(axis, "none")


def draw_panel(axes, experiment, lines, scale, value_of, band_of):
    if scale.is_log:
        axes.set_yscale("log")
    axes.set_ylim(*scale.limits)
    places = places_of(experiment, lines)
    at_x = {place: at for at, place in enumerate(places)}
    contests = {}  # with the line of the member that was measured twice
    for at, line in enumerate(lines):
        for contest in line.contests:
            contests.setdefault(contest, (at, at))
            contests[contest] = (contests[contest][0], at)
    for contest, (first, last) in contests.items():  # (only where it was measured)
        if band_of(contest):
            low, high = (min(max(end, scale.limits[0]), scale.limits[1]) for end in band_of(contest))
            aside = ScaledTranslation(((first + last) / 2 - (len(lines) - 1) / 2) * ASIDE, 0, axes.figure.dpi_scale_trans)
            axes.vlines([at_x[experiment.x_of(contest)]], [low], [high], color=style.BAND, zorder=0.5,
                        linewidth=(last - first + 1) * ASIDE * 72, transform=axes.transData + aside)
    for at, line in enumerate(lines):
        line.at = at
        # Side by side, or equal values would hide each other.
        aside = ScaledTranslation((at - (len(lines) - 1) / 2) * ASIDE, 0, axes.figure.dpi_scale_trans)
        draw_line(axes, experiment, line, scale, value_of, axes.transData + aside, at_x)
    if scale.reference:
        axes.axhline(scale.reference[0], **style.REFERENCE)
    if scale.line is not None:
        axes.axhline(scale.line, color=style.MUTED, linewidth=1.4)
    axes.set_xlim(-0.5, len(places) - 0.5)
    is_turned = len(places) >= MANY_PLACES
    axes.set_xticks(range(len(places)), [experiment.x_text(place) for place in places], fontsize=9.5,
                    **({"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if is_turned else {}))
    axes.set_yticks(scale.ticks, [scale.tick_text(tick) for tick in scale.ticks], fontsize=9.5)
    style.minor_ticks(axes.yaxis, scale.is_log)
    axes.grid(axis="y")
    for between in range(1, len(places)):
        axes.axvline(between - 0.5, color=style.GRID, linewidth=0.8, zorder=0.4)


def draw_line(axes, experiment, line, scale, value_of, place_at, at_x):
    name, contests, colour, mark = line.name, line.contests, line.colour, line.mark
    found = []
    for contest in contests:
        member = contest.member(name)
        value = value_of(contest, member) if member else None
        if value is not None:
            found.append((at_x[experiment.x_of(contest)], value, experiment.is_open(contest, member)))
    low, high = scale.limits
    strange = [(x, value) for x, value, _ in found if not experiment.is_defined(value.value)]
    found = [(x, value, is_open) for x, value, is_open in found if experiment.is_defined(value.value)]
    for x, value in strange:
        axes.plot([x], [low if value.value < low else high], marker=style.UNDEFINED, markersize=6, color=colour, clip_on=False,
                  linestyle="none", markeredgewidth=1.4, transform=place_at)
    points = [(x, point) for x, value, _ in found for point in value.points if low <= point <= high]
    style.speckles(axes, [x for x, _ in points], [y for _, y in points], colour, is_log=scale.is_log,
                   transform=place_at)
    for x, value, _ in found:
        for is_beyond, edge, beyond in ((min(value.points) < low, low, "v"), (max(value.points) > high, high, "^")):
            if is_beyond:
                axes.plot([x], [edge], marker=beyond, markersize=4.5, color=colour, alpha=0.6, clip_on=False,
                          markeredgewidth=0, transform=place_at)
    with_interval = [(x, value, is_open) for x, value, is_open in found if value.has_interval]
    for is_thin, width in ((False, style.THICK), (True, style.THIN)):
        shown = [(x, value) for x, value, is_open in with_interval if is_open == is_thin]
        axes.vlines([x for x, _ in shown], [value.low for _, value in shown], [value.high for _, value in shown],
                    color=colour, linewidth=width, transform=place_at)
    for x, value, _ in found:  # (a median beyond the axis, such as 0 on a logarithmic one, is written)
        if not low <= value.value <= high:
            edge, aside = (high, -3 - WRITTEN * line.at) if value.value > high else (low, 3 + WRITTEN * line.at)
            axes.annotate(scale.text(value.value), (x, edge), xytext=(3, aside), textcoords="offset points",
                          va="top" if value.value > high else "bottom", fontsize=8, color=colour,
                          bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.5, "alpha": 0.8})
    axes.plot([x for x, _, _ in found], [min(value.value, high) for _, value, _ in found], color=colour, linestyle=line.style,
              linewidth=1.2, transform=place_at)
    for is_hollow in (False, True):
        shown = [(x, min(value.value, high)) for x, value, is_open in found if is_open == is_hollow]
        axes.plot([x for x, _ in shown], [y for _, y in shown], linestyle="none", color=colour, marker=mark, markersize=6,
                  transform=place_at, **(dict(style.HOLLOW, markeredgecolor=colour) if is_hollow else
                                         {"markeredgecolor": style.PAPER, "markeredgewidth": 0.7}))
    simulated = [(at_x[experiment.x_of(contest)], experiment.simulated_of(contest, name)) for contest in contests]
    simulated = [(x, y) for x, y in simulated if y is not None]
    axes.plot([x for x, _ in simulated], [y for _, y in simulated], color=colour,
              linestyle="--", linewidth=1.4, transform=place_at, **dict(style.SIMULATED, marker=mark))
