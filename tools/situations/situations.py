#!/usr/bin/env python3
"""Starts jobs in situations that real machines have, on emulated nodes, and says how each job ends.

    python3 tools/situations/situations.py [NAME...] -- PROGRAM...

PROGRAM is a rank: it reads RANK (or JOB_COMPLETION_INDEX), WORLD_SIZE, MASTER_ADDR and MASTER_PORT, joins the others
without other settings, exchanges messages with all of them, prints "3 of 4" as rank 3 of 4, and ends with status 0.
`gloo_rank.py` is one for gloo. The status is 1 if a job does not end as it should.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PORT = 29500
PORTS_FOR_STORES = 10  # behind it; then come those of Weft's rank 0

# A program's store, or another one's: it listens at these ports, and says nothing to anyone.
LISTEN = """import socket, sys, time
listeners = [socket.create_server(("", int(port))) for port in sys.argv[2:]]
open(sys.argv[1], "w").close()
time.sleep(1000)
"""


@dataclass
class Situation:
    name: str
    about: str
    nodes: int = 2
    links: int = 1
    ranks_of_node: int = 2
    master: str = "node0"
    address: str = "10.77.0.%d"      # of node number % (from 1): what its name means
    own_address: str = ""            # ... on the node itself, if that differs
    change: str = ""                 # on every node, which is number $n
    before: str = ""                 # before a rank, which is number $r
    launcher: str = ""               # before all ranks are started
    last: str = ""                   # before the last rank is started
    settings: str = ""               # of every rank
    is_indexed: bool = False
    sentence: str = ""               # empty: all join; else what all that started say, as a regular expression


def situations(late_s, patience):
    """All of them. `late_s`: how late a rank comes. `patience`: the setting for how long one is waited for."""
    bridge = ("ip link add docker0 type bridge; ip address add 172.17.0.1/16 dev docker0; "
              "ip link add c0 type veth peer name c1; ip link set c0 master docker0; ip link set c0 up; "
              "ip link set c1 up; ip link set docker0 up")
    tunnel = ("ip tuntap add dev tun0 mode tun || ip link add tun0 type dummy; "
              "ip address add 10.9.0.1/24 dev tun0; ip link set tun0 up")
    rename = "ip link set eth%d down; ip link set eth%d name ib$n; ip link set ib$n up"
    cut = dict(nodes=3, ranks_of_node=1,
               change="[ $n != 2 ] || { ip route add blackhole 10.77.0.2; "
                      "ip -6 route add blackhole fd77:6566:7400::2 || true; }",
               sentence=r"rank (1 of the job has called it in vain at 10\.77\.0\.3|2 of the job has called it in vain "
                        r"at 10\.77\.0\.2):\d+ .*\(WEFT_INTERFACES chooses other interfaces\)")
    return [
        Situation("torchrun", "torchrun's variables for 2 ranks on each of 2 nodes", master="10.77.0.1"),
        Situation("indexed", "an indexed job of Kubernetes", is_indexed=True, ranks_of_node=1, master="job-0.pods"),
        Situation("bridge", "a bridge of containers with the same address on each node", change=bridge),
        Situation("own-name", "a node's own name is 127.0.1.1 there", own_address="127.0.1.1"),
        Situation("interfaces", "three interfaces, of which the last one leads to the other node", links=3,
                  address="10.77.2.%d",
                  change="ip address flush dev eth0; ip address add 172.17.0.1/16 dev eth0; "
                         "ip address flush dev eth1; ip address add 192.168.$n.1/24 dev eth1"),
        Situation("ipv6", "IPv6 alone", master="fd77:6566:7400::1", address="fd77:6566:7400::%d",
                  change="ip -4 address flush dev eth0"),
        Situation("tunnel", "a tunnel with the same address on each node, and no route through it", change=tunnel),
        Situation("names", "interfaces that are called otherwise on each node", change=rename % (0, 0)),
        Situation("late", "a rank that comes %g s late" % late_s, before="[ $r != 3 ] || sleep %g;" % late_s),
        Situation("dead", "a rank that dies before it joins", settings=patience,
                  before="[ $r != 3 ] || kill -9 $$;", sentence="rank 3 had not joined after"),
        Situation("port", "other programs have MASTER_PORT and rank 0's first port",
                  launcher="(on node0 exec python3 listen.py listens %d %d) > /dev/null 2>&1 & others=$!\n"
                           "until [ -e listens ]; do sleep 0.02; done\n" % (PORT, PORT + PORTS_FOR_STORES)),
        Situation("stranger", "another process, without the key, comes first as the last rank",
                  settings="WEFT_JOB_KEY=right",
                  last="for i in 1 2 3 4 5 6; do\n"
                       "    if (STRANGER) > stranger 2>&1; then echo a stranger has joined; break; fi\n"
                       "    grep -q 'another job is there, or WEFT_JOB_KEY differs' stranger && break\n"
                       "done || { cat stranger >&2; status=1; }\n"),
        # Besides the twelve:
        Situation("elsewhere", "two nodes reach each other only in another network than the first one", nodes=3,
                  links=2, ranks_of_node=1, master="10.77.0.1",
                  change="[ $n = 0 ] || ip route add blackhole 10.77.0.$((4 - n))"),
        Situation("chosen", "the same, and WEFT_INTERFACES names that network", nodes=3,
                  links=2, ranks_of_node=1, master="10.77.0.1", settings="WEFT_INTERFACES=eth1",
                  change="[ $n = 0 ] || ip route add blackhole 10.77.0.$((4 - n))"),
        Situation("cut", "two nodes reach the first one, but not each other",
                  settings="WEFT_ALGORITHM=alltoall=flat WEFT_PEER_TIMEOUT=1", **cut),
        Situation("cut-ahead", "the same, where connections are made ahead",
                  settings="WEFT_RESOURCES=connect=ahead WEFT_PEER_TIMEOUT=1", **cut),
        Situation("families", "one node has IPv6 alone, and the others have chosen IPv4", nodes=3, ranks_of_node=1,
                  change="[ $n != 2 ] || ip -4 address flush dev eth0",
                  before="m=10.77.0.1; [ $n != 2 ] || m=fd77:6566:7400::1;", settings="MASTER_ADDR=$m"),
    ]


def launcher_of(situation, folder, program):
    """The script that starts the ranks, beside the nodes."""
    s = situation
    for node in range(s.nodes):
        with open(os.path.join(folder, "hosts%d" % node), "w") as hosts:
            hosts.write("127.0.0.1 localhost\n")
            for other in range(s.nodes):
                address = s.own_address if s.own_address and other == node else s.address % (other + 1)
                hosts.write("%s node%d%s\n" % (address, other, " job-0.pods" if other == 0 else ""))

    def started(rank, more=""):
        node = rank // s.ranks_of_node
        local = rank % s.ranks_of_node
        ranks = s.nodes * s.ranks_of_node
        number = "JOB_COMPLETION_INDEX=%d" % rank if s.is_indexed else "RANK=%d LOCAL_RANK=%d" % (rank, local)
        return "on node%d %s" % (node, shlex.quote(
            "n=%d; r=%d; mount --bind hosts$n /etc/hosts; %s exec env %s WORLD_SIZE=%d MASTER_ADDR=%s MASTER_PORT=%d "
            "%s %s %s" % (node, rank, s.before, number, ranks, s.master, PORT, s.settings, more, program)))

    script = ("unset WEFT_INTERFACES\ncd %s\n"
              'on() { node=$1; shift; $WEFT_CLUSTER_AGENT $node "$*"; }\n' % shlex.quote(folder))
    for node in range(s.nodes):
        if s.change:
            script += "on node%d %s || exit\n" % (node, shlex.quote("set -e; n=%d; %s" % (node, s.change)))
    script += s.launcher
    last = s.nodes * s.ranks_of_node - 1
    for rank in range(last + 1):
        if rank == last:
            script += s.last.replace("STRANGER", started(rank, "WEFT_JOB_KEY=wrong WEFT_STARTUP_TIMEOUT=0.5"))
        script += started(rank) + ' & pids="$pids $!"\n'
    return script + ("for pid in $pids; do wait $pid || status=$?; done\n"
                     "[ -z \"$others\" ] || kill $others\nexit ${status:-0}\n")


def run(situation, program, weft, limit_s):
    """Whether the job ended as it should, and how."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("listen.py", LISTEN), ("launcher", launcher_of(situation, folder, program))):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        command = [weft, "run", "--nodes", str(situation.nodes), "--links", str(situation.links), "--timeout",
                   str(limit_s), "--exec-per-node", "sh", os.path.join(folder, "launcher")]
        environment = {name: value for name, value in os.environ.items()
                       if not re.match("WEFT_|RANK$|WORLD_SIZE$|MASTER_|SLURM_|PMI|TORCHELASTIC_", name)}
        environment["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        took = time.monotonic() - began
    ranks = situation.nodes * situation.ranks_of_node
    has_joined = (done.returncode == 0 and
                  sorted(done.stdout.splitlines()) == sorted("%d of %d" % (rank, ranks) for rank in range(ranks)))
    if has_joined:
        return not situation.sentence, "joined after %.1f s" % took
    is_right = bool(situation.sentence and re.search(situation.sentence, done.stderr))
    said = [line for line in (done.stderr + done.stdout).splitlines() if not line.startswith("weft run: ")]
    return is_right, "failed after %.1f s, status %d: %s" % (took, done.returncode, " | ".join(said))


def main():
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="%(prog)s [options] [NAME...] -- PROGRAM...")
    parser.add_argument("names", nargs="*", help="situations (default: all)")
    parser.add_argument("--list", action="store_true", help="list the situations")
    parser.add_argument("--weft", default=os.path.join(SOURCE, "build", "dev", "weft"), help="the program weft")
    parser.add_argument("--late", type=float, default=20, help="how late a rank comes, in seconds")
    parser.add_argument("--patience", type=float, help="WEFT_STARTUP_TIMEOUT where a rank is dead (default: not set)")
    parser.add_argument("--limit", type=int, default=120, help="end a job after this many seconds")
    options = parser.parse_args(arguments[:at])
    # Ranks run in another folder.
    program = " ".join(shlex.quote(os.path.abspath(word) if os.path.exists(word) else word)
                       for word in arguments[at + 1:])
    patience = "" if options.patience is None else "WEFT_STARTUP_TIMEOUT=%g" % options.patience
    everything = situations(options.late, patience)
    if options.list:
        for situation in everything:
            print("%-12s %s" % (situation.name, situation.about))
        return 0
    unknown = set(options.names) - {situation.name for situation in everything}
    if unknown or not program:
        parser.error("no situation %s" % ", ".join(sorted(unknown)) if unknown else "expected -- PROGRAM...")
    status = 0
    for situation in everything:
        if options.names and situation.name not in options.names:
            continue
        is_right, how = run(situation, program, options.weft, options.limit)
        status |= not is_right
        print("%-12s %s" % (situation.name, how), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
