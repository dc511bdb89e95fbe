"""Lines over the message size or over the ranks: a panel for each group, a line for each member."""

import textwrap

from matplotlib.transforms import ScaledTranslation

from . import model, style
from .. import words
from .scales import in_lines

WRITTEN = 9         # points between values that are written at an edge
ASIDE = 0.08        # inches between members at one size
TITLE_COLUMNS = 46  # of characters over a panel
PANEL = 2.2         # inches


def draw(experiment, title, scale, value_of, band_of):
    """As rows.draw, with the same arguments."""
    names = names_of(experiment)
    panels = panels_of(experiment, names)
    titles = [textwrap.wrap(": ".join(filter(None, (group, scale.words("lower", "higher")))), TITLE_COLUMNS)
              for group in panels]
    entries = style.entries_of(experiment, names)
    if is_by_collective(experiment, names):  # each line has a colour of its own, not the member
        entries[:1] = [style.Line2D([], [], color=line.colour, marker=line.mark, markersize=6.5, linewidth=2,
                                    linestyle=style.line_of(line.colour), label="%s, %s" % (names[0], line.label)) for line in next(iter(panels.values()))]
    for line in {line.label: line for lines in panels.values() for line in lines
                 if line.label not in names and not is_by_collective(experiment, names)}.values():
        entries.insert(len(names), style.Line2D([], [], color=line.colour, marker=line.mark, markersize=6.5, linewidth=2,
                                                linestyle=line.style, label=line.label + ": so many messages at a time"))
    if scale.line_label:
        entries.insert(0, style.Line2D([], [], color=style.MUTED, linewidth=1.4, label=scale.line_label))
    if scale.reference:
        entries.append(style.reference_entry(scale.reference[1]))
    height = sum(PANEL + style.LINE * (len(lines) + label_lines(experiment, found) - 1)
                 for lines, found in zip(titles, panels.values()))
    figure = style.new_figure(experiment, 0.4 + height + model.height(experiment), title, entries)
    all_axes = model.axes_over(figure, experiment, 0.4 + height, len(panels))
    for axes, lines, texts in zip(all_axes, panels.values(), titles):
        draw_panel(axes, experiment, lines, scale, value_of, band_of)
        axes.set_title("\n".join(texts), loc="left", fontsize=10.5, weight="bold")
    all_axes[-1].set_xlabel("number of ranks (log scale)" if experiment.is_over_ranks else
                          "message size of the operation (log scale)")
    return figure


def label_lines(experiment, lines):
    return max(in_lines(places_of(experiment, lines))) + 1


def places_of(experiment, lines):
    return sorted({experiment.x_of(contest) for line in lines for contest in line.contests})


class Line:
    """A member in contests that differ along the axis only."""

    def __init__(self, name, contests, label, look):
        self.name = name
        self.contests = contests
        self.label = label
        self.colour, self.mark = look
        self.at = 0  # among those of its panel
        self.style = style.line_of(self.colour)


def is_by_collective(experiment, names):
    """Whether a panel is an MPI, and its lines are collectives: one member is compared with several MPIs."""
    return len(names) == 1 and {"mpi", "collective"} == set(experiment.axes)


def names_of(experiment):
    """The members that have a line: of ratios, all but the one with which the others are compared."""
    return [name for name in experiment.members if not (experiment.says == "ratio" and name == experiment.baseline)] or experiment.members


def line_of_ports(experiment, name, contests, ports):
    """A member's line. Of what differs in its ports only, the lines are in one panel, in colours of their own."""
    if not ports:
        return Line(name, contests, name, style.look(experiment, name))
    every = list(dict.fromkeys(found.group(1) for found in (words.PORTS.search(contest.head.get("algorithm") or "")
                                                            for contest in experiment.contests) if found))
    at = every.index(ports) * len(experiment.members) + experiment.members.index(name)
    return Line(name, contests, "%s, %s ports" % (name, ports), style.spare(experiment, at))


def panels_of(experiment, names):
    """Lines by the title of their panel."""
    panels = {}
    if not is_by_collective(experiment, names):
        for group, contests in experiment.groups.items():
            ports = words.PORTS.search(contests[0].head.get("algorithm") or "")
            panels.setdefault(words.PORTS.sub("", group), []).extend(
                line_of_ports(experiment, name, contests, ports and ports.group(1)) for name in names)
        return panels
    collectives = list(dict.fromkeys(contest.head["collective"] for contest in experiment.contests))
    for contests in experiment.groups.values():
        collective = contests[0].head["collective"]
        panels.setdefault(contests[0].head["mpi"], []).append(
            Line(names[0], contests, collective, style.look_at(collectives.index(collective))))
    return panels


def draw_panel(axes, experiment, lines, scale, value_of, band_of):
    axes.set_xscale("log", base=2)
    if scale.is_log:
        axes.set_yscale("log")
    axes.set_ylim(*scale.limits)
    width = max(len(lines), 1) * ASIDE * 72 + 4  # points
    contests = list(dict.fromkeys(contest for line in lines for contest in line.contests))
    for contest in contests:  # (only where it was measured)
        if band_of(contest):
            low, high = (min(max(end, scale.limits[0]), scale.limits[1]) for end in band_of(contest))
            axes.vlines([experiment.x_of(contest)], [low], [high], color=style.BAND, linewidth=width, zorder=0.5)
    for at, line in enumerate(lines):
        line.at = at
        # Side by side, or equal values would hide each other.
        aside = ScaledTranslation((at - (len(lines) - 1) / 2) * ASIDE, 0, axes.figure.dpi_scale_trans)
        draw_line(axes, experiment, line, scale, value_of, axes.transData + aside)
    if scale.reference:
        axes.axhline(scale.reference[0], **style.REFERENCE)
    if scale.line is not None:
        axes.axhline(scale.line, color=style.MUTED, linewidth=1.4)
    places = places_of(experiment, lines)
    margin = max(1.4, (places[-1] / places[0]) ** (len(lines) * ASIDE / 6))  # for lines side by side
    axes.set_xlim(places[0] / margin, places[-1] * margin)
    axes.set_xticks(places, ["\n" * line + (str(place) if experiment.is_over_ranks else words.size(place))
                             for place, line in zip(places, in_lines(places))])
    axes.xaxis.set_minor_locator(style.NullLocator())
    axes.set_yticks(scale.ticks, [scale.tick_text(tick) for tick in scale.ticks])
    style.minor_ticks(axes.yaxis, scale.is_log)
    axes.grid()


def draw_line(axes, experiment, line, scale, value_of, place_at):
    name, contests, colour, mark = line.name, line.contests, line.colour, line.mark
    found = []
    for contest in contests:
        value = next((value_of(contest, member) for member in contest.members if member.name == name), None)
        if value is not None:
            found.append((experiment.x_of(contest), value, contest))
    low, high = scale.limits
    strange = [(x, value) for x, value, _ in found if not experiment.is_defined(value.value)]
    found = [(x, value, contest) for x, value, contest in found if experiment.is_defined(value.value)]
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
    with_interval = [(x, value, bool(contest.disturbed)) for x, value, contest in found if value.has_interval]
    for is_thin, width in ((False, style.THICK), (True, style.THIN)):
        shown = [(x, value) for x, value, is_disturbed in with_interval if is_disturbed == is_thin]
        axes.vlines([x for x, _ in shown], [value.low for _, value in shown], [value.high for _, value in shown],
                    color=colour, linewidth=width, transform=place_at)
    for x, value, _ in found:  # (a median beyond the axis, such as 0 on a logarithmic one, is written)
        if not low <= value.value <= high:
            edge, aside = (high, -3) if value.value > high else (low, 3 + WRITTEN * line.at)
            axes.annotate(scale.text(value.value), (x, edge), xytext=(3, aside), textcoords="offset points",
                          va="top" if value.value > high else "bottom", fontsize=8, color=colour)
    axes.plot([x for x, _, _ in found], [min(value.value, high) for _, value, _ in found], color=colour, marker=mark,
              markersize=6, linestyle=line.style, transform=place_at, markeredgecolor=style.PAPER, markeredgewidth=0.7)
    disturbed = [(x, value.value) for x, value, contest in found if contest.disturbed]
    axes.plot([x for x, _ in disturbed], [min(y, high) for _, y in disturbed], transform=place_at, **style.CROSS)
    simulated = [(experiment.x_of(contest), experiment.simulated_of(contest, name)) for contest in contests]
    simulated = [(x, y) for x, y in simulated if y is not None]
    axes.plot([x for x, _ in simulated], [y for _, y in simulated], color=colour,
              linestyle="--", linewidth=1.4, transform=place_at, **dict(style.SIMULATED, marker=mark))
