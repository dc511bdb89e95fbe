"""A member's values in a headline: for the sizes apart where these disagree, so that no mean hides it."""

import statistics

from . import along

FULL, ENDS, BARE_ENDS, RANGE = range(4)  # how much a headline tells apart along its axis
RUNS = 3       # of sizes that are told apart; of more, the ends are said
POINTS = 20    # of "hidden", in %: values that are nearer agree
FACTOR = 1.5   # of times and ratios
NEAR = 1.15    # ... of those that a question tells apart


def points_agree(least, most):
    return most - least <= POINTS


def times_agree(least, most):
    return most <= FACTOR * least


def near(agree):
    """The same, stricter with times: for places, links and MPIs, and for axes other than that of sizes."""
    return (lambda least, most: most <= NEAR * least) if agree is times_agree else agree


def text(experiment, found, agree, between, has_mpis=True, has_ends=False):
    """ "86 to 93 % at 64 KiB, 10 to 35 % at 1 MiB". found: values with their contests; agree(least, most): whether
    sizes with these medians are said together; between(least, most): both in words. Of one machine and nodes, and of
    MPIs (unless the caller does), apart where these disagree. has_ends: both ends of the axis are said, even if they agree."""
    if not experiment.is_pooled:
        groups = along.clauses(experiment, found, near(agree), has_mpis)
        if len(groups) > 1:
            texts = [(what, text_of(experiment, some, agree, between, has_ends)) for what, some in groups]
            return ", ".join("%s %s" % ((what, text) if "," in text else (text, what)) for what, text in texts)
    return text_of(experiment, found, agree, between, has_ends)


def text_of(experiment, found, agree, between, has_ends=False):
    axis = along.axis(experiment)
    agree = agree if axis == "size" else near(agree)
    by_place = {}
    for contest, value in found:
        by_place.setdefault(along.AXES[axis](contest), []).append(value)
    middles = {place: statistics.median(by_place[place]) for place in sorted(by_place)}

    def said(places):
        values = [value for place in places for value in by_place[place]]
        return between(min(values), max(values))

    known = list(middles)
    if experiment.is_brief == RANGE:
        return said(middles)
    runs = []  # of neighbouring sizes that agree
    for place, middle in middles.items():
        together = [middles[other] for other in runs[-1]] + [middle] if runs else []
        if together and not has_ends and agree(min(together), max(together)):
            runs[-1].append(place)
        else:
            runs.append([place])
    if len(runs) == 1:
        return said(middles)
    if len(runs) <= RUNS and not experiment.is_brief:
        return ", ".join("%s %s" % (said(run), along.where(experiment, axis, run, known)) for run in runs)
    ends = along.ends(axis, known)
    middle = [place for place in known if place not in ends]
    outside = [value for place in middle for value in by_place[place]
               if not min(by_place[ends[0]] + by_place[ends[1]]) <= value <= max(by_place[ends[0]] + by_place[ends[1]])]
    found_ends = ["%s %s" % (said([end]), along.where(experiment, axis, [end], known)) for end in ends]
    return ", ".join(found_ends + (["%s between" % said(middle)] if outside and experiment.is_brief != BARE_ENDS else []))
