#!/usr/bin/env python3
"""How good are level watch's estimates? Three programs in which each call is measured both ways at once, exactly and by ticks: error of
each method, how many of the 95 % intervals hold the exact time, and bias."""
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(HERE)
WATCH = os.path.join(HERE, "watch")
JAR = os.path.join(WATCH, "target", "watch.jar")
LIBRARIES = os.path.join(WATCH, "target", "lib", "*")

# Program -> (classes that are measured, rounds of its fixed work).
PROGRAMS = {
    "Json": (["watched.**", "com.fasterxml.jackson.**"], 150),
    "Expressions": (["watched.**", "java.util.regex.**"], 40),
    "Mixed": (["watched.**", "java.io.RandomAccessFile", "java.util.DualPivotQuicksort"], 1500),
}
BANDS = [(0.001, 0.01), (0.01, 0.05), (0.05, 0.5001)]


def template(o, directory):
    """The template that measures both ways, compiled against the runtime's sources."""
    source = os.path.join(WATCH, "template", "watched", "template", "Both.java")
    runtime = os.path.join(PROJECT, "java-runtime", "src")
    path = os.pathsep.join([os.path.join(runtime, "main", "java"), os.path.join(runtime, "stubs", "java")])
    classes = os.path.join(directory, "template")
    os.makedirs(classes)
    subprocess.run([o.java + "/bin/javac", "--release", "8", "-Xlint:-options", "-implicit:none", "-sourcepath", path, "-d", classes, source],
                   check=True)
    return classes


def config(o, directory, classes, trace, templates):
    path = os.path.join(directory, "watch.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[trace]\nfile = "{trace}"\nbuffer-mb = 512\nmax-file-mb = 6000\n[agent]\ntemplates = "{templates}"\n'
                   f'stats = "{directory}/stats.json"\n[control]\nlive = true\n[governor]\nenabled = false\n'
                   f"[watch]\ntick-us = {o.tick_us}\n"
                   f'[[rule]]\nclass = {json.dumps(classes)}\ntemplate = "both"\nlevel = "time"\n')
    return path


def measure(o, name):
    """Runs a program once; what the reader makes of its recording."""
    classes, amount = PROGRAMS[name]
    directory = tempfile.mkdtemp(prefix="instr-watch-", dir=o.directory)
    try:
        trace = os.path.join(directory, "trace.jfr")
        toml = config(o, directory, classes, trace, template(o, directory))
        command = [o.java + "/bin/java", "-Xms256m", "-Xmx256m", f"-agentpath:{os.path.abspath(o.agent)}={toml}",
                   "-cp", os.pathsep.join([JAR, LIBRARIES]), "watched." + name, str(int(amount * o.work))]
        run = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
        if "RESULT" not in run.stdout:
            sys.exit(f"error: {name} failed: {(run.stdout + run.stderr)[-500:]}")
        with open(os.path.join(directory, "stats.json"), encoding="utf-8") as file:
            lost = json.load(file)["lost"]
        read = subprocess.run([o.reader, trace, directory], capture_output=True, text=True, check=True)
        return {**json.loads(read.stdout), "lost": lost, "bytes": os.path.getsize(trace)}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def comparisons(found):
    """(kind, name, share, exact, estimate, margin) of each method and kind of time; times in nanoseconds."""
    tick = float(dict(found["settings"]).get("watch.tick-rms-ns", 1e6))
    for method in found["methods"]:
        estimate = method["estimate"] or {}
        for kind in ("total", "own"):
            exact = method["exact"][kind]
            # No tick at all: up to three may have been missed (rule of three). A report does not show such a method.
            yield kind, method["name"], exact / found["total"], exact, estimate.get(kind, 0), estimate.get(kind + "_margin", 3 * tick)


def summary(title, rows):
    """One line: errors, coverage and bias of some comparisons."""
    if not rows:
        return
    errors = [abs(estimate - exact) / exact for _, _, _, exact, estimate, _ in rows]
    margins = [margin / exact for _, _, _, exact, _, margin in rows]
    inside = sum(abs(estimate - exact) <= margin for _, _, _, exact, estimate, margin in rows)
    scores = [1.96 * (estimate - exact) / margin for _, _, _, exact, estimate, margin in rows if margin]
    bias = sum(row[4] for row in rows) / sum(row[3] for row in rows) - 1
    print(f"| {title} | {len(rows)} | {100 * statistics.median(errors):.1f} % | {100 * statistics.median(margins):.1f} % "
          f"| {100 * inside / len(rows):.1f} % | {100 * bias:+.2f} % | {statistics.mean(scores):+.2f} +- {1 / math.sqrt(len(scores)):.2f} "
          f"| {statistics.pstdev(scores):.2f} |")


def details(found):
    print(f"{'share':>7} {'exact ms':>10} {'estimate':>10} {'+-':>8} {'score':>6}  kind  method", file=sys.stderr)
    for kind, name, share, exact, estimate, margin in sorted(comparisons(found), key=lambda row: -row[2]):
        if share >= 0.001:
            score = 1.96 * (estimate - exact) / margin if margin else float("nan")
            print(f"{100 * share:6.1f}% {exact / 1e6:10.1f} {estimate / 1e6:10.1f} {margin / 1e6:8.1f} {score:6.2f}  {kind:5} {name[:90]}",
                  file=sys.stderr)


def main():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--reader", required=True, help="the example watch_against_exact of the crate trace")
    parser.add_argument("--tick-us", type=int, default=1000)
    parser.add_argument("--work", type=float, default=1.0, help="factor on each program's fixed work")
    parser.add_argument("--directory", help="where recordings of up to some gigabytes go for a moment")
    parser.add_argument("--details", action="store_true", help="every method, on stderr")
    o = parser.parse_args()
    o.java, o.reader = os.path.abspath(o.java), os.path.abspath(o.reader)
    names = o.only.split(",") if o.only else list(PROGRAMS)
    everything = []
    print("| program, round | methods of 0.1 to 50 % | median error | median interval (95 %) | inside it | sum of estimates | mean score | its spread |")
    print("|---|---|---|---|---|---|---|---|")
    for number in range(o.rounds):
        for name in names:
            found = measure(o, name)
            rows = [row for row in comparisons(found) if BANDS[0][0] <= row[2] < BANDS[-1][1]]
            everything += rows
            settings = dict(found["settings"])
            whole = found["estimated_total"] / found["total"] - 1
            print(f"{name} {number + 1}: {found['total'] / 1e9:.2f} s in {found['calls']} calls, {found['ticks_seen']} seen by ticks, "
                  f"{found['lost']} lost, {found['bytes'] / 1e6:.0f} MB; tick {settings.get('watch.tick-mean-ns')} ns, rms "
                  f"{settings.get('watch.tick-rms-ns')} ns, longest {settings.get('watch.tick-max-ns')} ns; all together {100 * whole:+.2f} %", file=sys.stderr, flush=True)
            summary(f"{name} {number + 1}", rows)
            if o.details:
                details(found)
    for low, high in BANDS:
        for kind in ("total", "own"):
            rows = [row for row in everything if low <= row[2] < high and row[0] == kind]
            summary(f"all, {kind} of {100 * low:g} to {100 * high:.0f} %", rows)
    summary("all", everything)


if __name__ == "__main__":
    main()
