#!/usr/bin/env python3
"""Whole runs of programs, from the start of the JVM to its end: processor time of the process, and what of it the JIT took (-XX:+CITime).

Each program takes 5 to 30 s of processor time, most of which is the time before the JIT has come to rest. Every method of the program and its
libraries is instrumented at level watch; JFR runs with its default settings, async-profiler samples processor time. Some programs are those of
../shared/apps (--applications DIR), the others are fetched from Maven Central (whole/pom.xml).

The machine is faster in one minute than in the next. So each run has a run without agent beside it, each on a processor of its own, and the
figures are their ratios: medians over the rounds. A run whose RESULT lines or files differ from those without agent is an error, not a figure.
Use a multiple of four rounds, so that both have had each processor and each place."""
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile

import load
import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
FETCHED = os.path.join(HERE, "whole", "target")
# A program of --applications: its directory, the variables of its run, the classes of its rule.
APPLICATIONS = {
    "javac": ({}, ["com.sun.tools.javac.**"]),
    "dbs": ({"TX": "3000"}, ["org.h2.**", "org.hsqldb.**", "org.apache.derby.**", "Main", "Main$*"]),
    "lucene": ({}, ["org.apache.lucene.**", "Main", "Main$*"]),
    "kafka": ({"N": "10000"}, ["org.apache.kafka.**", "kafka.**", "Main", "Main$*"]),
    "springboot": ({}, ["demo.**", "org.springframework.**", "org.hibernate.**", "org.apache.**", "com.zaxxer.**", "org.h2.**", "org.thymeleaf.**"]),
}
# A program of Maven Central: its jar, the class to start, its arguments, the classes of its rule, what it writes. {jars} is where the jars are,
# {input} where inputs were unpacked, {output} a fresh directory.
FROM_CENTRAL = {
    "cfr": ("cfr", "org.benf.cfr.reader.Main", "{jars}/commons-collections4.jar --outputdir {output} --silent true", ["org.benf.cfr.**"]),
    "closure": ("closure-compiler", "com.google.javascript.jscomp.CommandLineRunner",
                "-O ADVANCED --warning_level QUIET --js {input}/lodash.js --js_output_file {output}/lodash.js", ["com.google.**"]),
    "jython": ("jython-standalone", "org.python.util.jython", os.path.join(HERE, "whole", "work.py") + " 25", ["org.python.**"]),
    "ecj": ("ecj", "org.eclipse.jdt.internal.compiler.batch.Main", "-nowarn -8 -d {output} {input}/math", ["org.eclipse.**"]),
}
PROGRAMS = [*APPLICATIONS, *FROM_CENTRAL]
# Bytes that differ from run to run: the day on which something was made.
DATED = re.compile(rb"Decompiled with CFR[^\n]*")
# A JDK whose `java` writes down what its process used; run.sh of an application starts others beside the program itself.
JAVA = """\
#!{python}
import json, os, resource, subprocess, sys
os.sched_setaffinity(0, {{int(os.environ["WHOLE_PROCESSOR"])}})
code = subprocess.call(["{java}/bin/java", "-XX:ActiveProcessorCount=2", *sys.argv[1:]])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(os.environ["WHOLE_USED"], "a") as file:
    file.write(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss]) + "\\n")
sys.exit(code if code >= 0 else 128 - code)
"""


def options():
    parser = rounds.arguments(__doc__)
    parser.set_defaults(rounds=8)
    parser.add_argument("--applications", help="directory with the programs of ../shared/apps; without it only those of Maven Central run")
    parser.add_argument("--programs", help="names of programs, separated by commas; default: " + ",".join(PROGRAMS))
    parser.add_argument("--tables", action="append", default=[], metavar="NAME=TOML", help="another variant of instr: this text instead of `level = \"watch\"`; \\n separates lines")
    parser.add_argument("--limit", type=int, default=300, help="seconds for one run")
    parser.add_argument("--json", help="file for all figures")
    given = parser.parse_args()
    given.agent = os.path.abspath(given.agent)
    given.programs = given.programs.split(",") if given.programs else [name for name in PROGRAMS if given.applications or name in FROM_CENTRAL]
    unknown = [name for name in given.programs if name not in PROGRAMS or name in APPLICATIONS and not given.applications]
    if unknown:
        sys.exit(f"error: no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}, the first {len(APPLICATIONS)} with --applications DIR")
    return given


def fetch():
    """The jars of whole/pom.xml and, unpacked, what the programs work on."""
    jars, unpacked = os.path.join(FETCHED, "jars"), os.path.join(FETCHED, "input")
    if not os.path.isdir(jars):
        subprocess.run(["mvn", "-q", "-B", "-f", os.path.join(HERE, "whole", "pom.xml"), "package"], check=True, stdout=sys.stderr)
    if not os.path.isdir(unpacked):
        with zipfile.ZipFile(os.path.join(jars, "commons-math3-sources.jar")) as sources:
            sources.extractall(os.path.join(unpacked, "math"))
        with zipfile.ZipFile(os.path.join(jars, "lodash.jar")) as library:
            name = next(name for name in library.namelist() if name.endswith("/lodash.js"))
            with open(os.path.join(unpacked, "lodash.js"), "wb") as file:
                file.write(library.read(name))
    return jars, unpacked


def measuring_jdk(java, directory):
    """A JAVA_HOME with links to the given one, and a `java` that writes down what it used."""
    home = os.path.join(directory, "jdk")
    os.makedirs(home + "/bin")
    for name in os.listdir(java + "/bin"):
        if name != "java":
            os.symlink(f"{java}/bin/{name}", f"{home}/bin/{name}")
    with open(home + "/bin/java", "w", encoding="utf-8") as file:
        file.write(JAVA.format(python=sys.executable, java=java))
    os.chmod(home + "/bin/java", 0o755)
    return home


def instr(agent, classes, rule, directory):
    path = os.path.join(directory, "instr.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[trace]\nfile = "{directory}/%p.jfr"\n[agent]\nstats = "{directory}/stats-%p.json"\n'
                   f'[[rule]]\nclass = {json.dumps(classes)}\ntemplate = "timed"\n{rule}\n')
    return [f"-agentpath:{agent}={path}"]


def variants(given, classes):
    """Name -> function from a run's directory to the options of the JVM."""
    watch = 'level = "watch"'
    found = {"none": lambda directory: []}
    for build, agent in rounds.builds(given).items():
        found[build + "instr"] = lambda directory, agent=agent: instr(agent, classes, watch, directory)
        found[build + "instr-nothing"] = lambda directory, agent=agent: instr(agent, ["matches.Nothing"], watch, directory)
    for pair in given.tables:
        name, text = pair.split("=", 1)
        found[name] = lambda directory, text=text: instr(given.agent, classes, text.replace("\\n", "\n"), directory)
    found["jfr-default"] = lambda directory: [f"-XX:StartFlightRecording:filename={directory}/r.jfr,settings=default"]
    profiler = rounds.peer(given.peers, "linux-x64/libasyncProfiler.so")
    if profiler:
        found["async-profiler"] = lambda directory: [f"-agentpath:{profiler}=start,event=cpu,file={directory}/a.jfr"]
    return rounds.chosen(found, given.only)


def tree_hash(directory):
    """Of the names and contents of all files."""
    whole = hashlib.sha256()
    for path in sorted(glob.glob(directory + "/**", recursive=True)):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                whole.update(path[len(directory):].encode() + DATED.sub(b"", file.read()))
    return whole.hexdigest()[:16]


def command_of(given, program, home, flags, places, output):
    """The command that runs the program, and the variables of its environment."""
    if program in APPLICATIONS:
        return [os.path.join(given.applications, program, "run.sh"), home, *flags], APPLICATIONS[program][0]
    jar, main, arguments, _ = FROM_CENTRAL[program]
    jars, unpacked = places
    words = arguments.format(jars=jars, input=unpacked, output=output).split()
    return [home + "/bin/java", "-Xmx1500m", *flags, "-cp", f"{jars}/{jar}.jar", main, *words], {}


def compilers(output):
    """Seconds of C1 and of C2 by the clock, and the bytecodes that each compiled, inlined ones included, as -XX:+CITime prints them."""
    figures = {}
    for name in ("C1", "C2"):
        line = re.search(rf"^ *{name} {{speed:.*?; standard: +([\d.]+) s, (\d+) bytes, \d+ methods; osr: +([\d.]+) s, (\d+) bytes", output, re.MULTILINE)
        standard, standard_bytes, osr, osr_bytes = (float(figure) for figure in line.groups())
        figures.update({f"{name} s": standard + osr, f"{name} KB": (standard_bytes + osr_bytes) / 1024})
    return figures


def measure(given, program, flags_of, home, places, processor):
    """Figures of one run on one processor."""
    directory = tempfile.mkdtemp(prefix="instr-whole-")
    try:
        output = os.path.join(directory, "output")
        os.makedirs(output)
        flags = ["-XX:+CITime", *flags_of(directory)]
        command, variables = command_of(given, program, home, flags, places, output)
        used = os.path.join(directory, "used")
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=given.limit, check=False,
                              env={**os.environ, **variables, "WHOLE_USED": used, "WHOLE_PROCESSOR": str(processor), "WORK": os.path.join(FETCHED, f"work-{processor}")})
        if done.returncode != 0:
            return {"error": f"exit code {done.returncode}: {(done.stdout + done.stderr)[-300:]}"}
        with open(used, encoding="utf-8") as file:
            cpu, memory = max(json.loads(line) for line in file)
        figures = {"CPU s": cpu, **compilers(done.stdout), "RSS MB": memory / 1024}
        for name in glob.glob(directory + "/stats-*.json"):
            with open(name, encoding="utf-8") as file:
                figures["methods"] = figures.get("methods", 0) + json.load(file)["methods_instrumented"]
        results = [line[line.index("RESULT"):] for line in done.stdout.splitlines() if "RESULT" in line]
        figures["result"] = " ".join(results) or tree_hash(output)
        return figures
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def pair(given, program, chosen, name, home, places, number):
    """Figures of a variant and, at the same time on the other processor, of the program without agent. From round to round they change
    processors, and every two rounds the order in which they are started."""
    processors = sorted(os.sched_getaffinity(0))[:2]
    runs = [(name, processors[number % 2]), ("none", processors[(number + 1) % 2])]
    with concurrent.futures.ThreadPoolExecutor(2) as both:
        order = runs if number // 2 % 2 == 0 else runs[::-1]
        pending = [both.submit(measure, given, program, chosen[which], home, places, processor) for which, processor in order]
        own, none = [one.result() for one in pending][::1 if order is runs else -1]
    if "error" not in own and "error" not in none:
        if own["result"] != none["result"]:
            return {"error": f"DIFFERENT RESULT: {own['result']}, without agent {none['result']}"}
        own["ratios"] = {key: own[key] / none[key] for key in COLUMNS}
    return own if "error" not in none else none


COLUMNS = ["CPU s", "C1 s", "C2 s", "C1 KB", "C2 KB", "RSS MB"]


def spread(values, all_of_them):
    median = f"{statistics.median(values):.3f}"
    return f"{median} ({min(values):.3f}-{max(values):.3f})" if all_of_them else median


def table(program, found):
    print(f"\n{program}\n\n| variant | rounds | CPU s | " + " | ".join(column + ", ratio" for column in COLUMNS) + " | methods |\n" + "|---" * (4 + len(COLUMNS)) + "|")
    for name, each in found.items():
        good = [figures for figures in each if "error" not in figures]
        if good:
            cells = [spread([figures["ratios"][key] for figures in good], key == "CPU s") for key in COLUMNS]
            methods = f"{statistics.median(figures['methods'] for figures in good):,.0f}" if all("methods" in figures for figures in good) else ""
            print(f"| {name} | {len(good)} of {len(each)} | {rounds.median(each, 'CPU s'):.2f} | " + " | ".join(cells) + f" | {methods} |")
    for name, each in found.items():
        for error in {figures["error"] for figures in each if "error" in figures}:
            print(f"\n{name}: {error}")
    sys.stdout.flush()


def summary(everything):
    """Mean, least and greatest over the programs of the medians."""
    print("\nall programs\n\n| variant | programs | mean ratio of CPU | least | most |\n" + "|---" * 5 + "|")
    for name in next(iter(everything.values())):
        good = [[figures["ratios"]["CPU s"] for figures in found[name] if "ratios" in figures] for found in everything.values()]
        each = [statistics.median(found) for found in good if found]
        if each:
            print(f"| {name} | {len(each)} | {statistics.mean(each):.3f} | {min(each):.3f} | {max(each):.3f} |")


def main():
    given = options()
    places = fetch()
    directory = tempfile.mkdtemp(prefix="instr-whole-jdk-")
    everything = {}
    try:
        home = measuring_jdk(given.java, directory)
        print(f"JDK {load.feature(given.java)}, {os.cpu_count()} processors, {given.rounds} rounds")
        for program in given.programs:
            classes = APPLICATIONS[program][1] if program in APPLICATIONS else FROM_CENTRAL[program][3]
            chosen = variants(given, classes)
            # Fetches, compiles, unpacks, fills the page cache.
            pair(given, program, chosen, "none", home, places, 0)
            found = {name: [] for name in chosen}
            for number in range(given.rounds):
                for name in chosen:
                    found[name].append(pair(given, program, chosen, name, home, places, number))
                    print(f"{program} {number + 1} {name}: {found[name][-1]}", file=sys.stderr, flush=True)
            everything[program] = found
            table(program, found)
        summary(everything)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        if given.json:
            with open(given.json, "w", encoding="utf-8") as file:
                json.dump(everything, file)


if __name__ == "__main__":
    main()
