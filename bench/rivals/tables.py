"""Markdown tables of the measurements of `weft bench overlap --against ... --json FILE`.

usage: tables.py [--means] FILE...

--means: one table, start + wait of each collective, the geometric mean over its sizes.
"""

import json
import math
import statistics
import sys

LARGE = 64 << 10  # from this size on there is something to hide


def size_text(count):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count and count % unit == 0:
            return "%d %s" % (count // unit, name)
    return "%d B" % count if count else ""


def place(row):
    about = row["circumstances"]
    if about["nodes"]:
        links = about.get("links", 1)
        return "%d emulated nodes, %slinks of %s" % (
            about["nodes"], "%d " % links if links > 1 else "", about["rate"])
    return "One machine, " + ("TCP over loopback" if about["transport"] == "tcp" else "shared memory")


def print_table(heading, rows):
    print("| " + " | ".join(heading) + " |")
    print("|---" * len(heading) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def points(rows):
    """Collectives and sizes, in the order in which they were measured."""
    return list(dict.fromkeys((row["collective"], row["bytes"]) for row in rows))


def name_of(point):
    return " ".join(filter(None, (point[0], size_text(point[1]))))


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def ratio_table(rows, mpis, what, least):
    """Weft / each MPI, with the interval; a row for each collective and size."""
    found = {(row["collective"], row["bytes"], row["mpi"]): row["ratios"][what]
             for row in rows if row.get("ratios") and row["bytes"] >= least}
    if not found:
        return
    lines = []
    for point in points(rows):
        cells = [found.get(point + (mpi,)) for mpi in mpis]
        if not any(cells):
            continue
        lines.append([name_of(point)] + [
            "%.2f (%s)" % (cell["median"], "-" if cell["low"] is None else
                           "%.2f-%.2f" % (cell["low"], cell["high"])) if cell else ""
            for cell in cells])
    of_mpi = [[cell["median"] for key, cell in found.items() if key[2] == mpi] for mpi in mpis]
    lines.append(["geometric mean"] + ["%.3f" % geometric_mean(v) if v else "" for v in of_mpi])
    lines.append(["worst"] + ["%.2f" % max(v) if v else "" for v in of_mpi])
    print_table([""] + mpis, lines)


def means_table(rows):
    """Start + wait, Weft / each MPI: the geometric mean over the sizes, with the worst; a row for each collective."""
    places = list(dict.fromkeys(place(row) for row in rows))
    mpis = list(dict.fromkeys(row["mpi"] for row in rows))
    columns = [(where, mpi) for where in places for mpi in mpis]

    def means_of(some):
        cells = []
        for column in columns:
            medians = [row["ratios"]["blocking"]["median"] for row in some
                       if row.get("ratios") and (place(row), row["mpi"]) == column]
            cells.append("%.2f (%.2f)" % (geometric_mean(medians), max(medians)) if medians else "")
        return cells

    def title(column):
        nodes = next(row["circumstances"]["nodes"] for row in rows if place(row) == column[0])
        return "%s, %s" % (column[1], "%d nodes" % nodes if nodes else "one machine")

    lines = [[name] + means_of([row for row in rows if row["collective"] == name])
             for name in dict.fromkeys(row["collective"] for row in rows)]
    print_table([""] + [title(column) for column in columns],
                lines + [["all"] + means_of(rows)])


def hidden(rows):
    """"92 %, 1.81, 8.9 ms" of rows of one point and contestant: there is one row for each job."""
    overlap = statistics.median(row["overlap_percent"] for row in rows)
    gain = statistics.median(row["gain"] for row in rows)
    total = statistics.median(row["medians"]["total_us"] for row in rows)
    time = "%.3g us" % total if total < 1000 else "%.3g ms" % (total / 1000)
    return "%.0f %%, %.2f, %s" % (overlap, gain, time)


def overlap_table(rows, mpis):
    """How much each hides; Weft is measured in the MPI's job, and the MPI determines the amount of work."""
    engines = list(dict.fromkeys(row["engine"] for row in rows if row["engine"] != row["mpi"]))
    lines = []
    for point in points(rows):
        line = [name_of(point)]
        for mpi in mpis:
            for name in [mpi] + engines:
                of_cell = [row for row in rows if (row["collective"], row["bytes"]) == point and
                           row["mpi"] == mpi and row["engine"] == name]
                line.append(hidden(of_cell) if of_cell else "")
        lines.append(line)
    heading = [""]
    for mpi in mpis:
        heading += [mpi] + ["Weft (%s)" % engine for engine in engines]
    print_table(heading, lines)


def main(arguments):
    files = [argument for argument in arguments if argument != "--means"]
    rows = []
    for name in files:
        with open(name) as file:
            rows += [json.loads(line) for line in file]
    rows = [row for row in rows if "mpi" in row]
    if not rows:
        sys.exit("no row of a measurement beside an MPI in " + " ".join(files))
    if len(files) < len(arguments):
        means_table([row for row in rows if not row["mpi"].endswith(":async")])
        return
    for where in dict.fromkeys(place(row) for row in rows):
        here = [row for row in rows if place(row) == where]
        alone = [row for row in here if row["mpi"].endswith(":async")]
        beside = [row for row in here if not row["mpi"].endswith(":async")]
        print("### %s\n" % where)
        if beside:
            mpis = list(dict.fromkeys(row["mpi"] for row in beside))
            print("Overlapped time, Weft / MPI:\n")
            ratio_table(beside, mpis, "total", LARGE)
            print("Start + wait, Weft / MPI:\n")
            ratio_table(beside, mpis, "blocking", 0)
            print("Start + wait of Weft / blocking call of the MPI:\n")
            ratio_table(beside, mpis, "blocking_by_call", 0)
            print("Overlap, gain and overlapped time:\n")
            overlap_table(beside, mpis)
        if alone:
            print("The MPIs with their own asynchronous progress: overlap, gain and overlapped time:\n")
            overlap_table(alone, list(dict.fromkeys(row["mpi"] for row in alone)))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
