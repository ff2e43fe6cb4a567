"""What a walk costs a program whose processors are busy, beside probes in all of its methods: `cargo xtask bench walk_cost`.

In a JVM each, windows with and without take turns. A window with is as long as an `instr walk` takes, from its beginning to half a second after its end; or probes of level time are in all
methods of the program for the same time, inserted and removed within it, too. A window without is as long. The figures are ratios of requests a second and of processor time a request; then how many calls a
walk records, of those that probes in all methods do, and how far its shares of callers are from theirs.
"""
import json
import os
import re
import subprocess
import tempfile
import time

import rounds
import windows

HERE = os.path.dirname(os.path.abspath(__file__))
# Samples name methods that are inlined, and a walk goes up from the innermost one.
NOTES_INLINED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints")
CONFIG = "[trace]\nfile = \"{directory}/{kind}.jfr\"\nmax-file-mb = 4000\n[governor]\nenabled = false\n[[rule]]\nclass = \"none.**\"\n"
SETTLED = 0.5


class Program:
    """A program that answers each line with the requests that it has served and the processor time that it has used."""

    def __init__(self, o, directory, kind, main="Orders"):
        config = os.path.join(directory, kind + ".toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(directory=directory, kind=kind))
        command = [o.java + "/bin/java", "-Xmx512m", *NOTES_INLINED, f"-agentpath:{o.agent}={config}", "-cp", directory, main]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def counted(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        served, nanos = self.process.stdout.readline().split()
        return time.monotonic(), int(served), int(nanos)

    def window(self, during):
        begin = self.counted()
        during()
        time.sleep(SETTLED)
        seconds, served, nanos = (end - first for end, first in zip(self.counted(), begin))
        return {"requests": served / seconds, "cpu": nanos / served, "seconds": seconds}


def main():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--all-pairs", type=int, default=6, help="pairs of windows without probes and with probes in all methods")
    o = parser.parse_args()
    o.agent = os.path.abspath(o.agent)
    instr = os.path.join(os.path.dirname(o.agent), "instr")
    with tempfile.TemporaryDirectory(prefix="instr-walk-cost-") as directory:
        subprocess.run([o.java + "/bin/javac", "-d", directory, os.path.join(HERE, "walk_cost", "Orders.java")], check=True)
        walked, seconds, levels = measure_walks(o, instr, Program(o, directory, "walk"))
        everything, calls = measure_all(o, instr, Program(o, directory, "all"), seconds)
        for name, found in (("a walk", walked), ("all methods", everything)):
            print(f"{name}: requests {windows.text(found, lambda of: of['requests'])}, CPU a request {windows.text(found, lambda of: of['cpu'])}", flush=True)
        compare(levels, calls, instr, os.path.join(directory, "all.jfr"))


def measure_walks(o, instr, program):
    """Pairs of windows without and with a walk, and how long those with one are."""
    pid, lengths, levels = str(program.process.pid), [], []

    def walk():
        begin = time.monotonic()
        done = subprocess.run([instr, "walk", pid, "--json", "--seconds", "3", "--levels", "2"], capture_output=True, text=True, check=True)
        lengths.append(time.monotonic() - begin)
        levels.append(json.loads(done.stdout))

    time.sleep(10)
    walk()
    found = windows.pairs(o.pairs, lambda is_with: program.window(walk if is_with else lambda: time.sleep(lengths[-1])))
    program.process.kill()
    hooks = [of["hooks"] for of in levels]
    print(f"walks: {len(levels)} of {min(lengths):.1f} to {max(lengths):.1f} s, at most {max(of['most'] for of in hooks)} probes at a time, "
          f"{max(of['calls'] for of in hooks):,} recorded calls, longest stop {max(of['longest_stop_ms'] for of in hooks):.1f} ms; from {levels[-1]['hot'][0]['method']}")
    return found, lengths[-1], levels


def measure_all(o, instr, program, seconds):
    """Pairs of windows without and with probes in all methods."""
    pid, calls = str(program.process.pid), []

    def probed():
        done = subprocess.run([instr, "probe", pid, "Orders*.*", "--for", "10m", "--calls", "100000000000"], capture_output=True, text=True, check=True)
        time.sleep(seconds)
        claim = re.search(r"claim (\d+)", done.stdout)
        claims = json.loads(subprocess.run([instr, "claims", pid, "--json"], capture_output=True, text=True, check=True).stdout)["claims"]
        calls.append(sum(of["hits"] or 0 for of in claims if of["owner"] == "user"))
        subprocess.run([instr, "remove", pid, claim.group(1)], capture_output=True, text=True, check=True)

    time.sleep(10)
    probed()
    found = windows.pairs(o.all_pairs, lambda is_with: program.window(probed if is_with else lambda: time.sleep(seconds)))
    program.process.kill()
    return found, calls


CALLER = re.compile(r"^ *([\d.]+) (s|ms|µs) +([\d,]+)  (Orders\S+)(?: \[.*\])?$")
IN_SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


def callers_of(method, instr, recording):
    """Calls and seconds by caller, of a recording with all methods."""
    text = subprocess.run([instr, "report", recording, "--method", method], capture_output=True, text=True, check=True).stdout
    found = map(CALLER.match, text.split("calls  calls")[0].splitlines())
    return {of.group(4): (int(of.group(3).replace(",", "")), float(of.group(1)) * IN_SECONDS[of.group(2)]) for of in found if of}


def compare(levels, calls, instr, recording):
    """Shares of callers, by walks and by a recording of all calls."""
    known, off = {}, []
    for level in (level for walk in levels for level in walk["levels"] if level["source"] == "measured"):
        method = level["of"].split("(")[0]
        found = known[method] if method in known else known.setdefault(method, callers_of(method, instr, recording))
        for caller in level["callers"]:
            name = caller["method"].split("(")[0]
            for at, share in enumerate((caller["calls_share"], caller["time_share"])):
                if name in found and share is not None:
                    off.append((at, abs(share - found[name][at] / sum(of[at] for of in found.values())) * 100))
    share = max(of["hooks"]["calls"] for of in levels) / min(calls)
    print(f"calls of probes: at most {share * 100:.3f} % of the {min(calls):,} to {max(calls):,} with probes in all methods")
    for at, what in enumerate(("calls", "time")):
        points = [of for which, of in off if which == at]
        print(f"shares of {what} of the callers of {len(known)} methods, {len(points)} in all: at most {max(points):.1f} points from those of all calls, {sum(points) / len(points):.1f} on the average")


if __name__ == "__main__":
    main()
