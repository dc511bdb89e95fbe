"""Conditions of rules, such as "bytes>=64K", and the cells of scenarios that meet them.

A cell is as samples have it ("cell" lines), or as `weft bench --plan` has it."""

import operator
import re

NUMBERS = ("bytes", "ranks", "nodes", "rate", "delay", "late")
TEXTS = ("collective", "algorithm", "timer", "barrier")
CONDITION = re.compile(r"(%s)(>=|<=|=)(\S+)" % "|".join(NUMBERS + TEXTS))
OPERATORS = {">=": operator.ge, "<=": operator.le, "=": operator.eq}
UNITS = {
    "bytes": {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30},
    "late": {"": 1, "us": 1, "ms": 1e3, "s": 1e6},
    "delay": {"": 1, "us": 1, "ms": 1e3, "s": 1e6},
    "rate": {"": 1, "bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9},
}


def number(axis, value):
    """64K, 300us, 1gbit or 2, in bytes, microseconds, bits a second."""
    match = re.fullmatch(r"([\d.]+)([A-Za-z]*)", str(value))
    units = UNITS.get(axis, {"": 1})
    if not match or match.group(2) not in units:
        raise ValueError("%s of %s" % (value, axis))
    return float(match.group(1)) * units[match.group(2)]


def value_of(cell, axis):
    """What a condition about this axis compares; None: the cell has no such value."""
    if axis in ("ranks", "nodes"):
        return float(cell.get(axis) or 0 if axis == "nodes" else cell.get(axis, 2))
    if axis == "bytes":
        return number(axis, cell["bytes"])
    if axis == "rate":
        rate = (cell.get("link") or {}).get("rate") if cell.get("nodes") else None
        return None if rate is None else number(axis, rate)
    if axis == "delay":
        return float((cell.get("link") or {}).get("delay_us") or 0)
    if axis == "late":
        late = cell.get("late") or {}
        return number(axis, late.get("by", "0")) if late.get("who", "none") != "none" else 0.0
    return cell.get(axis, {"algorithm": "", "timer": "clock", "barrier": "ours"}.get(axis))


def is_one(condition):
    """Whether it is a condition."""
    match = CONDITION.fullmatch(condition)
    if not match or match.group(1) in TEXTS:
        return bool(match) and match.group(2) == "="
    try:
        number("times" if match.group(3).endswith("x") else match.group(1), match.group(3).removesuffix("x"))
    except ValueError:
        return False
    return True


def axis_of(condition):
    return CONDITION.fullmatch(condition).group(1)


def meets(cell, condition, operation_us=None):
    """"late>=2x" is twice as long as the operation takes; where that is not known, any lateness."""
    axis, sign, wanted = CONDITION.fullmatch(condition).groups()
    value = value_of(cell, axis)
    if value is None:
        return False
    if axis in TEXTS:
        return sign == "=" and value == wanted
    if axis == "late" and wanted.endswith("x"):
        if operation_us is None:
            return value > 0
        return OPERATORS[sign](value, number("times", wanted[:-1]) * operation_us)
    return OPERATORS[sign](value, number(axis, wanted))


def meets_all(cell, conditions, operation_us=None):
    return all(meets(cell, condition, operation_us) for condition in conditions)


def computes(cell):
    return (cell.get("compute") or {}).get("who", "none") != "none"
