"""A member's values in a headline: for the sizes apart where these disagree, so that no mean hides it."""

import statistics

from .. import words

RUNS = 3       # of sizes that are told apart; of more, the ends are said
POINTS = 20    # of "hidden", in %: values that are nearer agree
FACTOR = 1.5   # of times and ratios


def points_agree(least, most):
    return most - least <= POINTS


def times_agree(least, most):
    return most <= FACTOR * least


def text(experiment, found, agree, between):
    """ "86 to 93 % at 64 KiB, 10 to 35 % at 1 MiB". found: values with their contests; agree(least, most): whether
    sizes with these medians are said together; between(least, most): both in words."""
    by_place = {}
    for contest, value in found:
        by_place.setdefault(experiment.x_of(contest), []).append(value)
    middles = {place: statistics.median(by_place[place]) for place in sorted(by_place)}

    def said(places):
        values = [value for place in places for value in by_place[place]]
        return between(min(values), max(values))

    known = list(middles)
    if experiment.is_brief:
        return said(middles)
    runs = []  # of neighbouring sizes that agree
    for place, middle in middles.items():
        together = [middles[other] for other in runs[-1]] + [middle] if runs else []
        if together and agree(min(together), max(together)):
            runs[-1].append(place)
        else:
            runs.append([place])
    if len(runs) == 1:
        return said(middles)
    if len(runs) <= RUNS:
        return ", ".join("%s %s" % (said(run), where(experiment, run, known)) for run in runs)
    first, *_, last = middles
    order = list(middles.values())
    if order not in (sorted(order), sorted(order, reverse=True)):
        return "%s, depending on the %s" % (said(middles), "number of ranks" if experiment.is_over_ranks else "size")
    return "%s %s, %s to %s %s" % (said([first]), where(experiment, [first], known), "up" if order[0] < order[-1] else "down",
                                   said([last]), where(experiment, [last], known))


def where(experiment, places, known):
    """These of the known sizes (or numbers of ranks)."""
    if experiment.is_over_ranks:
        return "with %s ranks" % words.span(places)
    sizes, known = ([place for place in some if place] for some in (places, known))
    parts = []
    if len(sizes) > 1 and sizes[-1] == known[-1] and sizes[0] != known[0]:
        parts = ["from " + words.size(sizes[0])]
    elif len(sizes) > 1 and sizes[0] == known[0] and sizes[-1] != known[-1]:
        parts = ["up to " + words.size(sizes[-1])]
    elif sizes:
        parts = ["at " + words.between(sizes[0], sizes[-1], words.size)]
    return " and ".join(parts + ["in the barrier"] * (0 in places))
