#!/usr/bin/env python3
"""A run of a hundred million records: bytes of file and processor time of the drainer for each, what is lost, how long the report takes; then
the rate at which records begin to be lost, with the default buffer, as threads and calls a second are raised."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import load
import rounds

# Threads and steps of work between two chains of ten calls: the less work, the more records a second.
STAIRS = [(1, 1200), (1, 300), (1, 0), (2, 1200), (2, 600), (2, 300), (2, 100), (2, 0), (4, 300), (4, 0), (8, 300), (8, 0), (64, 600), (64, 300), (64, 0)]


def options():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--calls", type=int, default=100_000_000)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--work", type=int, default=300, help="steps of a random sequence (2.3 ns) between two chains of ten calls")
    parser.add_argument("--seconds", type=float, default=3, help="for each rate that is tried")
    parser.add_argument("--cli", help="the command instr; default: beside the agent")
    parser.add_argument("--short", action="store_true", help="1 round, rates of 1 s: some three minutes")
    o = parser.parse_args()
    if o.short:
        o.rounds, o.seconds = 1, 1
    o.cli = o.cli or os.path.join(os.path.dirname(os.path.abspath(o.agent)), "instr")
    return o


def of_many(o, classes, directory):
    """The long run and the report of its file."""
    file = os.path.join(directory, "kept.jfr")
    run = load.Run(o.java, classes, [o.threads], agent=o.agent, level="time", work=o.work, length=str(o.calls), keep=file)
    if run.error:
        return {"error": run.error}
    phase, records = run.phases[0], run.stats["records"]
    with tempfile.TemporaryFile("w+") as output:
        begin = time.monotonic()
        report = subprocess.Popen([o.cli, "report", file], stdout=output, stderr=subprocess.STDOUT)
        # By itself, as its memory is wanted and not that of the JVM before it.
        _, report.returncode, used = os.wait4(report.pid, 0)
        elapsed = time.monotonic() - begin
        output.seek(0)
        text = output.read()
    told = re.search(r"calls +([\d,]+) of", text)
    figures = {
        "million records": records / 1e6,
        "lost": run.stats["lost"],
        "million calls/s": phase["calls"] / phase["wall"] * 1e3,
        "CPU ns a call": phase["workers"] / phase["calls"],
        "bytes a record": run.file_bytes / records,
        "drainer ns a record": phase.get("instr-drainer", 0) / phase["calls"],
        "report CPU s": used.ru_utime + used.ru_stime,
        "report s": elapsed,
        "report MiB": used.ru_maxrss / 1024,
    }
    os.remove(file)
    if not told or int(told.group(1).replace(",", "")) != records:
        figures["error"] = f"the report tells {told and told.group(1)} calls of {records}: {text[-200:]}"
    return figures


def print_many(found):
    good = [figures for figures in found if "error" not in figures]
    for figures in found:
        if "error" in figures:
            print(f"\nerror: {figures['error']}")
    if good:
        print("\n| " + " | ".join(good[0]) + " |")
        print("|---" * len(good[0]) + "|")
        middle = {name: statistics.median(figures[name] for figures in good) for name in good[0]}
        print("| " + " | ".join(f"{value:,.0f}" if name == "lost" else f"{value:.2f}" for name, value in middle.items()) + " |")


def print_stairs(o, classes):
    print("\n| threads | steps between chains | million calls/s | of it recorded | lost | drainer ns a record | drainer's share of a processor |")
    print("|---|---|---|---|---|---|---|")
    for threads, work in STAIRS:
        run = load.Run(o.java, classes, [str(threads)], agent=o.agent, level="time", work=work, length=f"{o.seconds}s")
        if run.error:
            print(f"| {threads} | {work} | {run.error} |")
            continue
        phase, stats = run.phases[0], run.stats
        drainer = phase.get("instr-drainer", 0)
        # The warming up before has lost some too: the share is that of the whole run.
        share = stats["lost"] / max(stats["lost"] + stats["records"], 1)
        kept = phase["calls"] * (1 - share)
        print(f"| {threads} | {work} | {phase['calls'] / phase['wall'] * 1e3:.1f} | {100 * (1 - share):.2f} % | {stats['lost']:,} "
              f"| {drainer / max(kept, 1):.1f} | {100 * drainer / phase['wall']:.0f} % |", flush=True)


def main():
    o = options()
    directory = tempfile.mkdtemp(prefix="instr-records-", dir=os.environ.get("TMPDIR"))
    try:
        load.compile_program(o.java, directory)
        print(f"JDK {load.feature(o.java)}, {os.cpu_count()} processors, level time, default buffer (32 MiB)")
        found = []
        for number in range(o.rounds):
            found.append(of_many(o, directory, directory))
            print(f"round {number + 1}: {found[-1]}", file=sys.stderr, flush=True)
        print_many(found)
        print_stairs(o, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
