"""The table under a figure: a row for each contest and member, as text."""

from . import stats, words


def interval(value, text):
    return "%s to %s" % (text(value.low), text(value.high)) if value.has_interval else "too few repetitions"


def cells_of(value, text):
    return [text(value.value), interval(value, text)] if value is not None else ["", ""]


def ratio_text(value):
    return "%.2f" % value


def times_of(experiment):
    """The columns of times that the table has, with their headings."""
    if experiment.says == "hidden":
        return [("blocking", "operation alone"), ("total", "with computation")]
    if experiment.parts:
        return [(column, column) for column in experiment.parts]
    column = experiment.contests[0].column()
    total = "with computation" if experiment.contests[0].baseline.computes() else "operation"
    return [(column, {"blocking": "operation", "total": total, "cpu": "CPU time",
                      "start": "start", "delivery": "delivery"}.get(column, column))]


def heading(experiment):
    first = ["what", "who"]
    if experiment.says == "hidden":
        first += ["hidden", "95 % interval"]
    for _, name in times_of(experiment):
        first += [name, "95 % interval"]
    return first + ["/ " + experiment.baseline, "95 % interval", "remarks"]


def lines(experiment):
    """Lists of texts, as long as the heading."""
    found = []
    for group, contests in experiment.groups.items():
        for contest in contests:
            what = ", ".join(filter(None, (group or contest.head["collective"],
                                           words.size(contest.bytes) if contest.bytes else "")))
            for member in contest.members + ([contest.again] if contest.again else []):
                found.append(line(experiment, contest, member, what))
                what = ""
    return found


def line(experiment, contest, member, what):
    cells = [what, member.name]
    if experiment.says == "hidden":
        cells += cells_of(contest.hidden(member), words.percent)
    for column, _ in times_of(experiment):
        cells += cells_of(member.estimate(column), experiment.text)
    if member is contest.baseline:
        cells += ["1", ""]
    elif member is contest.again:
        cells += cells_of(contest.aa, ratio_text)
    else:
        cells += cells_of(contest.ratio(member), ratio_text)
    return cells + [remark(experiment, contest, member)]


def remark(experiment, contest, member):
    found = []
    if member is contest.again:
        found.append("%s once more (A/A)" % contest.twin().name)
        if contest.aa is not None and stats.disturbance(contest.aa):
            found.append("disturbed: " + stats.disturbance(contest.aa))
    else:
        disturbance = contest.disturbance(member)
        if disturbance and not stats.disturbance(contest.aa):
            found.append("disturbed: " + disturbance)
    return "; ".join(found)


def markdown(experiment):
    """For docs/results/."""
    head = heading(experiment)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in
                     [head, ["---"] * len(head)] + lines(experiment)) + "\n"
