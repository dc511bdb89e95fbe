"""How a row of the table is run, and its values compared."""

import copy

import torch


def run(function, group, rank, ranks):
    """The values, or None and the failure."""
    try:
        return copy.deepcopy(function(group, rank, ranks)), "ok"
    except Exception as error:
        return None, "%s: %s" % (type(error).__name__, (str(error).splitlines() or [""])[0][:200])


def are_same(left, right):
    if isinstance(left, torch.Tensor):
        return (isinstance(right, torch.Tensor) and left.dtype == right.dtype and left.shape == right.shape and
                torch.equal(left, right))
    if isinstance(left, (list, tuple)):
        return type(left) is type(right) and len(left) == len(right) and all(map(are_same, left, right))
    return left == right
