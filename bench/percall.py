#!/usr/bin/env python3
"""One monitored call: CPU nanoseconds above those of the same loop without an agent, and against two clock readings."""
import os
import shutil
import statistics
import subprocess
import tempfile

import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "percall", "target", "percall.jar")
METHOD = "percall.Monitored"


def config(directory, level, mode="inline"):
    path = os.path.join(directory, f"{level}-{mode}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[[rule]]\nclass = "{METHOD}"\nmethod = "call(int)"\ntemplate = "timed"\nlevel = "{level}"\nmode = "{mode}"\n')
    return path


def full_config(directory, cpu_time):
    """Level full with somebody who wants its figures; the page gets a port that is free."""
    path = os.path.join(directory, f"full-cpu-{cpu_time}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[metrics]\nopenmetrics = "127.0.0.1:0"\ncpu-time = {cpu_time}\n')
        file.write(f'[[rule]]\nclass = "{METHOD}"\nmethod = "call(int)"\nlevel = "full"\n')
    return path


def variants(o, directory):
    """Name -> (body, JVM options)."""
    found = {"none": ("plain", []), "clock-pair": ("clock-pair", [])}
    for level in ("off", "watch", "time"):
        found["instr-" + level] = ("plain", [f"-agentpath:{os.path.abspath(o.agent)}={config(directory, level)}"])
        wrapper = config(directory, level, "wrapper")
        found[f"instr-{level}-wrapper"] = ("plain", [f"-agentpath:{os.path.abspath(o.agent)}={wrapper}"])
    agent = os.path.abspath(o.agent)
    found["instr-full"] = ("plain", [f"-agentpath:{agent}={full_config(directory, 'true')}"])
    found["instr-full-without-cpu-time"] = ("plain", [f"-agentpath:{agent}={full_config(directory, 'false')}"])
    engines = rounds.peer(o.peers, "bench-engines.jar")
    if engines:
        found["asm"] = ("plain", [f"-javaagent:{engines}=asm:{METHOD}"])
        found["byte-buddy"] = ("plain", [f"-javaagent:{engines}=bb:{METHOD}"])
    profiler = rounds.peer(o.peers, "linux-x64/libasyncProfiler.so")
    if profiler:
        found["async-profiler"] = ("plain", [f"-agentpath:{profiler}=start,event={METHOD}.call,interval=1000,file=o.collapsed"])
    opentelemetry = rounds.peer(o.peers, "opentelemetry-javaagent.jar")
    if opentelemetry:
        silent = [f"-Dotel.{signal}.exporter=none" for signal in ("traces", "metrics", "logs")]
        included = f"-Dotel.instrumentation.methods.include={METHOD}[call]"
        found["opentelemetry"] = ("plain", [f"-javaagent:{opentelemetry}", *silent, included])
    return found


def measure(variant, o):
    body, flags = variant
    directory = tempfile.mkdtemp(prefix="instr-percall-")
    try:
        command = [o.java + "/bin/java", "-Xms256m", "-Xmx256m", *flags, "-cp", PROGRAM, "percall.Main", body, str(o.seconds)]
        run = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60 + 2 * o.seconds, check=False)
        figures = [float(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("NANOS ")]
        if not figures:
            return {"error": (run.stdout + run.stderr)[-300:]}
        return {"CPU ns per call": statistics.median(figures), "fastest": min(figures)}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--seconds", type=int, default=4, help="measured after as many seconds of warming up")
    o = parser.parse_args()
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
