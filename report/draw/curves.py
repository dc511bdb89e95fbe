"""Lines over the message size or over the ranks: a panel for each group, a line for each member."""

import textwrap

from matplotlib.transforms import ScaledTranslation

from . import style
from .. import words

ASIDE = 0.08        # inches between members at one size
TITLE_COLUMNS = 54  # of characters over a panel
PANEL = 2.2         # inches
LABELLED = 6        # sizes that have a label


def draw(experiment, title, scale, value_of, band_of):
    """As rows.draw, with the same arguments."""
    names = [name for name in experiment.members if not (scale.line_label and name == experiment.baseline)]
    groups = list(experiment.groups.items())
    titles = [textwrap.wrap(": ".join(filter(None, (group, scale.words("lower", "higher")))), TITLE_COLUMNS)
              for group, _ in groups]
    entries = style.entries_of(experiment, names)
    if scale.line_label:
        entries.insert(0, style.Line2D([], [], color=style.MUTED, linewidth=1.4, label=scale.line_label))
    if len(experiment.undisturbed) < len(experiment.contests):
        entries.append(style.hollow("hollow: disturbed"))
    height = sum(PANEL + style.LINE * len(lines) for lines in titles)
    figure = style.new_figure(experiment, 0.4 + height, title, entries)
    panels = figure.subplots(len(groups), 1, squeeze=False)[:, 0]
    for axes, (_, contests), lines in zip(panels, groups, titles):
        draw_panel(axes, experiment, names, contests, scale, value_of, band_of)
        axes.set_title("\n".join(lines), loc="left", fontsize=10.5, weight="bold", x=-0.14)
    panels[-1].set_xlabel("number of ranks (log scale)" if experiment.is_over_ranks else
                          "message size of the operation (log scale)")
    return figure


def draw_panel(axes, experiment, names, contests, scale, value_of, band_of):
    axes.set_xscale("log", base=2)
    if scale.is_log:
        axes.set_yscale("log")
    axes.set_ylim(*scale.limits)
    width = max(len(names), 1) * ASIDE * 72 + 4  # points
    for contest in contests:  # (only where it was measured)
        if band_of(contest):
            low, high = (min(max(end, scale.limits[0]), scale.limits[1]) for end in band_of(contest))
            axes.vlines([experiment.x_of(contest)], [low], [high], color=style.BAND, linewidth=width, zorder=0.5)
    for at, name in enumerate(names):
        # Side by side, or equal values would hide each other.
        aside = ScaledTranslation((at - (len(names) - 1) / 2) * ASIDE, 0, axes.figure.dpi_scale_trans)
        draw_member(axes, experiment, name, contests, scale, value_of, axes.transData + aside)
    if scale.line is not None:
        axes.axhline(scale.line, color=style.MUTED, linewidth=1.4)
    places = sorted({experiment.x_of(contest) for contest in contests})
    axes.set_xlim(places[0] / 1.4, places[-1] * 1.4)
    chosen = places if len(places) <= LABELLED else places[::-(len(places) // (LABELLED - 1))][::-1]
    axes.set_xticks(chosen, [str(place) if experiment.is_over_ranks else words.size(place) for place in chosen])
    axes.xaxis.set_minor_locator(style.FixedLocator([place for place in places if place not in chosen]))
    axes.xaxis.set_minor_formatter(style.NullFormatter())
    axes.set_yticks(scale.ticks, [scale.tick_text(tick) for tick in scale.ticks])
    style.minor_ticks(axes.yaxis, scale.is_log)
    axes.grid()


def draw_member(axes, experiment, name, contests, scale, value_of, place_at):
    colour, mark = style.look(experiment, name)
    found = []
    for contest in contests:
        value = next((value_of(contest, member) for member in contest.members if member.name == name), None)
        if value is not None:
            found.append((experiment.x_of(contest), value, contest))
    low, high = scale.limits
    points = [(x, point) for x, value, _ in found for point in value.points if low <= point <= high]
    style.speckles(axes, [x for x, _ in points], [y for _, y in points], colour, is_log=scale.is_log,
                   transform=place_at)
    for x, value, _ in found:
        for is_beyond, edge, beyond in ((min(value.points) < low, low, "v"), (max(value.points) > high, high, "^")):
            if is_beyond:
                axes.plot([x], [edge], marker=beyond, markersize=4.5, color=colour, alpha=0.6, clip_on=False,
                          markeredgewidth=0, transform=place_at)
    with_interval = [(x, value) for x, value, _ in found if value.has_interval]
    axes.vlines([x for x, _ in with_interval], [value.low for _, value in with_interval],
                [value.high for _, value in with_interval], color=colour, linewidth=2.4, transform=place_at)
    axes.plot([x for x, _, _ in found], [value.value for _, value, _ in found], color=colour, marker=mark,
              markersize=6, transform=place_at, markeredgecolor=style.PAPER, markeredgewidth=0.7)
    disturbed = [(x, value.value) for x, value, contest in found if contest.disturbed]
    axes.plot([x for x, _ in disturbed], [y for _, y in disturbed], color=style.PAPER, linestyle="none", marker=mark,
              markersize=3, transform=place_at)
    simulated = [(experiment.x_of(contest), experiment.simulated_of(contest, name)) for contest in contests]
    simulated = [(x, y) for x, y in simulated if y is not None]
    axes.plot([x for x, _ in simulated], [y for _, y in simulated], color=colour, marker=mark, markersize=6.5,
              linestyle="--", linewidth=1.4, markerfacecolor=style.PAPER, markeredgewidth=1.4, transform=place_at)
