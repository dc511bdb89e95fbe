"""A group's settings."""


class Options:
    """Settings of a group: `dist.new_group(ranks, backend="weft", pg_options=weft_torch.Options(...))`.

    All ranks give the same. Groups made by `split_group` have those of their parent.

    Parameters
    ----------
    reproducible : bool, optional
        Reductions combine in one order. Results then depend neither on algorithms, nor on timing, nor on how
        many nodes there are.
    accumulate : {"type", "float32"}, optional
        "float32": sums of float16 and bfloat16 are rounded once, at the end, not at each combination.
    wire : {"exact", "bfloat16", "int8"}, optional
        What elements of float32 are in the messages of all_reduce, all_gather_into_tensor and
        all_to_all_single.
    links : int or "all", optional
        How many of the network links between two nodes the group uses.
    algorithms : dict, optional
        Algorithms by collective: {"allreduce": "ring"}, as in WEFT_ALGORITHM.
    """

    def __init__(self, reproducible=None, accumulate=None, wire=None, links=None, algorithms=None):
        self.reproducible = reproducible
        self.accumulate = accumulate
        self.wire = wire
        self.links = links
        self.algorithms = dict(algorithms or {})

    def settings(self):
        """As weft_comm_dup_with takes them: words. Weft checks them."""
        words = {"reproducible": None if self.reproducible is None else int(self.reproducible),
                 "accumulate": self.accumulate, "wire": self.wire, "links": self.links, **self.algorithms}
        for name, value in words.items():
            if value is not None and (not str(value) or any(letter.isspace() for letter in "%s%s" % (name, value))):
                raise ValueError("weft_torch.Options: %s = %r; expected one word" % (name, value))
        return " ".join("%s=%s" % (name, value) for name, value in words.items() if value is not None)

    def __repr__(self):
        return "weft_torch.Options(%r)" % self.settings()


def settings_of(options):
    """Of `pg_options`; those of other back ends, as for "cpu:weft,cuda:nccl", say nothing."""
    return options.settings() if isinstance(options, Options) else ""
