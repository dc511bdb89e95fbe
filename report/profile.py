"""Where an application's time goes: by phase of its computation, on each rank, and how much could be hidden at all.

A profile is the "phases" of a sample: of each its name, whether it hides communication, and each rank's times in microseconds
(total, work, start, tests, wait)."""

import statistics

from . import words

HEADING = ["phase", "hides", "rank", "computation", "start", "tests", "wait"]
TOTAL, WORK, WAIT = 0, 1, 4


def medians(profiles):
    """[(name, hides, [times of each rank])], the medians of the samples, in the order of the first one."""
    found = []
    for at, first in enumerate(profiles[0]):
        same = [one[at]["ranks"] for one in profiles if len(one) > at and one[at]["name"] == first["name"]]
        ranks = [[statistics.median(column) for column in zip(*of_rank)] for of_rank in zip(*same)]
        found.append((first["name"], first["hides"], ranks))
    return found


def rows(profiles):
    """A row for each phase and rank, as long as the heading."""
    found = []
    for name, hides, ranks in medians(list(profiles)) if profiles else []:
        for rank, times in enumerate(ranks):
            first = [name, "yes" if hides else "no"] if rank == 0 else ["", ""]
            found.append(first + [str(rank)] + [words.time(time) for time in times[WORK:]])
    return found


def slowest(samples):
    """The median of the samples' slowest rank, and how much of that is computation; of all ranks together."""
    total = statistics.median(max(rank[TOTAL] for rank in ranks) for ranks in samples)
    work = statistics.median(sum(rank[WORK] for rank in ranks) / len(ranks) for ranks in samples)
    return total, work


def bounds(blocking, profiles):
    """How many times as fast as the blocking program (its total, and its computation) it can be: with all of the shorter one of
    computation and communication hidden; and with all that the phases which hide something can hide."""
    total, work = blocking
    communication = total - work
    hiding = aside = 0
    for _, hides, ranks in medians(profiles):
        mean = statistics.fmean(times[WORK] for times in ranks)
        hiding, aside = (hiding + mean, aside) if hides else (hiding, aside + mean)
    return total / max(work, communication), total / (aside + max(hiding, communication))


def bounds_words(samples, profiles):
    """A sentence for each member with a profile that does not block. Both arguments: lists by member."""
    blocking = {name: slowest(found) for name, found in samples.items() if "blocking" in name.split() and found}
    if not blocking:
        return
    best = min(blocking, key=lambda name: blocking[name][0])
    total, work = blocking[best]
    for name, found in profiles.items():
        if not found or "blocking" in name.split() or not samples[name]:
            continue
        whole, here = bounds(blocking[best], found)
        yield ("of %s in %s, %s is communication; if all of the shorter one of that and computation were hidden: %.2f times as "
               "fast; if all phases that hide something hid as much as they take: %.2f; %s: %.2f" % (
                   words.time(total), best, words.time(total - work), whole, here, name, total / slowest(samples[name])[0]))
