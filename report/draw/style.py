"""Colours, sizes and the parts that all drawings have.

The page is light or dark, the SVG is the same: page.py replaces these colours by variables of the style sheet."""

import textwrap

import matplotlib

matplotlib.use("Agg")
from matplotlib import figure as figures  # noqa: E402  (after the choice of Agg)
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch, PathPatch  # noqa: E402
from matplotlib.path import Path  # noqa: E402
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator  # noqa: E402

from .. import words  # noqa: E402

PAPER, INK, MUTED, GRID, BAND = "#fdfdfe", "#1b1b1d", "#5a5a5e", "#dcdce0", "#c6c6cc"
# Okabe and Ito's, which colour-blind people tell apart.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# Four more, whose lines are dash-dotted: no two series of a figure differ in the mark only.
SERIES += ("#5b3fa0", "#8a4b1f", "#7d8a12", "#3f4a54")
SOLID, DASH_DOTTED = "-", (0, (6, 1.5, 1.2, 1.5))
PLAIN_SERIES = 6  # with solid lines

WIDTH = 5.4         # inches; the page shows 72 units an inch
TEXT_COLUMNS = 64   # characters of small text over a drawing
TITLE_COLUMNS = 52  # of the answer
TITLE_LINES = 6
LINE = 0.2          # inches of a line over a drawing
LEGEND_COLUMNS = 56
NOTE_COLUMNS = 76   # characters of the notes under it
NOTE_LINE = 0.165

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "weft", "text.parse_math": False, "font.family": "DejaVu Sans",
    "font.size": 11, "text.color": INK, "axes.labelcolor": INK,
    "axes.edgecolor": MUTED, "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False,
    "axes.spines.right": False, "axes.facecolor": "none", "savefig.facecolor": "none", "path.simplify": False,
    "axes.axisbelow": True, "grid.color": GRID, "grid.linewidth": 0.8, "lines.linewidth": 1.6})


# Colour and mark of each engine or method, the same in every figure. Members that often stand beside each other differ in colour.
LOOKS = {"manual": (0, "o"), "thread": (1, "s"), "kernel": (2, "^"), "auto": (3, "D"), "kernel:own": (4, "v"),
         "fiber": (5, "P"), "fiber:timer": (8, "X"), "fiber:arrival": (9, "<"), "by hand": (7, "p"), "mpi": (6, "h"),
         "persistent": (4, ">")}
OTHER_MARKS = ("d", "8", "H", (5, 0, 180), (3, 0, 90))  # of members (and lines) that have no look of their own


def method_of(experiment, name):
    """Whose look it has; "": one that is left. (An MPI's member may have the name of the MPI.)"""
    if name in LOOKS:
        return name
    if name.endswith(" persistent"):
        return "persistent"
    is_mpi = any(member.name == name and member.head.get("implementation") == "mpi" and
                 member.head.get("call") in (None, "nonblocking")
                 for contest in experiment.contests for member in contest.members)
    return "mpi" if is_mpi else ""


def look(experiment, name):
    """Colour and mark of a member; others than those of LOOKS take the colours that are left."""
    method = method_of(experiment, name)
    if method:
        at, mark = LOOKS[method]
        return SERIES[at], mark
    methods = {member: method_of(experiment, member) for member in experiment.members}
    used = {LOOKS[method][0] for method in methods.values() if method}
    free = [at for at in range(len(SERIES)) if at not in used] or list(range(len(SERIES)))
    others = [member for member, method in methods.items() if not method]
    at = others.index(name)
    return SERIES[free[at % len(free)]], OTHER_MARKS[at % len(OTHER_MARKS)]


def line_of(colour):
    """The line of a series of this colour."""
    return SOLID if SERIES.index(colour) < PLAIN_SERIES else DASH_DOTTED


def look_at(at):
    return SERIES[at % len(SERIES)], OTHER_MARKS[at % len(OTHER_MARKS)]


class Texts:
    """What stands over and under a drawing: the question and its answer (of a drawing that is alone), and notes. A drawing that
    is alone has its panels in columns, the page has one, for phones."""

    def __init__(self, question="", answer="", notes=(), is_alone=False):
        self.question = question
        self.answer = answer
        self.notes = notes
        self.is_alone = is_alone

    def panel_columns(self, columns):
        """How many characters of a panel's title have room."""
        return PANEL_COLUMNS[columns] if self.is_alone else PANEL_COLUMNS[0]

    def columns(self, panels):
        return min(COLUMNS_MAX, panels) if self.is_alone else 1


COLUMNS_MAX = 3
PANEL_COLUMNS = {0: 46, 1: 66, 2: 46, 3: 38}  # characters of a panel's title: on the page, and by columns
WIDTHS = {1: 7.6, 2: 10.4, 3: 13.8}  # inches of a drawing that is alone, by its columns


def in_grid(heights, columns):
    """The heights of a grid's rows, of panels in their order."""
    return [max(heights[at:at + columns]) for at in range(0, len(heights), columns)]


def grid(figure, heights, columns):
    """Axes in a grid, one for each panel."""
    rows = in_grid(heights, columns)
    spec = figure.add_gridspec(len(rows), columns, height_ratios=rows)
    return [figure.add_subplot(spec[at // columns, at % columns]) for at in range(len(heights))]


def new_figure(experiment, height, texts, entries, columns=1):
    """Room for drawings of this height, between the texts, conditions and the legend's entries, and the notes."""
    width = WIDTHS[columns] if texts.is_alone else WIDTH
    wider = width / WIDTH

    def lines_of(text, characters, **options):
        return textwrap.wrap(text, int(characters * wider), **options)
    question = lines_of(texts.question, TEXT_COLUMNS)
    answer = lines_of(texts.answer, TITLE_COLUMNS, max_lines=TITLE_LINES, placeholder=".")
    is_model = experiment.role == "model"
    conditions = [] if is_model else lines_of(experiment.conditions(), TEXT_COLUMNS)
    crowding = [] if is_model else lines_of(experiment.crowding, TEXT_COLUMNS)
    beside = 2 if texts.is_alone and columns > 1 else 1  # entries in a line of the legend
    for handle in entries:
        handle.set_label("\n".join(lines_of(handle.get_label(), LEGEND_COLUMNS / beside)))
    by_line = -(-len(entries) // beside)  # (down the columns, in order)
    legend = [entries[at * by_line:(at + 1) * by_line] for at in range(beside)] if entries else []
    heights = [max(column[at].get_label().count("\n") + 1 for column in legend if at < len(column)) for at in range(by_line)]
    notes = [line for note in texts.notes for line in lines_of(note, NOTE_COLUMNS * (1.12 if columns > 1 else 1), subsequent_indent="   ")]
    head = LINE * (len(question) + 1.25 * len(answer) + len(crowding) + len(conditions) + 1.05 * sum(heights)) + 0.12
    foot = NOTE_LINE * len(notes) + 0.08
    whole = head + height + foot
    figure = figures.Figure(figsize=(width, whole), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.05, h_pad=0.04, rect=(0, foot / whole, 1, height / whole))
    from_top = 0.05
    for lines, pitch, options in ((question, LINE, {"fontsize": 10, "color": MUTED}),
                                  (answer, 1.25 * LINE, {"fontsize": 12, "weight": "bold"}),
                                  (crowding, LINE, {"fontsize": 9.5, "weight": "bold"}),
                                  (conditions, LINE, {"fontsize": 9.5, "color": MUTED})):
        for line in lines:
            figure.text(0.01, 1 - from_top / whole, line, va="top", **options)
            from_top += pitch
    for at, line in enumerate(notes):
        figure.text(0.01, (foot - NOTE_LINE * at) / whole, line, va="top", fontsize=8.5, color=INK if texts.is_alone else MUTED)
    for at, lines in enumerate(heights):  # (a legend of its own each: its lines keep their places)
        for place, column in enumerate(legend):
            if at < len(column):
                figure.legend(handles=[column[at]], loc="upper left", bbox_to_anchor=(place / beside + 0.006, 1 - from_top / whole),
                              frameon=False, borderpad=0.2, borderaxespad=0, handletextpad=0.6, fontsize=10.5)
        from_top += 1.05 * LINE * lines
    return figure


def entries_of(experiment, names, has_points=True):
    """The legend: members, single repetitions, and the A/A band; of bars the members only."""
    entries = []
    for name in names:
        colour, mark = look(experiment, name)
        entries.append(Line2D([], [], color=colour, marker=mark, markersize=6.5, linewidth=2,
                              linestyle=line_of(colour), label=experiment.explained(name)))
    if not has_points:
        return entries + ([simulated_entry()] if experiment.simulated else [])
    drawn = [(contest, member) for contest in experiment.contests for member in contest.members if member.name in names]
    if any(experiment.is_open(contest, member) for contest, member in drawn):
        entries.append(Line2D([], [], color=MUTED, marker="o", markersize=6.5, linewidth=1, **dict(HOLLOW),
                              label="hollow mark: " + open_words(experiment)))
    if not all(contest.is_defined(member) for contest, member in drawn):
        entries.append(Line2D([], [], color=MUTED, marker=UNDEFINED if experiment.is_curve else "", markersize=6.5, linestyle="none",
                              label="%snot defined here: no share (%s)" % ("+ at an edge: " * experiment.is_curve, experiment.undefined)))
    entries.append(Line2D([], [], color=MUTED, alpha=0.6, marker=".", markersize=3.5, linestyle="none",
                          label="single repetitions (triangle: beyond the edge)"))
    entries.append(Line2D([], [], color=MUTED, linewidth=3, label="bars: 95 % intervals of the medians"))
    twice = list(dict.fromkeys(contest.twin().name for contest in experiment.contests
                               if contest.aa is not None and contest.aa.has_interval))
    if twice:
        entries.append(Patch(color=BAND, label="grey: by how much %s differed when measured twice" %
                             words.listing(map(experiment.shown, twice))))
    if experiment.simulated:
        entries.append(simulated_entry())
    return entries


SIMULATED = {"marker": "o", "markersize": 6.5, "markeredgecolor": INK, "markeredgewidth": 1.2}
HOLLOW = {"markerfacecolor": PAPER, "markeredgewidth": 1.4}  # marks of what is disturbed
THIN, THICK = 1, 2.4  # intervals of what is disturbed, and of the rest
UNDEFINED = "+"
HATCH = "////"        # of bars that are disturbed


def hatched(experiment):
    return Patch(facecolor=MUTED, edgecolor=PAPER, hatch=HATCH, label="hatched: " + open_words(experiment))


def open_words(experiment):
    return "the same measured twice differed much" if len(experiment.members) == 1 and not experiment.asked else \
        "no difference from %s is decided" % experiment.compared_with


REFERENCE = {"color": INK, "linewidth": 1.4, "linestyle": ":"}


def reference_entry(label):
    return Line2D([], [], label=label, **REFERENCE)


def simulated_entry():
    return Line2D([], [], color=MUTED, linestyle="--", linewidth=1.4, label="simulated, not measured (edged, dashed)", **SIMULATED)


def minor_ticks(axis, is_log):
    """Between powers of ten 2 to 9: a logarithmic axis looks like one."""
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(LogLocator(subs=range(2, 10)) if is_log else NullLocator())


def speckles(axes, xs, ys, colour, is_log, transform=None):
    """Single repetitions, as one path: a page has thousands."""
    if not xs:
        return
    vertices, codes = [], []
    for x, y in zip(xs, ys):  # (lines without length are not drawn everywhere)
        vertices += [(x, y), (x, y + 4e-3 * (abs(y) if is_log else 1))]
        codes += [Path.MOVETO, Path.LINETO]
    axes.add_patch(PathPatch(Path(vertices, codes), facecolor="none", edgecolor=colour, alpha=0.3, linewidth=2.4,
                             capstyle="round", snap=False, transform=transform or axes.transData))
