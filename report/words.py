"""Figures and axes in words."""

import re


def mpi_name(text):
    """What an MPI says of itself, without what does not tell it apart: "Intel MPI 2021.18.1"."""
    found = re.match(r"(.*?)(?:\(R\))?( MPI)?(?: Library)?(?: [Vv]ersion:?)? v?(\d\S*)", text)
    return "%s%s %s" % (found.group(1), found.group(2) or "", found.group(3)) if found else text


def without_version(mpi):
    return re.sub(r" v?\d.*", "", mpi)


def size(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % (unit // 1024 or 1) == 0 and count * 10 % unit == 0:
            return "%g %s" % (count / unit, name)
    for unit, name in ((1000**2, "MB"), (1000, "kB")):  # (12500000 B cannot be counted)
        if count >= unit and count * 100 % unit == 0:
            return "%g %s" % (count / unit, name)
    return "%d B" % count if count < 1 << 20 else "%.3g MiB" % (count / (1 << 20))


def time(us):
    for least, unit, name in ((1e6, 1e6, "s"), (1e3, 1e3, "ms"), (1, 1, "us")):
        if abs(us) >= least * 0.9995:  # (999.9 us are written as 1 ms)
            return "%s %s" % (figure(us / unit), name)
    return "%s ns" % figure(us * 1e3)


def figure(value):
    """Three significant digits, not in powers of ten."""
    if abs(value) >= 100:
        return "%.0f" % value
    return "%.3g" % value


def factor(value):
    return ratio(value) + " of" if value < 0.995 else "%s times" % ("%.2f" % value if value < 10 else "%.0f" % value)


def ratio(value):
    """ "0.95", "12.3", "123", and no zero: "0.012" """
    return ("%.0f" if value >= 99.5 else "%.1f" if value >= 9.95 else "%.2f" if value >= 0.095 else "%.2g") % value


def factors(least, most):
    """ "0.50 to 0.90 of", "0.50 to 1.20 times" """
    return between(least, most, factor if most < 0.995 else lambda value: factor(value).replace(" of", " times"))


def between(least, most, text):
    """ "12 us", "305 to 962 ns", "962 ns to 1.2 us": no two words that are the same."""
    first, last = text(least), text(most)
    if first == last:
        return last
    number, _, unit = first.rpartition(" ")
    return "%s to %s" % (number if number and last.endswith(" " + unit) else first, last)


def percent(value):
    return "%d %%" % round(value or 0)  # never -0


def duration(text):
    """A scenario writes times as "300us" or "1ms", a cell in microseconds."""
    return time(text) if isinstance(text, (int, float)) else re.sub(r"(?<=\d)(?=[a-z])", " ", str(text))


def microseconds(text):
    """Of what duration() takes."""
    if isinstance(text, (int, float)):
        return text
    match = re.fullmatch(r"([\d.]+)(ns|us|ms|s)?", text)
    return float(match.group(1)) * {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[match.group(2) or "us"] if match else 0


def rate(text):
    match = re.fullmatch(r"([\d.]+)([kmg]?)bit", str(text))
    return "%s %sbit/s" % (match.group(1), match.group(2).upper().replace("K", "k")) if match else str(text)


def link(value):
    if not value:
        return ""
    count = value.get("links") or 1
    parts = [("%d links of %s each" % (count, rate(value["rate"])) if count > 1 else "links of " + rate(value["rate"]))] if value.get("rate") else []
    for name in ("delay", "jitter"):
        us = value.get(name + "_us") or 0
        if us:
            parts.append("%s %s" % (time(us), name))
    if value.get("loss"):
        parts.append("%g %% loss" % (100 * value["loss"]))
    return ", ".join(parts)


def whom(value):
    if isinstance(value, list):
        return "rank%s %s" % ("s"[:len(value) != 1], ", ".join(map(str, value)))
    return {"all": "all ranks", "others": "the other ranks"}.get(value, str(value))


def compute(value):
    who = value.get("who", "all") if value is not None else "none"
    if who == "none":
        return ""
    length = str(value.get("for", "operation"))
    many = re.fullmatch(r"([\d.]+)x", length)
    text = ("as long as the operation takes" if length == "operation" else
            "%s times as long as the operation takes" % many.group(1) if many else "for " + duration(length))
    what = {"sleep": "sleep", "mmap": "map memory", "product": "multiply matrices"}.get(value.get("what"), "compute")
    one = isinstance(who, list) and len(who) == 1
    return "%s %s %s" % (whom(who), what.replace(" ", "s ", 1) if one and " " in what else what + "s"[:one], text)


def progress(value):
    kind, _, number = str(value or "none").partition(":")
    return {"none": "", "tests": "%s calls of test during the computation" % number,
            "bytes": "a call of test every %s bytes" % number, "until": "tests until the operation has ended",
            "fiber": "computation in another fiber" + (", repeated until the operation has ended" if number == "until" else
                                                       " (%s)" % number if number else "")}.get(kind, str(value))


def late(value):
    if not value or not value.get("by") or value["by"] in ("0", 0):
        return ""
    spread = value.get("distribution", "constant")
    who, by = whom(value.get("who", "all")), duration(value["by"])
    if spread == "uniform":
        return "%s late by 0 to %s, at random" % ("each rank" if who == "all ranks" else who, by)
    return "%s late by %s" % (who, by) + (" (%s)" % spread if spread != "constant" else "")


def late_us(head):
    """How late a rank is, in microseconds."""
    late = head.get("late") or {}
    return microseconds(late.get("by") or 0) if late.get("who") != "none" else 0


PARAMETERS = {"ports": "%s messages at a time (ports)", "leaders": "%s leaders a node", "groups": "%s groups a node", "inner": "%s among the leaders",
              "segment": "in segments of %s"}


def algorithm(value):
    """ "allgather=hierarchical:inner=ring" is "algorithm hierarchical, ring among the leaders". Of several collectives each is named."""
    if not value:
        return ""
    several = value.split(",")
    if len(several) == 1:
        return "algorithm " + one_algorithm(value)
    return "algorithms " + ", ".join(one_algorithm(one) + " " + one.partition("=")[0] for one in several)


def one_algorithm(text):
    """A segment of gigabytes is how a scenario says that a message is in one piece."""
    name, *parameters = text.partition("=")[2].split(":")
    parts = [name.replace("_", " ")]
    for key, _, value in (one.partition("=") for one in parameters):
        count = re.fullmatch(r"(\d+)([KMG]?)", value)
        if key == "segment" and count:
            parts.append("not cut into segments" if count.group(2) == "G" else
                         PARAMETERS[key] % ("%s %s" % (count.group(1), count.group(2) + "iB" if count.group(2) else "B")))
        else:
            key = "groups" if name == "multi_group" and key == "leaders" else key
            parts.append(PARAMETERS.get(key, key + " %s") % value.replace("_", " "))
    return ", ".join(parts)


PORTS = re.compile(r":ports=(\d+)")  # of an algorithm: how many messages it sends at a time


# How a figure calls a member, for readers who do not know Weft, and what they have to know of it. {mpi}: of the figure, if it has one.
MEMBERS = {"manual": ("Weft, manual", "data moves only inside the library's calls"), "auto": ("Weft", "its default, in the background"),
           "thread": ("Weft, thread", "a thread of the library moves the data"), "kernel": ("Weft, kernel", "the operating system moves the data"),
           "kernel:own": ("Weft, kernel:own", "the operating system, over connections of its own"),
           "fiber": ("Weft, fiber", "data moves when a fiber that computes yields"),
           "fiber:timer": ("Weft, fiber by timer", "a timer interrupts the computation to move data"),
           "fiber:arrival": ("Weft, fiber by arrival", "data that arrives interrupts the computation"),
           "manual persistent": ("Weft, persistent", "as in MPI: init once, start many times"),
           "persistent": ("Weft, persistent", "init once, start many times"),
           "thread:poll": ("Weft, polling thread", "a progress thread that polls"), "sockets": ("plain sockets", "no Weft"),
           "copy thread": ("copying thread", "a plain thread that copies"), "mpi": ("{mpi} nonblocking", "the MPI's own call"),
           "mpi blocking": ("{mpi} blocking", "the MPI's own call"), "libnbc": ("original LibNBC", "over {mpi}"),
           "nbc:weft": ("nbc.h over Weft", "LibNBC's interface"), "preload": ("Weft under {mpi} (preload)", "the MPI's names, taken by Weft"),
           "by hand": ("by hand", "a pipeline of sends written in the program, over Weft"),
           "auto blocking": ("Weft blocking", "its blocking call"), "manual blocking": ("Weft blocking", "its blocking call"),
           "manual, no test": ("Weft, manual, no test", "no call while it computes"),
           "by hand over it": ("by hand, on {mpi}", "a pipeline of sends written in the program"),
           "in a thread over it": ("LibNBC-like thread, on {mpi}", "a thread of the program sends"),
           "in a thread": ("{mpi} blocking in a thread", "a thread of the program calls it"),
           "weft in a thread": ("Weft blocking in a thread", "a thread of the program calls it"),
           "first call": ("first call", "in a communicator that has no schedule yet"),
           "cached call": ("later call", "with the schedule of the call before"),
           "weft": ("Weft nonblocking", ""), "weft blocking": ("Weft blocking", ""), "nonblocking": ("Weft nonblocking", ""),
           "blocking": ("Weft blocking", ""), "two": ("2 ranks", "on 2 nodes"), "four": ("4 ranks", "on 4 nodes"),
           "bound": ("bound", "each rank has a core of its own"), "unbound": ("unbound", "ranks may run on any core"),
           "shipped": ("default threshold", ""), "by start and wait": ("tuned by waiting", "table of algorithms from times of start and wait"),
           "by the overlapped time": ("tuned by overlap", "table of algorithms from times behind a computation")}
MPIS = {"mpich": "MPICH", "openmpi": "Open MPI", "impi": "Intel MPI"}  # in names of members


def member(name, mpi=""):
    """How a figure calls it, and what it is ("": this says it)."""
    first, _, rest = name.partition(" ")
    if first in MPIS:
        mpi, name = MPIS[first], rest if rest in MEMBERS and rest not in ("blocking", "nonblocking") else ("mpi " + rest).strip()
    known = MEMBERS.get(name)
    if known:
        return tuple(text.format(mpi=mpi or "MPI") for text in known)
    if name.startswith("weft "):
        return "W" + name[1:], ""
    if name.startswith("mpi "):
        return (mpi or "MPI") + name[3:], ""
    if re.fullmatch(r"\d+K", name):
        return "rendezvous from %s KiB" % name[:-1], ""
    tests = re.fullmatch(r"(.*?)(?:, | )?\b(bytes|tests):(\d+)([KMG]?)", name)
    if not tests:
        return name, ""
    who, kind, number, unit = tests.groups()
    often = "a test every %s" % (number + " " + unit + "iB" if unit else size(int(number))) if kind == "bytes" else \
        "%s test%s" % (number, "s"[:number != "1"])
    return ", ".join(filter(None, (member(who)[0] if who else "Weft", often))), "calls of test during the computation"


NAMED = {"barrier": {"ours": "Weft's barrier", "mpi": "the MPI's barrier", "both": "both barriers"},
         "timer": {"clock": "the system clock", "cycles": "the cycle counter"}}


def axis(name, value):
    """The value of an axis, as a figure's text has it; "" for what needs no words."""
    if name == "mpi":
        return value or ""
    if name == "ranks":
        return "%d rank%s" % (value, "s"[:value != 1])
    if name == "nodes":
        return "%d nodes" % value if value and value > 1 else "one machine"
    if name in ("link", "compute", "late"):
        return {"link": link, "compute": compute, "late": late}[name](value)
    if name == "call":
        return "" if value in (None, "nonblocking") else "%s calls" % value
    if name == "progress":
        return progress(value)
    if name == "algorithm":
        return algorithm(value)
    if name == "transport":
        return {"shm": "shared memory", "tcp": "TCP", "ucx": "UCX", "auto": ""}.get(value, value or "")
    if name in NAMED and value in NAMED[name]:
        return NAMED[name][value]
    if name == "collective":
        parts = (value or "").split("+")
        return "%d times %s" % (len(parts), parts[0]) if len(parts) > 1 and len(set(parts)) == 1 else \
            re.sub(r"(\d+-\d+ %)$", r"\1 of it communication", value or "")
    return "%s %s" % (name.replace("_", " "), value) if value not in (None, "", "auto") else ""


def machine(experiment):
    """Where and when, in a line."""
    run = experiment.run.head
    heads = [member.head for contest in experiment.contests for member in contest.members]  # (each may have its ranks)
    ranks = {head["ranks"] for head in heads}
    nodes = {max(head.get("nodes") or 1, 1) for head in heads}
    places = ["one machine"] if 1 in nodes else []
    if nodes != {1}:
        places.append("%s emulated nodes" % span(nodes - {1}))
    links = set(filter(None, (link(contest.head.get("link")) for contest in experiment.contests)))
    parts = ["%s rank%s" % (span(ranks), "s"[:ranks != {1}]),
             " or ".join(places), "".join(links) if len(links) == 1 else "",
             "%s, %s cores" % (run["host"].get("cpu", "unknown CPU"), run["host"].get("cpus", "?")),
             listing(experiment.mpis), run["date"][:10]]
    return "Measured with " + ", ".join(filter(None, parts)) + "."


def span(numbers):
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else "%d to %d" % (low, high)


def listing(parts):
    """a, b and c"""
    parts = list(parts)
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1] if parts else ""


def quantity(column):
    """What a column is of, in a word or two."""
    return {"overhead": "overhead", "cpu": "CPU time", "idle": "idle time", "cpu_share": "CPU share", "idle_share": "idle share", "cpu_outside": "CPU share outside of the computation",
            "test": "time of one test", "delivery": "time", "tests": "time in tests", "start": "time of the start"}.get(column, "time")
