"""What anchors and conditional probes cost a call, beside the same call without them, in one JVM: `cargo xtask bench contexts`.

The figures are nanoseconds of processor time above a plain call: the least and the median of the rounds, and the median with two threads at a time.
With `--depths 1,5,15,50,200` they are those of a conditional probe outside its context, with so many frames between it and an anchor, for each place
where it can be kept what a thread is executing. The JVMs of several places and agents take turns.
"""
import argparse
import os
import statistics
import subprocess
import tempfile

CLAIMS = """
[[claim]]
methods = "Contexts.probed"
in = "Contexts.outer > Contexts.inner"

[[claim]]
methods = "Contexts.other"
in = "Contexts.first > Contexts.second"

[[claim]]
methods = "Contexts.probed"
in = "Contexts.deep > Contexts.second"

[[claim]]
methods = "Contexts.another"
in = "Contexts.outer > Contexts.second"

[[claim]]
methods = "Contexts.called"
in = "Contexts.outer > Contexts.caller"
direct = true
"""
CONFIG = """
[trace]
file = "trace.jfr"
max-file-mb = 64
[claims]
file = "claims.toml"
[contexts]
place = "PLACE"
[[rule]]
class = "nothing.**"
"""
# Calls of a loop on stacks of a certain depth: the stack is walked in microseconds.
CALLS = {"off-heap": 2_000_000, "thread-local": 2_000_000, "stack": 2_000}
MEANING = {
    "outside": "a conditional probe, outside",
    "besides": "a conditional probe, inside an anchor but not inside its context",
    "idleAnchor": "an anchor, outside",
    "nestedAnchor": "an anchor inside another one",
    "takesPlace": "the outermost anchor",
    "inside": "a conditional probe, inside: the call is recorded",
    "direct": "the same with `direct`",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--jvms", type=int, default=3)
    parser.add_argument("--places", default="off-heap", help="off-heap, thread-local, stack: one or several")
    parser.add_argument("--depths", help="on stacks of these depths")
    parser.add_argument("--old", help="an earlier build of the agent, beside the new one")
    o = parser.parse_args()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contexts", "Contexts.java")
    agents = {"": o.agent, **({"old, ": o.old} if o.old else {})}
    variants = [(f"{name}{place}", agent, place) for place in o.places.split(",") for name, agent in agents.items()]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([f"{o.java}/bin/javac", "-d", work, source], check=True)
        runs = {name: [] for name, _, _ in variants}
        for _ in range(o.jvms):
            for name, agent, place in variants:
                runs[name].append(run(o, work, os.path.abspath(agent), place))
    for name, found in runs.items():
        print(f"\n{name}")
        (print_depths if o.depths else print_loops)(found)


def print_loops(runs):
    print(f"{'':70} {'least':>7} {'median':>7} {'two threads':>12}   ns above a plain call (medians of the JVMs: from to)")
    for name, meaning in MEANING.items():
        above = [[run[name][at] - run["plain"][at] for run in runs] for at in range(3)]
        least, median, together = min(above[0]), statistics.median(above[1]), statistics.median(above[2])
        print(f"{meaning:70} {least:7.2f} {median:7.2f} {together:12.2f}   {min(above[1]):.2f} to {max(above[1]):.2f}")


def print_depths(runs):
    print(f"{'frames':>7} {'ns above a plain call':>22}   (medians of the JVMs: from to)")
    for depth in runs[0]:
        above = [run[depth][1] - run[depth][0] for run in runs]
        print(f"{depth:>7} {statistics.median(above):22.2f}   {min(above):.2f} to {max(above):.2f}")


def run(o, work, agent, place):
    # An earlier build knows no other places, and not the table.
    config = CONFIG.replace("PLACE", place) if place != "off-heap" else CONFIG.replace('[contexts]\nplace = "PLACE"\n', "")
    for name, text in [("claims.toml", CLAIMS), ("instr.toml", config)]:
        with open(os.path.join(work, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(work, name), 0o600)
    by_depth = [str(CALLS[place]), o.depths] if o.depths else []
    command = [f"{o.java}/bin/java", f"-agentpath:{agent}=instr.toml", "-cp", ".", "Contexts", str(o.rounds), *by_depth]
    done = subprocess.run(command, cwd=work, check=True, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: tuple(float(number) for number in numbers) for name, *numbers in lines}


if __name__ == "__main__":
    main()
