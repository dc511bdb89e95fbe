"""Compares `weft simulate --compat lgs` with the interpreter beside it, on seeded random programs.

compare_goal.py WEFT PROGRAMS FIRST_SEED
"""
import json
import random
import subprocess
import sys

import goal_interpreter

MANY = 50  # programs, of which most must end
PARAMETERS = [dict(L=2500, o=1500, g=1000, G=6, O=0, S=65535),
              dict(L=5000, o=1000, g=3000, G=2, O=0, S=65535),
              dict(L=1400, o=200, g=600, G=3, O=1, S=1000),
              dict(L=700, o=0, g=50, G=0, O=2, S=0)]


class Writer:
    """A rank's part: operations that wait for some of the earlier ones."""

    def __init__(self, rng, traits):
        self.rng = rng
        self.traits = traits
        self.lines = []
        self.ops = 0

    def add(self, text, after=None):
        label = f"op{self.ops}"
        self.lines.append(f"{label}: {text}")
        earlier = range(self.ops)
        if after is None:
            recent = earlier[-6:]
            after = self.rng.sample(recent, min(len(recent), self.rng.choice([0, 0, 1, 1, 2, 3])))
        for before in after:
            how = "irequires" if self.traits["irequires"] and self.rng.random() < 0.3 else "requires"
            self.lines.append(f"{label} {how} op{before}")
        self.ops += 1
        return self.ops - 1

    def cpu(self):
        return f" cpu {self.rng.randrange(self.traits['cpus'])}" if self.rng.random() < 0.7 else ""

    def nic(self):
        return f" nic {self.rng.randrange(self.traits['nics'])}" if self.rng.random() < 0.7 else ""


def program(rng):
    """A program in which every message has its receive."""
    ranks = rng.randint(2, 16)
    traits = {"irequires": rng.random() < 0.5, "cpus": rng.choice([1, 1, 2, 4]), "nics": rng.choice([1, 1, 2, 3])}
    sizes = rng.choice([[1, 8, 64], [0, 1, 500, 4096], [0, 100, 70000, 200000], [65535, 65536, 1000, 1001]])
    self_sends = rng.random() < 0.3
    wild = [rng.random() < 0.2 for _ in range(ranks)]  # whose receives take whatever comes
    writers = [Writer(rng, traits) for _ in range(ranks)]
    for number in range(rng.randint(1, 60)):
        kind = rng.random()
        if kind < 0.25:
            writer = rng.choice(writers)
            writer.add(f"calc {rng.choice([0, 10, 1000, 12345])}{writer.cpu()}")
        elif kind < 0.28:
            # Many operations are freed at once.
            writer = rng.choice(writers)
            first = writer.add("calc 100")
            for i in range(rng.randint(17, 40)):
                writer.add(f"calc {10 * i}{writer.cpu()}", [first])
        else:
            source = rng.randrange(ranks)
            target = source if self_sends and rng.random() < 0.2 else rng.randrange(ranks)
            if source == target and not self_sends:
                target = (source + 1) % ranks
            size = rng.choice(sizes)
            tag = number if rng.random() < 0.8 else 0
            burst = rng.randint(17, 24) if rng.random() < 0.03 else 1
            after_send = after_recv = None
            if burst > 1:
                after_send = [writers[source].add("calc 50")]
                after_recv = [writers[target].add("calc 70")]
            from_rank = -1 if wild[target] or rng.random() < 0.02 else source
            recv_tag = -1 if wild[target] or rng.random() < 0.02 else tag
            send_tag = -1 if rng.random() < 0.01 else tag
            for _ in range(burst):
                writer = writers[source]
                writer.add(f"send {size}b to {target} tag {send_tag}{writer.cpu()}{writer.nic()}", after_send)
                writer = writers[target]
                writer.add(f"recv {size}b from {from_rank} tag {recv_tag}{writer.cpu()}{writer.nic()}", after_recv)
    lines = [f"num_ranks {ranks}"]
    for rank, writer in enumerate(writers):
        lines += [f"rank {rank} {{", *writer.lines, "}"]
    return "\n".join(lines) + "\n"


def simulated(weft, text, parameters):
    options = [f"-{name}{value}" for name, value in parameters.items()]
    done = subprocess.run([weft, "simulate", "--goal", "-", "--compat", "lgs", "--format", "json", *options],
                          input=text, capture_output=True, text=True, timeout=60)
    if done.returncode == 2 and "rank " in done.stderr:
        return None
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    return report["events"], report["rank_end_ns"]


def expected(text, parameters):
    try:
        return goal_interpreter.interpret(text, **parameters)
    except goal_interpreter.Refused:
        return None


def main():
    weft, programs, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    refused = 0
    for seed in range(first, first + programs):
        rng = random.Random(seed)
        text = program(rng)
        parameters = rng.choice(PARAMETERS)
        want = expected(text, parameters)
        got = simulated(weft, text, parameters)
        if got != want:
            print(text)
            sys.exit(f"seed {seed}, {parameters}: the interpreter says {want}, the simulator {got}")
        refused += want is None
    if programs >= MANY and 2 * refused > programs:
        sys.exit(f"{refused} of {programs} programs do not end: they show little")
    print(f"{programs} programs agree; {refused} of them do not end")


if __name__ == "__main__":
    main()
