"""What anchors and conditional probes cost a call, beside the same call without them, in one JVM: `cargo xtask bench contexts`.

The figures are nanoseconds above a plain call: the least and the median of the rounds, and the median with two threads at a time.
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
[[rule]]
class = "nothing.**"
"""
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
    o = parser.parse_args()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contexts", "Contexts.java")
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([f"{o.java}/bin/javac", "-d", work, source], check=True)
        for name, text in [("claims.toml", CLAIMS), ("instr.toml", CONFIG)]:
            with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(os.path.join(work, "claims.toml"), 0o600)
        runs = [run(o, work) for _ in range(o.jvms)]
    print(f"{'':70} {'least':>7} {'median':>7} {'two threads':>12}   ns above a plain call")
    for name, meaning in MEANING.items():
        above = [[run[name][at] - run["plain"][at] for run in runs] for at in range(3)]
        least, median, together = min(above[0]), statistics.median(above[1]), statistics.median(above[2])
        print(f"{meaning:70} {least:7.2f} {median:7.2f} {together:12.2f}")


def run(o, work):
    command = [f"{o.java}/bin/java", f"-agentpath:{o.agent}=instr.toml", "-cp", ".", "Contexts", str(o.rounds)]
    done = subprocess.run(command, cwd=work, check=True, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: tuple(float(number) for number in numbers) for name, *numbers in lines}


if __name__ == "__main__":
    main()
