#!/usr/bin/env python3
"""What each kind of `[trace] events` and samples of allocations cost: a web application started up to its first complete answer, without any rule.

Processor time of the process up to the answer, then the application is ended in order, and the size of its recording and the number of its
events are looked up. The measure is the agent with no events at all."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import rounds
import web_application

KINDS = ["threads", "switches", "gc", "classes", "methods", "jit"]
LONGEST_END = 30


def variants():
    """Name -> lines of the configuration."""
    found = {"no events": ("events = []", "")}
    for kind in KINDS:
        found[kind] = (f'events = ["{kind}"]', "")
    found["allocation 512 KB"] = ("events = []", "[allocation]\n")
    found["allocation 64 KB"] = ("events = []", "[allocation]\ninterval-kb = 64\n")
    found["all of these"] = ("events = [" + ", ".join(f'"{kind}"' for kind in KINDS) + "]", "[allocation]\n")
    return found


def has_ended(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "Z"


def end(pid):
    os.kill(pid, signal.SIGTERM)
    latest = time.monotonic() + LONGEST_END
    while not has_ended(pid) and time.monotonic() < latest:
        time.sleep(0.02)


def recorder_milliseconds(pid):
    """Processor time of the agent's thread that writes the recording."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as file:
            if file.read().strip() != "instr-drainer":
                continue
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as file:
            return int(file.read().split()[0]) / 1e6
    return 0


def measure(o, directory, name, lines):
    """Processor time (of the process, and of the recorder's thread in it), events and kB of one start."""
    events, tables = lines
    recording = os.path.join(directory, "trace.jfr")
    path = os.path.join(directory, "instr.toml")
    with open(path, "w", encoding="utf-8") as file:
        # The rule takes nothing, as in a run that is only about events.
        file.write(f'[trace]\nfile = "{recording}"\n{events}\n{tables}[[rule]]\nclass = "no.such.Class"\n')

    def figures(pid, _):
        found = {"CPU s": web_application.cpu_seconds(f"/proc/{pid}/stat"), "recorder ms": recorder_milliseconds(pid)}
        end(pid)
        return found

    found = web_application.start_once([f"-agentpath:{os.path.abspath(o.agent)}={path}"], o, figures)
    if "error" in found:
        return found
    cli = os.path.join(os.path.dirname(os.path.abspath(o.agent)), "instr")
    report = subprocess.run([cli, "report", "--json", recording], capture_output=True, text=True, check=True)
    return {**found, "events": json.loads(report.stdout)["events"], "kB": os.path.getsize(recording) / 1000}


def main():
    o = web_application.options(__doc__)
    directory = tempfile.mkdtemp(prefix="instr-events-")
    try:
        wanted = rounds.chosen(variants(), o.only)
        results = rounds.run(wanted, o.rounds, lambda name: measure(o, directory, name, wanted[name]))
        rounds.table(results, ["CPU s", "recorder ms", "events", "kB"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
