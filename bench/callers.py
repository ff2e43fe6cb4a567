"""How long it takes to know the callers of a method to two points, and what that costs a program whose processors are busy, by samples and by a hook: `cargo xtask bench callers`.

Both look at the same method in one JVM, in turn, each for the time that it needs: a first look says how far the margins are from two points. Windows with a look and without take turns. The figures are
seconds, margins, and ratios of processor time a request.
"""
import json
import os
import subprocess
import tempfile
import time

import rounds
import windows
from walk_cost import Program

HERE = os.path.dirname(os.path.abspath(__file__))
METHOD = "Orders$Prices.discount"
POINTS = 0.02
LONGEST = 240


def look(instr, pid, source, seconds, hits):
    command = [instr, "callers", pid, METHOD, "--source", source, "--seconds", str(seconds), "--json"]
    done = subprocess.run(command + (["--hits", str(hits)] if source == "finder" else []), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def largest(found, margin):
    return max(of[margin] for of in found["callers"] if of["time_share"] >= 0.05)


def needed(instr, pid, source):
    """Seconds and hits with which margins are within two points, by two looks: margins shrink with the root of what is seen."""
    seconds, hits = 10, 2500
    for _ in range(2):
        found = look(instr, pid, source, seconds, hits)
        margin = largest(found, "calls_margin" if source == "finder" else "margin")
        more = (margin / POINTS) ** 2
        seconds, hits = min(LONGEST, max(1, round(seconds * (more if source == "samples" else 1) + 0.5))), max(100, round(hits * more))
    return seconds, hits


def main():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    o = parser.parse_args()
    o.agent = os.path.abspath(o.agent)
    instr = os.path.join(os.path.dirname(o.agent), "instr")
    with tempfile.TemporaryDirectory(prefix="instr-callers-") as directory:
        subprocess.run([o.java + "/bin/javac", "-d", directory, os.path.join(HERE, "walk_cost", "Orders.java")], check=True)
        program = Program(o, directory, "callers")
        pid = str(program.process.pid)
        time.sleep(10)
        for source in ("samples", "finder"):
            seconds, hits = needed(instr, pid, source)
            lengths, seen = [float(seconds)], []

            def looked():
                begin = time.monotonic()
                seen.append(look(instr, pid, source, seconds, hits))
                lengths.append(time.monotonic() - begin)

            found = windows.pairs(o.pairs, lambda is_with: program.window(looked if is_with else lambda: time.sleep(lengths[-1])))
            margins = {name: max(largest(of, name) for of in seen) for name in ("margin", "calls_margin") if name in seen[0]["callers"][0]}
            print(f"{source}: {min(lengths[1:]):.1f} to {max(lengths[1:]):.1f} s, largest margins {', '.join(f'{name} {of * 100:.1f}' for name, of in margins.items())} points, "
                  f"CPU a request {windows.text(found, lambda of: of['cpu'])}, requests {windows.text(found, lambda of: of['requests'])}"
                  + (f", {seen[-1]['hook']['calls']} hits" if source == "finder" else f", {seen[-1]['samples']} samples of it"), flush=True)
        program.process.kill()


if __name__ == "__main__":
    main()
