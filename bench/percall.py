#!/usr/bin/env python3
"""One monitored call: CPU nanoseconds above those of the same loop without an agent, and against two clock readings."""
import os
import shutil
import statistics
import subprocess
import tempfile

import load
import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
# Kieker takes what it measures from the environment only.
KIEKER = {"KIEKER_SIGNATURES_INCLUDE": "long percall.Monitored.call(int)"}
PROGRAM = os.path.join(HERE, "percall", "target", "percall.jar")
METHOD = "percall.Monitored"


# What one probe costs is measured with the governor off: it would take a watched one away and lower the others.
UNGOVERNED = "[governor]\nenabled = false\n"


def config(directory, level, mode="inline", live=False):
    path = os.path.join(directory, f"{level}-{mode}-{live}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(UNGOVERNED + ("[control]\nlive = true\n" if live else ""))
        file.write(f'[[rule]]\nclass = "{METHOD}"\nmethod = "call(int)"\ntemplate = "timed"\nlevel = "{level}"\nmode = "{mode}"\n')
    return path


def full_config(directory, cpu_time):
    """Level full with somebody who wants its figures; the page gets a port that is free."""
    path = os.path.join(directory, f"full-cpu-{cpu_time}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(UNGOVERNED)
        file.write(f'[metrics]\nopenmetrics = "127.0.0.1:0"\ncpu-time = {cpu_time}\n')
        file.write(f'[[rule]]\nclass = "{METHOD}"\nmethod = "call(int)"\nlevel = "full"\n')
    return path


def variants(o, directory):
    """Name -> (body, JVM options)."""
    found = {"none": ("plain", []), "clock-pair": ("clock-pair", [])}
    configs = {}
    for level in ("off", "watch", "time"):
        configs[level] = config(directory, level)
        configs[level + "-wrapper"] = config(directory, level, "wrapper")
        configs[level + "-live"] = config(directory, level, live=True)
    configs["full"] = full_config(directory, "true")
    configs["full-without-cpu-time"] = full_config(directory, "false")
    for name, path in configs.items():
        for build, agent in rounds.builds(o).items():
            found[f"{build}instr-{name}"] = ("plain", [f"-agentpath:{agent}={path}"])
    found.update(peers(o))
    return found


def peers(o):
    """What others offer for the same method, as far as it is there."""
    found = {}
    engines = rounds.peer(o.peers, "bench-engines.jar")
    if engines:
        found["asm"] = ("plain", [f"-javaagent:{engines}=asm:{METHOD}"])
        found["byte-buddy"] = ("plain", [f"-javaagent:{engines}=bb:{METHOD}"])
    timer = rounds.peer(o.peers, "byte-buddy-timer.jar")
    if timer:
        found["byte-buddy"] = ("plain", [f"-javaagent:{timer}={METHOD}.call"])
    profiler = rounds.peer(o.peers, "linux-x64/libasyncProfiler.so")
    if profiler:
        found["async-profiler"] = ("plain", [f"-agentpath:{profiler}=start,event={METHOD}.call,interval=1000,file=o.collapsed"])
        # No call is as long as that: what is left is two clock readings and a comparison.
        found["async-profiler-trace-1s"] = ("plain", [f"-agentpath:{profiler}=start,trace={METHOD}.call:1s,file=o.jfr"])
        found["async-profiler-trace-each"] = ("plain", [f"-agentpath:{profiler}=start,trace={METHOD}.call,file=o.jfr"])
    opentelemetry = rounds.peer(o.peers, "opentelemetry-javaagent.jar")
    if opentelemetry:
        silent = [f"-Dotel.{signal}.exporter=none" for signal in ("traces", "metrics", "logs")]
        included = f"-Dotel.instrumentation.methods.include={METHOD}[call]"
        found["opentelemetry"] = ("plain", [f"-javaagent:{opentelemetry}", *silent, included])
    kieker = rounds.peer(o.peers, "kieker-bytebuddy.jar")
    if kieker:
        found["kieker"] = ("plain", [f"-javaagent:{kieker}", "-Dkieker.monitoring.skipDefaultAOPConfiguration=true",
                                     "-Dkieker.monitoring.writer.filesystem.FileWriter.customStoragePath=.",
                                     "-Dkieker.monitoring.writer.filesystem.FileWriter.logStreamHandler="
                                     "kieker.monitoring.writer.filesystem.BinaryLogStreamHandler"])
    if o.peers and load.feature(o.java) >= 25:
        recording = "-XX:StartFlightRecording:filename=r.jfr,maxsize=200m"
        found["jfr-method-timing"] = ("plain", [f"{recording},method-timing={METHOD}::call"])
        found["jfr-method-trace"] = ("plain", [f"{recording},method-trace={METHOD}::call"])
    return found


def measure(variant, o):
    body, flags = variant
    directory = tempfile.mkdtemp(prefix="instr-percall-")
    try:
        command = [o.java + "/bin/java", "-Xms256m", "-Xmx256m", *flags, "-cp", PROGRAM, "percall.Main", body, str(o.seconds)]
        run = subprocess.run(command, cwd=directory, env={**os.environ, **KIEKER}, capture_output=True, text=True,
                             timeout=60 + 2 * o.seconds, check=False)
        figures = [float(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("NANOS ")]
        if not figures:
            return {"error": (run.stdout + run.stderr)[-300:]}
        return {"CPU ns per call": statistics.median(figures), "fastest": min(figures)}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--seconds", type=int, default=4, help="measured after as many seconds of warming up")
    parser.add_argument("--short", action="store_true", help="2 rounds of 2 s: three minutes with all peers")
    o = parser.parse_args()
    if o.short:
        o.rounds, o.seconds = 2, 2
    directory = tempfile.mkdtemp(prefix="instr-percall-config-")
    try:
        all_variants = rounds.chosen(variants(o, directory), o.only)
        results = rounds.run(all_variants, o.rounds, lambda name: measure(all_variants[name], o))
        rounds.table(results, ["CPU ns per call", "fastest"])
        pair = [figures["CPU ns per call"] for figures in results.get("clock-pair", []) if "error" not in figures]
        if pair:
            print("\nThe bare pair of clock readings is the limit for exact times:")
            rounds.table({"clock-pair": results["clock-pair"], **results}, ["CPU ns per call"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
