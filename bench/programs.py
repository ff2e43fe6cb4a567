#!/usr/bin/env python3
"""Whole programs with all their methods instrumented as the configuration is by default: processor time for a unit of work.

`jackson` writes and reads JSON, `regex` takes lines apart with java.util.regex, `web` is a Spring Boot application under load (with
--application DIR, a directory with the Main.java and pom.xml of ../shared/apps/springboot). A fixed amount of work, processor time of the whole
process by the operating system; for `web` also the time of a request, from the moment at which it was due.

Peers (--peers DIR, bench/README.md) get those methods that took most of the time in a run at level time; instr gets all."""
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import load
import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "programs")
# Name -> (main class, its arguments, arguments of the run that only finds the methods, rule).
PROGRAMS = {
    "jackson": ("JacksonLoop", ["{units}"], ["100"], 'class = ["**", "!Measured"]'),
    "regex": ("RegexLoop", ["{units}"], ["100"], 'class = ["java.util.regex.**", "RegexLoop"]'),
    "web": ("WebLoad", ["{warm}", "{requests}", "{rate}"], ["100", "100", "0"], 'class = ["**", "!WebLoad**"]'),
}
UNITS = {"jackson": 60_000, "regex": 60_000}
JDK_CLASSES = "regex"
# What instr is measured as: further tables, and what stands in the rule. A stated budget makes probes live, and the governor keeps to it.
BUDGET = "[governor]\nbudget-percent = 3\n"
OWN = {"instr, defaults": ("", ""), "instr, governed": (BUDGET, ""), "instr, time, governed": (BUDGET, 'level = "time"\n')}


def options():
    parser = rounds.arguments(__doc__)
    parser.set_defaults(rounds=5)
    parser.add_argument("--programs", default="jackson,regex,web")
    parser.add_argument("--application", help="directory with Main.java and pom.xml of the web application")
    parser.add_argument("--work", type=float, default=1, help="so many times the usual amount of work")
    parser.add_argument("--rate", type=float, default=300, help="requests a second")
    parser.add_argument("--methods", type=int, default=200, help="so many of a program's methods for the peers")
    parser.add_argument("--cli", help="the command instr; default: beside the agent")
    parser.add_argument("--limit", type=int, default=300, help="seconds for one run; what takes longer is an error in the table")
    parser.add_argument("--short", action="store_true", help="3 rounds with half the work: some four minutes without peers")
    o = parser.parse_args()
    if o.short:
        o.rounds, o.work = 3, 0.5
    o.agent = os.path.abspath(o.agent)
    o.cli = o.cli or os.path.join(os.path.dirname(o.agent), "instr")
    o.programs = o.programs.split(",")
    if "web" in o.programs and not o.application:
        sys.exit("error: the program `web` needs --application DIR; without it: --programs jackson,regex")
    return o


def copy_jars(pom, into):
    if not os.path.isdir(into) or os.path.getmtime(into) < os.path.getmtime(pom):
        subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory=" + into,
                        "-DincludeScope=runtime"], check=True, stdout=sys.stderr)
        os.utime(into)


def compile_java(java, sources, class_path, into):
    own = os.path.join(java, "bin", "javac")
    compiler = own if os.path.exists(own) else shutil.which("javac")
    subprocess.run([compiler, "--release", "17", "-nowarn", "-parameters", "-cp", class_path, "-d", into, *sources], check=True)


def build(o, directory):
    """Program -> class path."""
    jars = os.path.join(SOURCES, "target", "jackson")
    copy_jars(os.path.join(SOURCES, "pom.xml"), jars)
    loops = os.path.join(directory, "loops")
    sources = [os.path.join(SOURCES, name + ".java") for name in ("Measured", "JacksonLoop", "RegexLoop")]
    compile_java(o.java, sources, jars + "/*", loops)
    found = {"jackson": f"{loops}:{jars}/*", "regex": loops}
    if "web" in o.programs:
        libraries = os.path.join(SOURCES, "target", "web")
        copy_jars(os.path.join(o.application, "pom.xml"), libraries)
        classes = os.path.join(directory, "web")
        sources = [os.path.join(o.application, "Main.java"), os.path.join(SOURCES, "WebLoad.java")]
        compile_java(o.java, sources, libraries + "/*", classes)
        os.makedirs(classes + "/templates")
        shutil.copy(os.path.join(o.application, "page.html"), classes + "/templates")
        found["web"] = f"{classes}:{libraries}/*"
    return found


def agent(o, directory, name, tables, rule, trace=""):
    path = os.path.join(directory, name.replace(", ", "-") + ".toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[trace]\nfile = "{directory}/%p.jfr"\n{trace}[agent]\nstats = "{directory}/stats-%p.json"\n{tables}[[rule]]\n{rule}')
    return f"-agentpath:{o.agent}={path}"


def start(o, class_path, program, flags, arguments, directory):
    main, _, _, _ = PROGRAMS[program]
    command = [o.java + "/bin/java", "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", *flags, "-cp", class_path, main, *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=o.limit, check=False)


def busiest_methods(o, class_path, program):
    """[(class, method)] that took most of the time, by a recording of them all."""
    directory = tempfile.mkdtemp(prefix="instr-programs-")
    try:
        _, _, arguments, rule = PROGRAMS[program]
        flag = agent(o, directory, "find", "[filter]\nleaf = false\nmax-bytes = 0\n", rule + '\nlevel = "time"\n', "max-file-mb = 4096\n")
        done = start(o, class_path, program, [flag], arguments, directory)
        recordings = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".jfr")]
        if done.returncode != 0 or not recordings:
            sys.exit(f"error: {program} does not run: {(done.stdout + done.stderr)[-500:]}")
        report = subprocess.run([o.cli, "report", "--json", recordings[0]], capture_output=True, text=True, check=True)
        frames = sorted(json.loads(report.stdout)["frames"], key=lambda frame: -frame["own"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    names = []
    for frame in frames:
        name = (frame["class"], frame["method"])
        # Classes made at run time, and what the peers' lists cannot name.
        is_named = not any(sign in name[0] for sign in ("$$", "/", "Lambda")) and "<" not in name[1] and "$" not in name[1]
        if is_named and name not in names and len(names) < o.methods:
            names.append(name)
    return names


def variants(o, program, methods):
    """Name -> function from a run's directory to the options of the JVM."""
    rule = PROGRAMS[program][3] + "\n"
    found = {"none": lambda directory: []}
    for name, (tables, level) in OWN.items():
        found[name] = lambda directory, name=name, tables=tables, level=level: [agent(o, directory, name, tables, rule + level)]
    by_class = {}
    for owner, method in methods:
        by_class.setdefault(owner, []).append(method)
    opentelemetry = rounds.peer(o.peers, "opentelemetry-javaagent.jar")
    if opentelemetry and program != JDK_CLASSES:
        included = ";".join(f"{owner}[{','.join(names)}]" for owner, names in by_class.items())
        silent = [f"-Dotel.{signal}.exporter=none" for signal in ("traces", "metrics", "logs")]
        found["OpenTelemetry"] = lambda directory: [f"-javaagent:{opentelemetry}", *silent, f"-Dotel.instrumentation.methods.include={included}"]
    profiler = rounds.peer(o.peers, "linux-x64/libasyncProfiler.so")
    if profiler:
        traced = ",".join(f"trace={owner}.{method}:1ms" for owner, method in methods)
        found["async-profiler trace"] = lambda directory: [f"-agentpath:{profiler}=start,{traced},file={directory}/o.jfr"]
    if o.peers and load.feature(o.java) >= 25:
        timed = ";".join(f"{owner}::{method}" for owner, method in methods)
        found["JFR method timing"] = lambda directory: [f"-XX:StartFlightRecording:filename={directory}/r.jfr,method-timing={timed}"]
    return rounds.chosen(found, o.only)


def measure(o, class_path, program, flags):
    directory = tempfile.mkdtemp(prefix="instr-programs-")
    try:
        amount = {"units": round(UNITS.get(program, 0) * o.work), "warm": round(6000 * o.work), "requests": round(6000 * o.work), "rate": o.rate}
        arguments = [argument.format(**amount) for argument in PROGRAMS[program][1]]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = start(o, class_path, program, flags(directory), arguments, directory)
        except subprocess.TimeoutExpired:
            return {"error": f"not finished within {o.limit} s"}
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures = {}
        for line in done.stdout.splitlines():
            words = line.split()
            if words[:1] == ["FIGURE"]:
                figures[words[1]] = float(words[2])
            elif words[:1] == ["SUM"]:
                figures["sum"] = int(words[1])
        if done.returncode != 0 or "sum" not in figures:
            return {"error": f"exit {done.returncode}: {(done.stdout + done.stderr)[-400:]}"}
        figures["process CPU s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        for name in os.listdir(directory):
            if name.startswith("stats-"):
                with open(os.path.join(directory, name), encoding="utf-8") as file:
                    stats = json.load(file)
                figures.update(methods=stats["methods_instrumented"], records=stats["records"], lost=stats["lost"])
        return figures
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def ratio(found, base, column):
    """Median over the rounds of the ratio within a round."""
    pairs = [one[column] / none[column] for one, none in zip(found, base) if column in one and column in none]
    return f"{statistics.median(pairs):.3f}" if pairs else "-"


def print_table(program, results, methods):
    base = results["none"]
    columns = [column for column in ("cpu-us-a-unit", "process CPU s", "p50-us", "p99-us") if any(column in figures for figures in base)]
    print(f"\n{program}" + (f", peers with {len(methods)} methods" if methods else "") + "\n")
    print("| variant | rounds | " + " | ".join(f"{column} | ratio" for column in columns) + " | methods | records | lost |")
    print("|---" * (5 + 2 * len(columns)) + "|")
    for name, found in results.items():
        good = [figures for figures in found if "error" not in figures]
        cells = []
        for column in columns:
            cells += [f"{statistics.median(figures[column] for figures in good):.1f}" if good else "-", ratio(found, base, column)]
        counts = [f"{statistics.median(figures[key] for figures in good):,.0f}" if good and key in good[0] else "" for key in ("methods", "records", "lost")]
        print(f"| {name} | {len(good)} of {len(found)} | " + " | ".join(cells + counts) + " |")
    sums = {figures["sum"] for found in results.values() for figures in found if "sum" in figures}
    if len(sums) > 1:
        print(f"\nDIFFERENT RESULTS: {sums}")
    for name, found in results.items():
        for error in {figures["error"] for figures in found if "error" in figures}:
            print(f"\n{name}: {error}")


def main():
    o = options()
    directory = tempfile.mkdtemp(prefix="instr-programs-classes-")
    try:
        class_paths = build(o, directory)
        print(f"JDK {load.feature(o.java)}, {os.cpu_count()} processors, {o.rounds} rounds; ratio = median of the ratios within the rounds")
        for program in o.programs:
            methods = busiest_methods(o, class_paths[program], program) if o.peers else []
            chosen = variants(o, program, methods)
            results = rounds.run(chosen, o.rounds, lambda name: measure(o, class_paths[program], program, chosen[name]))
            print_table(program, results, methods)
            sys.stdout.flush()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
