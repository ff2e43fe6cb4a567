#!/usr/bin/env python3
"""Methods that call a short one 20,000 times: how long they take without an agent, how long with every call measured, and what the report says
once it has subtracted the probes' own time."""
import json
import os
import shutil
import subprocess
import tempfile

import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
METHODS = ("callsOfOneStep", "callsOfTwentySteps", "callsOfTwoHundredSteps")
EXECUTIONS = 300
CONFIG = """[trace]
file = "{directory}/own.jfr"
max-file-mb = 2000
[governor]
enabled = false
[filter]
leaf = false
max-bytes = 0
[[rule]]
class = "OwnTime"
method = ["calls*", "steps"]
level = "time"
"""


def run(java, options, directory):
    """Milliseconds of an execution of each method, by the program's own clock."""
    command = [java + "/bin/java", *options, "-cp", directory, "OwnTime", str(EXECUTIONS)]
    output = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=True).stdout
    lines = dict(line.split() for line in output.splitlines() if line.startswith("OwnTime."))
    return {name: int(lines["OwnTime." + name]) / 1e6 for name in METHODS}


def report(instr, directory):
    """Milliseconds of an execution of each method, as `instr report` gives them, and the probes' share of the recorded time."""
    text = subprocess.run([instr, "report", "--json", os.path.join(directory, "own.jfr")], capture_output=True, text=True, check=True).stdout
    found = json.loads(text)
    rows = {row["method"]: row for row in found["frames"]}
    return {name: rows[name]["total"] / rows[name]["calls"] / 1e6 for name in METHODS}, found["probes"]["percent"]


def measure(name, o, directory):
    if name == "none":
        return run(o.java, [], directory)
    measured = run(o.java, [f"-agentpath:{o.agent}={directory}/own.toml"], directory)
    reported, percent = report(os.path.join(os.path.dirname(o.agent), "instr"), directory)
    os.remove(os.path.join(directory, "own.jfr"))
    return {"measured": measured, "reported": reported, "percent": percent}


def main():
    o = rounds.arguments(__doc__).parse_args()
    o.agent = os.path.abspath(o.agent)
    directory = tempfile.mkdtemp(prefix="instr-own-time-")
    try:
        with open(os.path.join(directory, "own.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(directory=directory))
        subprocess.run([o.java + "/bin/javac", "-d", directory, os.path.join(HERE, "own", "OwnTime.java")], check=True)
        results = rounds.run({"none": None, "time": None}, o.rounds, lambda name: measure(name, o, directory))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print("| one execution, ms | without agent | with every call measured | as reported, less the probes | reported / without |\n|---|---|---|---|---|")
    for name in METHODS:
        truth = rounds.median(results["none"], name)
        measured = rounds.median([figures["measured"] for figures in results["time"]], name)
        reported = rounds.median([figures["reported"] for figures in results["time"]], name)
        print(f"| {name} | {truth:.3f} | {measured:.3f} | {reported:.3f} | {reported / truth:.2f} |")
    print(f"\nProbes' share, as reported: {rounds.median(results['time'], 'percent'):.1f} %")


if __name__ == "__main__":
    main()
