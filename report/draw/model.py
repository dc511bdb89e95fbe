"""What was simulated where nothing was measured, such as at a paper's numbers of ranks: a figure of its own."""

import textwrap

from matplotlib.transforms import ScaledTranslation

from . import scales, style
from .. import words

PANEL = 2.2        # inches, without the legend
LEGEND_LINE = 0.19
TO_LEGEND = 0.5    # from the axis down to the legend
HOW = "Simulated, not measured."
TITLE_COLUMNS = 50
MEMBER_COLUMNS = 60
# Of a metric: what it is, whether its axis is logarithmic, and which end is better.
METRICS = {
    "hidden": ("share of the operation that is hidden, in %", False, "higher"),
    "overlap": ("share of the operation that is hidden, in %", False, "higher"),
    "ratio": ("time / time of the baseline", True, "lower"),
    "cpu_us": ("CPU time of the busiest rank", True, "lower"),
    "cpu_share": ("CPU time of the busiest rank / time, in %", False, "lower"),
    "idle_us": ("time in which the busiest rank's CPU is idle", True, ""),
    "total_us": ("time of operation and computation together", True, "lower"),
    "overhead_us": ("overhead: what a computation of the same length loses", True, "lower"),
}
OTHER = ("time of the operation", True, "lower")


class Panel:
    """Points of one metric and collective, over the size or over the ranks."""

    def __init__(self, metric, collective, lines):
        self.what, self.is_log, self.better = METRICS.get(metric, OTHER)
        self.is_time = metric.endswith("_us")
        self.is_over_ranks = len({line["ranks"] for line in lines}) > len({line["bytes"] for line in lines})
        self.by_member = {}
        for line in lines:
            self.by_member.setdefault(line["member"], {})[self.x_of(line)] = line["value"]
        first = lines[0]
        sizes = "" if not self.is_over_ranks else words.size(first["bytes"]) if first["bytes"] else ""
        place = "" if self.is_over_ranks else place_of(first)
        self.full_title = "%s: %s (%s)" % (
            ", ".join(filter(None, (collective, sizes, place))), self.what, "; ".join(filter(None, (
                "log scale" if self.is_log else "", self.better and self.better + " is better"))))
        self.set_columns(TITLE_COLUMNS)

    def set_columns(self, characters):
        self.title = textwrap.wrap(self.full_title, characters)
        self.labels = {name: "\n".join(textwrap.wrap(name, characters * MEMBER_COLUMNS // TITLE_COLUMNS)) for name in self.by_member}

    def x_of(self, line):
        return line["ranks"] if self.is_over_ranks else max(line["bytes"], 1)

    def place_text(self, place):
        return "with %d ranks" % place if self.is_over_ranks else "at " + words.size(place)

    def text(self, value):
        return words.time(value) if self.is_time else "%g%s" % (value, " %" if "%" in self.what else "")

    @property
    def height(self):
        lines = sum(label.count("\n") + 1 for label in self.labels.values())
        return PANEL + style.LINE * (len(self.title) - 1 + self.tick_lines - 1) + LEGEND_LINE * lines

    @property
    def places(self):
        return sorted({place for points in self.by_member.values() for place in points})

    @property
    def tick_lines(self):
        return max(scales.in_lines(self.places)) + 1

    def draw(self, axes):
        values = [value for points in self.by_member.values() for value in points.values()]
        places = self.places
        axes.set_xscale("log", base=2)
        if self.is_log:
            axes.set_yscale("log")
            limits = scales.limits((min(values), max(values)), values)
            ticks = scales.ticks(*limits)
        else:
            limits = (min(-5, min(values) - 5), max(105, max(values) + 5))
            ticks = [tick for tick in range(-100, 201, 25) if limits[0] <= tick <= limits[1]]
        axes.set_ylim(*limits)
        for at, (name, points) in enumerate(self.by_member.items()):
            colour, mark = style.look_at(at)
            axes.plot(sorted(points), [points[place] for place in sorted(points)], color=colour, linestyle="--", linewidth=1.4,
                      label=self.labels[name], **dict(style.SIMULATED, marker=mark))
        axes.set_xlim(places[0] / 1.4, places[-1] * 1.4)
        axes.set_xticks(places, ["\n" * line + (str(place) if self.is_over_ranks else words.size(place))
                                 for place, line in zip(places, scales.in_lines(places))])
        axes.xaxis.set_minor_locator(style.NullLocator())
        axes.set_yticks(ticks, [self.text(tick) for tick in ticks])
        style.minor_ticks(axes.yaxis, self.is_log)
        axes.grid()
        axes.set_title("\n".join(self.title), loc="left", fontsize=10.5, weight="bold")
        axes.set_xlabel("number of ranks (log scale)" if self.is_over_ranks else
                        "message size of the operation (log scale)")
        below = axes.transAxes + ScaledTranslation(0, -TO_LEGEND - style.LINE * (self.tick_lines - 1), axes.figure.dpi_scale_trans)
        axes.legend(loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, frameon=False, borderpad=0,
                    borderaxespad=0, fontsize=9.5)


def place_of(line):
    nodes = line.get("nodes") or 0
    return words.axis("ranks", line["ranks"]) + (" on %d nodes" % nodes if nodes else "")


def by_collective(lines):
    """Where a metric has one member, the collectives are the lines of its panel."""
    members, collectives = ({metric: {line[key] for line in lines if line["metric"] == metric}
                             for metric in {line["metric"] for line in lines}} for key in ("member", "collective"))
    return [dict(line, member=line["collective"], collective="")
            if len(members[line["metric"]]) == 1 < len(collectives[line["metric"]]) else line for line in lines]


def panels_of(experiment):
    """Of one collective and metric; of several places (or sizes) a panel each, unless lines go over these."""
    together = {}
    for line in by_collective(experiment.simulated_alone):
        together.setdefault((line["metric"], line["collective"]), []).append(line)
    found = []
    for (metric, collective), lines in together.items():
        is_over_ranks = Panel(metric, collective, lines).is_over_ranks
        apart = {}
        for line in lines:
            apart.setdefault(line["bytes"] if is_over_ranks else (line["ranks"], line.get("nodes") or 0), []).append(line)
        found += [Panel(metric, collective, some) for some in apart.values()]
    return found


def draw(experiment, title):
    panels = panels_of(experiment)
    columns = title.columns(len(panels))
    for panel in panels:
        panel.set_columns(title.panel_columns(columns))
    heights = [panel.height for panel in panels]
    figure = style.new_figure(experiment, sum(style.in_grid(heights, columns)), title, [], columns)
    for panel, axes in zip(panels, style.grid(figure, heights, columns)):
        panel.draw(axes)
    return figure


def headline(experiment):
    found = [claim for claim in experiment.claims if claim.is_simulated]
    verdicts = ", ".join("%s %s" % (claim.letter, claim.data["verdict"].upper()) for claim in found)
    panel = panels_of(experiment)[0]
    ends = []
    for place in dict.fromkeys((panel.places[0], panel.places[-1])):
        values = sorted((points[place], name) for name, points in panel.by_member.items() if place in points)
        ends.append("%s (%s)%s %s" % (panel.text(round(values[0][0], 1)), values[0][1], " to %s (%s)" % (
            panel.text(round(values[-1][0], 1)), values[-1][1]) if len(values) > 1 else "", panel.place_text(place)))
    return "Simulated, not measured: " + (verdicts if verdicts else "; ".join(ends)) + "."


def notes(experiment):
    found = []
    for claim in experiment.claims:
        if claim.is_simulated:
            found += ["%s  %s" % (claim.letter, claim.says), "   " + claim.model()] + ["   " + claim.cause] * bool(claim.cause)
    found.append("simulated: by a model (LogGP) with parameters that are mostly assumed; its commands are in docs/papers.md")
    if any("k = " in line["member"] for line in experiment.simulated_alone):
        found.append("k: how many messages a rank sends at a time (ports)")
    return found
