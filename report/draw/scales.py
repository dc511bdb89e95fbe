"""Limits and ticks of logarithmic axes."""

import math

FEW = 3               # of fewer labels an axis has more steps
FINER = (1.5, 2, 3, 4, 5, 6, 8)
STEPS = (2, 5)        # between powers of ten
SHORT_STEPS = (3, 5)  # below 1 us
LABELS = 8            # at most so many ticks have room for their labels
SHORTEST = 1e-3       # us
BEYOND = 3            # times the extreme medians: what intervals leave that is cut
MANY_DECADES = 1.5    # from here on only powers of ten are written from 1 us on
LABELLED = 7          # so many labels have room in a line under a panel


def ticks(low, high):
    """Round values between both, for a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    are_many = math.log10(high / low) >= MANY_DECADES
    found = [10.0**power for power in decades]
    for power in decades:
        if power < 0 or not are_many:
            found += [step * 10.0**power for step in (SHORT_STEPS if power < 0 else STEPS)]
    chosen = []
    least = (high / low) ** (1 / LABELS)
    for value in found:  # powers of ten first
        if low <= value <= high and all(max(value / other, other / value) > least for other in chosen):
            chosen.append(value)
    if len(chosen) < FEW:
        for value in sorted((step * 10.0**power for power in decades for step in FINER), key=lambda value: value % 1 != 0):
            if low <= value <= high and all(max(value / other, other / value) > least for other in chosen):
                chosen.append(value)
    return sorted(chosen)


def limits(ends, middles):
    """Of a logarithmic axis, at least a factor of four: round all medians, and their intervals as far as these are near.
    (A CPU time may be 0.)"""
    least = min([value for value in middles if value >= SHORTEST], default=SHORTEST)
    high = max(min(ends[1], max(middles) * BEYOND), 2 * SHORTEST)
    low = max(ends[0], least / BEYOND)
    middle = math.sqrt(low * high)
    factor = max(math.sqrt(high / low) * 1.25, 2)
    return middle / factor, middle * factor


def in_lines(places):
    """In which line under a logarithmic axis the label of each place stands: labels of a line do not meet."""
    least = (places[-1] / places[0]) ** (1 / LABELLED)
    ends, lines = [], []  # (the last place of each line)
    for place in places:
        line = next((at for at, end in enumerate(ends) if end * least <= place), len(ends))
        ends[line:line + 1] = [place]
        lines.append(line)
    return lines
