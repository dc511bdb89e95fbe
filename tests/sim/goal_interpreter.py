"""Interprets GOAL by LogGOPSim's rules, to compare `weft simulate --compat lgs` with.

It shares no code with sim, and is written for reading: regular expressions for the text, one
dictionary for each operation, and times as Python numbers cut to 64 bits.
"""
import heapq
import re

MESSAGE = re.compile(
    r"(?:(\w+):\s*)?(send|recv)\s+(\d+)\s*b\s+(?:to|from)\s+(-1|\d+)"
    r"(?:\s+tag\s+(-1|\d+))?(?:\s+cpu\s+(\d+))?(?:\s+nic\s+(\d+))?$")
CALC = re.compile(r"(?:(\w+):\s*)?calc\s+(\d+)(?:\s+cpu\s+(\d+))?$")
ORDER = re.compile(r"(\w+)\s+(i?requires)\s+(\w+)$")
BITS = (1 << 64) - 1


class Refused(Exception):
    """The program does not end: something is left over."""


def parse(text):
    """The operations of every rank, as dictionaries."""
    ranks = []
    labels = {}
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith("rank"):
            ranks.append([])
            labels = {}
        elif match := ORDER.match(line):
            after, kind, before = labels[match[1]], match[2], labels[match[3]]
            before["frees_at_start" if kind == "irequires" else "frees_at_end"].append(after)
            after["missing"] += 1
        elif match := MESSAGE.match(line) or CALC.match(line):
            op = {"rank": len(ranks) - 1, "frees_at_start": [], "frees_at_end": [], "missing": 0, "started": False}
            if len(match.groups()) == 3:
                op.update(kind="calc", size=int(match[2]), cpu=int(match[3] or 0))
            else:
                op.update(kind=match[2], size=int(match[3]), peer=int(match[4]), tag=int(match[5] or 0),
                          cpu=int(match[6] or 0), nic=int(match[7] or 0))
            labels[match[1]] = op
            ranks[-1].append(op)
        elif line not in ("", "}") and not line.startswith(("num_ranks", "//")):
            raise ValueError(line)
    return ranks


def interpret(text, L, o, g, G, O, S):
    """The number of events, and the end of every rank. Raises Refused."""
    ranks = parse(text)
    cpu = [[0] * 256 for _ in ranks]
    sends = [[0] * 256 for _ in ranks]
    receives = [[0] * 256 for _ in ranks]
    posted = [[] for _ in ranks]
    unexpected = [[] for _ in ranks]
    heap = []
    numbers = iter(range(1 << 62))
    freed = {}  # by rank
    order_of_kinds = ["send", "recv", "calc"]

    def free(ops):
        for op in ops:
            op["missing"] = (op["missing"] - 1) & BITS
            if op["missing"] == 0:
                freed.setdefault(op["rank"], []).append(op)

    def push_freed(at_start=False):
        for rank in sorted(freed):
            for op in sorted(freed[rank], key=lambda op: order_of_kinds.index(op["kind"])):
                time = 0 if at_start else cpu[rank][op["cpu"]]
                if op["kind"] == "send" and not at_start:
                    time = max(time, sends[rank][op["nic"]])
                heapq.heappush(heap, (time, next(numbers), op["kind"], op))
        freed.clear()

    def meet(queue, peer, tag, peer_of, tag_of):
        for i, other in enumerate(queue):
            if -1 in (peer, peer_of(other)) or peer == peer_of(other):
                if -1 in (tag, tag_of(other)) or tag == tag_of(other):
                    return queue.pop(i)
        return None

    def end_waiting_send(send, said_by, now):
        rank = send["rank"]
        cpu[rank][said_by["cpu"]] = max(cpu[rank][said_by["cpu"]], now)
        sends[rank][said_by["nic"]] = max(sends[rank][said_by["nic"]], now)
        free(send["frees_at_end"])

    for rank, ops in enumerate(ranks):
        freed[rank] = [op for op in ops if op["missing"] == 0]
    push_freed(at_start=True)

    events = 0
    while heap:
        now, number, kind, op = heapq.heappop(heap)
        here = op["peer"] if kind == "message" else op["rank"]
        needs = {"message": lambda: max(cpu[here][op["cpu"]], receives[here][op["nic"]]),
                 "send": lambda: max(cpu[here][op["cpu"]], sends[here][op["nic"]]),
                 "calc": lambda: cpu[here][op["cpu"]],
                 "recv": lambda: now}[kind]()
        if needs > now:
            heapq.heappush(heap, (needs, number, kind, op))
            continue
        events += 1
        more = (op["size"] - 1) & BITS  # bytes after the first
        if kind == "message":
            cpu[here][op["cpu"]] = (now + o + max((more * O) & BITS, (more * G) & BITS)) & BITS
            receives[here][op["nic"]] = (now + g + more * G) & BITS
            receive = meet(posted[here], op["rank"], op["tag"], lambda r: r["peer"], lambda r: r["tag"])
            if receive is None:
                unexpected[here].append(op)
            else:
                if op["size"] > S:
                    end_waiting_send(op, op, now)
                free(receive["frees_at_end"])
        else:
            op["started"] = True
            free(op["frees_at_start"])
            if kind == "calc":
                cpu[here][op["cpu"]] = (now + op["size"]) & BITS
                free(op["frees_at_end"])
            elif kind == "send":
                cpu[here][op["cpu"]] = (now + o + more * O) & BITS
                sends[here][op["nic"]] = (now + g + more * G) & BITS
                heapq.heappush(heap, ((now + o + L) & BITS, next(numbers), "message", op))
                if op["size"] <= S:
                    free(op["frees_at_end"])
            else:
                message = meet(unexpected[here], op["peer"], op["tag"], lambda s: s["rank"], lambda s: s["tag"])
                if message is None:
                    posted[here].append(op)
                else:
                    if op["size"] > S:
                        end_waiting_send(message, op, now)
                    free(op["frees_at_end"])
        push_freed()

    if any(posted) or any(unexpected) or not all(op["started"] for ops in ranks for op in ops):
        raise Refused
    return events, [max(times) for times in cpu]
