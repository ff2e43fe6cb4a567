#!/usr/bin/env python3
"""Real programs with everything instrumented, the JDK and their libraries too: the same result as without the agent?

With --diagnose, methods with calls above a millisecond are diagnosed all the time, so their call sites and what these call are measured while the program runs.

Each program is a directory with a run.sh that takes a JAVA_HOME and options of the JVM, checks itself and prints RESULT lines.
Exits with 1 if a result differs, a run fails or a JVM says something that it does not say without the agent.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = os.path.join(HERE, "..", "target", "release", "libinstr.so")
PROGRAMS = ["javac", "springboot", "dbs", "lucene", "kafka"]
# What an agent may break. Programs print errors of their own, so only what is new counts.
SUSPICIOUS = re.compile(r"VerifyError|LinkageError|NoClassDefFoundError|NoSuchMethodError|ClassFormatError|IncompatibleClassChange"
                        r"|panicked|SIGSEGV|fatal error|java\.instr\.|^instr|OutOfMemoryError|StackOverflowError|OpenJDK 64-Bit Server VM warning")
CONFIG = """\
[trace]
file = "{directory}/trace.jfr"
max-file-mb = {megabytes}
[agent]
stats = "{directory}/stats-%p.json"
[filter]
leaf = false
max-bytes = 0
[[rule]]
class = {classes}
template = "timed"
level = "{level}"
constructors = true
class-initialisers = true
bridges = true
"""


DIAGNOSE = """\
[monitor]
diagnose = true
diagnoses-per-hour = 1000
at-once = 4
again-after = "1 min"
[[slow-calls]]
slower-than = "1 ms"
"""


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="directory with NAME/run.sh")
    parser.add_argument("--only", default=",".join(PROGRAMS), help="NAME,NAME")
    parser.add_argument("--levels", default="watch,time")
    parser.add_argument("--classes", default='"**"', help="value of `class` in the rule")
    parser.add_argument("--diagnose", action="store_true", help="diagnose slow methods all the time, four at once")
    parser.add_argument("--java", action="append", required=True, help="JAVA_HOME; may be given several times")
    parser.add_argument("--agent", default=AGENT)
    parser.add_argument("--limit", type=int, default=1200, help="seconds for one run")
    parser.add_argument("--trace-mb", type=int, default=256, help="size at which the trace is full; the rest is counted as lost")
    return parser.parse_args()


def run(given, program, java, agent_options):
    """Output, exit code and seconds of one run."""
    command = [os.path.join(given.programs, program, "run.sh"), java, *agent_options]
    start = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=given.limit, check=False,
                              encoding="utf-8", errors="replace", start_new_session=True)
        return done.stdout, done.returncode, time.monotonic() - start
    except subprocess.TimeoutExpired as late:
        return str(late.stdout or ""), "timeout", time.monotonic() - start


def results(output):
    return [line[line.index("RESULT"):] for line in output.splitlines() if "RESULT" in line]


def noise(output, plain):
    """Suspicious lines that are not there without the agent, digits aside."""
    def lines(text):
        return {re.sub(r"\d+", "0", line): line for line in text.splitlines() if SUSPICIOUS.search(line)}
    known = lines(plain)
    return [line for key, line in lines(output).items() if key not in known]


def figures(directory):
    """Sums of the JVMs' statistics: the program may start several."""
    total = {"methods_instrumented": 0, "records": 0, "lost": 0, "refused": {}}
    for name in os.listdir(directory):
        if name.startswith("stats-"):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                found = json.load(file)
            for key in ("methods_instrumented", "records", "lost"):
                total[key] += found[key]
            for reason, count in found["refused"].items():
                total["refused"][reason] = total["refused"].get(reason, 0) + count
    return total


def diagnoses(given, directory):
    """How many the recordings hold, and how many methods they measured."""
    cli = os.path.join(os.path.dirname(os.path.abspath(given.agent)), "instr")
    found = []
    for recording in glob.glob(directory + "/*.jfr"):
        done = subprocess.run([cli, "report", recording, "--json"], capture_output=True, text=True, check=True)
        found += json.loads(done.stdout).get("diagnoses", [])
    return len(found), sum(size(one["tree"]) for one in found if one.get("tree"))


def size(node):
    return 1 + sum(size(child) for child in node["children"])


def version(java):
    with open(os.path.join(java, "release"), encoding="utf-8") as file:
        return re.search(r'JAVA_VERSION="(\d+)', file.read()).group(1)


def instrumented(given, program, java, level, plain):
    """One line of the table; True if all is well."""
    output, _, seconds = plain
    directory = tempfile.mkdtemp(prefix="instr-" + program)
    try:
        path = os.path.join(directory, "instr.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(directory=directory, classes="[" + given.classes + "]", level=level, megabytes=given.trace_mb) + (DIAGNOSE if given.diagnose else ""))
        text, code, took = run(given, program, java, ["-agentpath:" + os.path.abspath(given.agent) + "=" + path])
        numbers = figures(directory)
        diagnosed = diagnoses(given, directory) if given.diagnose else None
    finally:
        shutil.rmtree(directory)
    same = code == 0 and results(text) == results(output) != []
    new = noise(text, output)
    refused = ", ".join(f"{count} {reason}" for reason, count in sorted(numbers["refused"].items())) or "none"
    word = "equal" if same else f"DIFFERENT (exit {code})"
    print(f"{program:11} {version(java):>3} {level:6} {word:9} {seconds:7.1f} {took:7.1f} {took / seconds:6.2f} "
          f"{numbers['methods_instrumented']:8,} {numbers['records']:14,} {numbers['lost']:14,}  {refused}", flush=True)
    if diagnosed:
        print(f"    {diagnosed[0]} diagnoses, {diagnosed[1]} methods and calls in their trees")
    for line in new[:10]:
        print("    new: " + line[:200])
    if not same:
        print("\n".join("    " + line[:200] for line in text.splitlines()[-15:]), flush=True)
    return same and not new


def main():
    given = options()
    print(f"{'program':11} JDK level  result      plain   agent  ratio  methods        records           lost  refused")
    good = True
    for program in given.only.split(","):
        for java in given.java:
            plain = run(given, program, java, [])
            if plain[1] != 0 or not results(plain[0]):
                print(f"{program} {version(java)}: fails without the agent, exit {plain[1]}\n{plain[0][-2000:]}")
                good = False
                continue
            for level in given.levels.split(","):
                good &= instrumented(given, program, java, level, plain)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
