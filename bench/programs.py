#!/usr/bin/env python3
"""Whole programs with all their methods instrumented as the configuration is by default: processor time for a unit of work.

`jackson` writes and reads JSON, `regex` takes lines apart with java.util.regex, `web` is a Spring Boot application under load (with
--application DIR, a directory with the Main.java and pom.xml of ../shared/apps/springboot). In a round every variant is a JVM of its own;
after the warm-up they take turns of the same work (sliced.py). Processor time of the whole process by the operating system; for `web` also
the time of a request, from the moment at which it was due.

Peers (--peers DIR, bench/README.md) get those methods that took most of the time in a run at level time; instr gets all."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import load
import rounds
import sliced

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "programs")
# Name -> (main class, order of a turn to warm up, so many of them, order of a turn that is measured, so many of them, rule). Without `class` a
# rule takes every class outside the JDK, but of methods up to 200 bytes only those that wait.
PROGRAMS = {
    "jackson": ("JacksonLoop", "3000", 300, "3000", 50, 'class = ["com.fasterxml.**", "JacksonLoop", "JacksonLoop$*"]'),
    "regex": ("RegexLoop", "1200", 160, "1200", 50, 'class = ["java.util.regex.**", "RegexLoop"]'),
    "web": ("WebLoad", "400 0", 80, "150 {rate}", 40, 'exclude = ["WebLoad", "WebLoad$*"]'),
}
# For the run that only finds methods.
FIRST_ORDER = "100 0"
JDK_CLASSES = "regex"
# What instr is measured as: further tables, and what stands in the rule. A stated budget makes probes live, and the governor keeps to it.
BUDGET = "[governor]\nbudget-percent = 3\n"
OWN = {"instr": ("", ""), "instr-small-methods-too": ("[filter]\nwildcard-max-bytes = 0\n", ""), "instr-governed": (BUDGET, ""), "instr-time-governed": (BUDGET, 'level = "time"\n')}


def options():
    parser = rounds.arguments(__doc__)
    parser.set_defaults(rounds=5)
    parser.add_argument("--programs", default="jackson,regex,web")
    parser.add_argument("--application", help="directory with Main.java and pom.xml of the web application")
    parser.add_argument("--work", type=float, default=1, help="so many times the usual number of turns")
    parser.add_argument("--turn", type=float, default=1, help="so many times the usual work in a turn: for peers that take minutes for one")
    parser.add_argument("--rate", type=float, default=300, help="requests a second")
    parser.add_argument("--methods", type=int, default=200, help="so many of a program's methods for the peers")
    parser.add_argument("--cli", help="the command instr; default: beside the agent")
    parser.add_argument("--limit", type=int, default=300, help="seconds for the run that finds the methods")
    parser.add_argument("--copies", type=int, default=1, help="so many JVMs without agent and of each of instr's variants in a round: the JIT decides differently in each")
    parser.add_argument("--short", action="store_true", help="3 rounds with half the turns: some four minutes without peers")
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
    path = os.path.join(directory, name + ".toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[trace]\nfile = "{directory}/%p.jfr"\n{trace}[agent]\nstats = "{directory}/stats-%p.json"\n{tables}[[rule]]\n{rule}')
    return f"-agentpath:{o.agent}={path}"


def start(o, class_path, program, flags, directory):
    command = [o.java + "/bin/java", "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", *flags, "-cp", class_path, PROGRAMS[program][0]]
    return sliced.Program(command, directory)


def busiest_methods(o, class_path, program):
    """[(class, method)] that took most of the time, by a recording of them all."""
    directory = tempfile.mkdtemp(prefix="instr-programs-")
    try:
        rule = PROGRAMS[program][-1]
        flag = agent(o, directory, "find", "[filter]\nleaf = false\nmax-bytes = 0\n", rule + '\nlevel = "time"\n', "max-file-mb = 4096\n")
        running = start(o, class_path, program, [flag], directory)
        running.order(FIRST_ORDER if program == "web" else FIRST_ORDER.split()[0])
        running.end()
        recordings = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".jfr")]
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
    rule = PROGRAMS[program][-1] + "\n"
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


def stats(directory):
    for name in os.listdir(directory):
        if name.startswith("stats-"):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                found = json.load(file)
            return {"methods": found["methods_instrumented"], "records": found["records"], "lost": found["lost"]}
    return {}


def request_times(found):
    """Microseconds of all requests of all turns, in order; empty for other programs."""
    return sorted(int(nanos) / 1e3 for words, _ in found for nanos in words[1:])


def copies_of(o, name):
    """The names of the JVMs of a variant."""
    count = o.copies if name == "none" or name in OWN else 1
    return [name] + [f"{name} {number}" for number in range(2, count + 1)]


def turns_of(found, names):
    """All turns of these JVMs: (words, mean of their seconds) by turn."""
    return [([word for words, _ in turn for word in words], statistics.mean(seconds for _, seconds in turn)) for turn in zip(*(found[name] for name in names))]


def order_of(o, order):
    """The order for a turn of the length that is wanted."""
    words = order.format(rate=o.rate).split()
    return " ".join([str(max(round(int(words[0]) * o.turn), 1)), *words[1:]])


def warm_up(o, program, running):
    """Errors by name. A web application is served by all JVMs at once, which takes half the time on two processors."""
    _, order, count, _, _, _ = PROGRAMS[program]
    order, count = order_of(o, order), round(count * o.work)
    return sliced.together(running, count, order) if program == "web" else sliced.turns(running, count, order)[1]


def round_of(o, class_path, program, chosen, directory):
    """Variant -> its figures in one round."""
    *_, order, measured, _ = PROGRAMS[program]
    running = {}
    try:
        for name, flags in chosen.items():
            for copy in copies_of(o, name):
                own = os.path.join(directory, copy)
                os.makedirs(own)
                running[copy] = start(o, class_path, program, flags(own), own)
                running[copy].order(order_of(o, PROGRAMS[program][1]))
        failed = warm_up(o, program, running)
        found, failed_later = sliced.turns({name: one for name, one in running.items() if name not in failed}, round(measured * o.work), order_of(o, order))
        errors = {**failed, **failed_later}
        base = turns_of(found, copies_of(o, "none"))
        return {name: figures_of(o, name, running, found, base, errors, directory) for name in chosen}
    finally:
        for one in running.values():
            one.kill()


def ratio_of(found, copies, base_copies, base):
    """Of each JVM the median over its turns, which the JIT's bursts leave alone, and of these the mean over the JVMs of a variant."""
    own, none = ([sliced.ratio(found[copy], base) for copy in names] for names in (copies, base_copies))
    return statistics.mean(own) / statistics.mean(none), own


def figures_of(o, name, running, found, base, errors, directory):
    """The figures of a variant, from all its JVMs."""
    copies = copies_of(o, name)
    failed = [errors[copy] for copy in copies if copy in errors]
    if failed:
        return {"error": failed[0]}
    own = turns_of(found, copies)
    ratio, each = ratio_of(found, copies, copies_of(o, "none"), base)
    figures = {
        "ratio": ratio,
        "JVMs": each,
        "all turns s": sum(seconds for _, seconds in own) / len(own),
        "seconds a turn": statistics.median(seconds for _, seconds in own),
        # Adds up over the turns, so that of a program that was left out on the way is another one.
        **({"answer": found[name][-1][0][0]} if len(own) == len(base) else {}),
        "process CPU s": statistics.mean(running[copy].end() for copy in copies),
        **stats(os.path.join(directory, name)),
    }
    times = sorted(time for copy in copies for time in request_times(found[copy]))
    if times:
        figures.update({"p50 us": times[len(times) // 2], "p99 us": times[len(times) * 99 // 100]})
    return figures


def spread(values):
    values = sorted(values)
    return f"{statistics.median(values):.3f} ({values[0]:.3f}-{values[-1]:.3f})"


def print_table(program, found, methods):
    print(f"\n{program}" + (f", peers with {len(methods)} methods" if methods else "") + "\n")
    names = list(found[0])
    later = ["all turns s", "process CPU s"] + [column for column in ("p50 us", "p99 us") if column in found[0]["none"]]
    print("| variant | CPU for the work, ratio (least-most) | each JVM | ms a turn | " + " | ".join(f"{column}, ratio" for column in later) + " | methods | records | lost |")
    print("|---" * (7 + len(later)) + "|")
    for name in names:
        rounds_of = [(figures[name], figures["none"]) for figures in found if "ratio" in figures[name] and "ratio" in figures["none"]]
        if not rounds_of:
            continue
        each = " ".join(f"{ratio:.3f}" for one, _ in rounds_of for ratio in one["JVMs"])
        cells = [spread([one["ratio"] for one, _ in rounds_of]), each, f"{1e3 * statistics.median(one['seconds a turn'] for one, _ in rounds_of):.1f}"]
        cells += [spread([one[column] / none[column] for one, none in rounds_of]) for column in later]
        counts = [f"{statistics.median(one[key] for one, _ in rounds_of):,.0f}" if key in rounds_of[0][0] else "" for key in ("methods", "records", "lost")]
        print(f"| {name} | " + " | ".join(cells + counts) + " |")
    answers = {one["answer"] for figures in found for one in figures.values() if "answer" in one}
    if len(answers) > 1:
        print(f"\nDIFFERENT RESULTS: {answers}")
    for name in names:
        for error in {figures[name]["error"] for figures in found if "error" in figures[name]}:
            print(f"\n{name}: {error}")


def main():
    o = options()
    directory = tempfile.mkdtemp(prefix="instr-programs-")
    try:
        class_paths = build(o, directory)
        print(f"JDK {load.feature(o.java)}, {os.cpu_count()} processors, {o.rounds} rounds; ratio = median over the rounds; in a round the median over the turns, mean of the JVMs")
        for program in o.programs:
            methods = busiest_methods(o, class_paths[program], program) if o.peers else []
            chosen = variants(o, program, methods)
            found = []
            for number in range(o.rounds):
                found.append(round_of(o, class_paths[program], program, chosen, os.path.join(directory, f"{program}-{number}")))
                print(f"round {number + 1}: " + ", ".join(f"{name} {one.get('ratio', 0):.3f}" for name, one in found[-1].items()), file=sys.stderr, flush=True)
            print_table(program, found, methods)
            sys.stdout.flush()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
