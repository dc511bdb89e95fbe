"""The statistics of a report; docs/measuring.md has the formulas."""

import math
import statistics

CONFIDENCE = 0.95
AA_WIDTH_MAX = 0.10         # of the A/A interval of the ratio
HIDDEN_RANGE = (-100, 110)  # in %: what is outside of it is no measurement of overlap


class Estimate:
    """A value with its interval (None, None if there are too few repetitions), and what it was computed from."""

    def __init__(self, value, low, high, points):
        self.value = value
        self.low = low
        self.high = high
        self.points = points

    @property
    def has_interval(self):
        return self.low is not None

    def is_apart_from(self, other):
        """Whether both have intervals, and these do not meet."""
        return self.has_interval and other.has_interval and (self.low > other.high or self.high < other.low)


def interval_places(count):
    """Where the interval of the median begins and ends among `count` sorted values, by the sign test; None: too few.

    From the k-th smallest to the k-th largest, k as large as possible while both tails together have at most 5 %."""
    tail = 0.0
    k = 0
    while k < count // 2:
        tail += math.comb(count, k) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            break
        k += 1
    return (k - 1, count - k) if k else None


def estimate(values, statistic="median"):
    """The median with its interval. Of another statistic (min, mean, max) only the value."""
    points = sorted(values)
    if statistic != "median":
        value = {"min": min, "max": max, "mean": statistics.fmean}[statistic](points)
        return Estimate(value, None, None, points)
    places = interval_places(len(points))
    low, high = (points[places[0]], points[places[1]]) if places else (None, None)
    return Estimate(statistics.median(points), low, high, points)


def share(work, blocking, total):
    """How much of the shorter one of both is hidden behind the other, in %."""
    return 100 * (work + blocking - total) / min(work, blocking)


def hidden(work, blocking, total):
    """The share of the medians; its interval is that of the repetitions' shares. Each: times by repetition."""
    common = [key for key in total if key in work and key in blocking and min(work[key], blocking[key]) > 0]
    if not common:
        return None
    medians = [statistics.median(times[key] for key in common) for times in (work, blocking, total)]
    each = estimate([share(work[key], blocking[key], total[key]) for key in common])
    value = share(*medians)
    if not each.has_interval:
        return Estimate(value, None, None, each.points)
    return Estimate(value, min(value, each.low), max(value, each.high), each.points)


def ratio(times, baseline):
    """One member's time / another's, repetition by repetition."""
    common = [key for key in times if baseline.get(key, 0) > 0 and times[key] > 0]
    return estimate([times[key] / baseline[key] for key in common]) if common else None


def is_clear(value, aa):
    """Whether a ratio is not 1, by more than the same measured twice differs from itself, to either side."""
    if not value.has_interval or value.low <= 1 <= value.high:
        return False
    if aa is None or not aa.has_interval:
        return True
    least, most = min(aa.low, 1 / aa.high), max(aa.high, 1 / aa.low)
    return value.high < least or value.low > most


def is_share_hidden(value):
    return HIDDEN_RANGE[0] <= value <= HIDDEN_RANGE[1]


def disturbance(aa, hidden_share=None):
    """Why a row tells nothing; "": it does. `aa`: the ratio of a member to itself, measured again."""
    if aa is not None and aa.has_interval:
        if not aa.low <= 1 <= aa.high or aa.high - aa.low > AA_WIDTH_MAX * aa.value:
            return "the same measured twice takes %.4g to %.4g of its time" % (aa.low, aa.high)
    if hidden_share is not None and not is_share_hidden(hidden_share):
        return "an impossible share is hidden (%.0f %%)" % hidden_share
    return ""
