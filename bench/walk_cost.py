"""What a walk costs a program whose processors are busy, beside probes in all of its methods: `cargo xtask bench walk_cost`.

In a JVM each, windows with and without take turns. A window with is as long as an `instr walk` takes, from its beginning to half a second after its end; or probes of level time are in all
methods of the program for the same time, inserted and removed within it, too. A window without is as long. The figures are ratios of requests a second and of processor time a request.
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
CONFIG = "[trace]\nfile = \"{directory}/{kind}.jfr\"\nmax-file-mb = 4000\n[governor]\nenabled = false\n[[rule]]\nclass = \"none.**\"\n"
SETTLED = 0.5


class Program:
    """A program that answers each line with the requests that it has served and the processor time that it has used."""

    def __init__(self, o, directory, kind, main="Orders"):
        config = os.path.join(directory, kind + ".toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(directory=directory, kind=kind))
        command = [o.java + "/bin/java", "-Xmx512m", f"-agentpath:{o.agent}={config}", "-cp", directory, main]
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
        walked, seconds = measure_walks(o, instr, Program(o, directory, "walk"))
        everything = measure_all(o, instr, Program(o, directory, "all"), seconds)
    for name, found in (("a walk", walked), ("all methods", everything)):
        print(f"{name}: requests {windows.text(found, lambda of: of['requests'])}, CPU a request {windows.text(found, lambda of: of['cpu'])}")


def measure_walks(o, instr, program):
    """Pairs of windows without and with a walk, and how long those with one are."""
    pid, lengths, levels = str(program.process.pid), [], []

    def walk():
        begin = time.monotonic()
        done = subprocess.run([instr, "walk", pid, "--json", "--seconds", "3", "--levels", "3"], capture_output=True, text=True, check=True)
        lengths.append(time.monotonic() - begin)
        levels.append(json.loads(done.stdout))

    time.sleep(10)
    walk()
    found = windows.pairs(o.pairs, lambda is_with: program.window(walk if is_with else lambda: time.sleep(lengths[-1])))
    program.process.kill()
    hooks = [of["hooks"] for of in levels]
    print(f"walks: {len(levels)} of {min(lengths):.1f} to {max(lengths):.1f} s, at most {max(of['most'] for of in hooks)} probes at a time, "
          f"{max(of['calls'] for of in hooks):,} recorded calls, longest stop {max(of['longest_stop_ms'] for of in hooks):.1f} ms; from {levels[-1]['hot'][0]['method']}")
    return found, lengths[-1]


def measure_all(o, instr, program, seconds):
    """Pairs of windows without and with probes in all methods."""
    pid = str(program.process.pid)

    def probed():
        done = subprocess.run([instr, "probe", pid, "Orders*.*", "--for", "10m", "--calls", "100000000000"], capture_output=True, text=True, check=True)
        time.sleep(seconds)
        claim = re.search(r"claim (\d+)", done.stdout)
        subprocess.run([instr, "remove", pid, claim.group(1)], capture_output=True, text=True, check=True)

    time.sleep(10)
    probed()
    found = windows.pairs(o.all_pairs, lambda is_with: program.window(probed if is_with else lambda: time.sleep(seconds)))
    program.process.kill()
    return found


if __name__ == "__main__":
    main()
