#!/usr/bin/env python3
"""What the agent takes of the loading of a class that no rule wants: nanoseconds of the whole hook in a running JVM."""
import glob
import os
import shutil
import statistics
import subprocess
import tempfile

import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
# Of the clock on the wall: median, mean, 99th percentile; of the CPU time of the thread, which no other process adds to: mean and p99.
ROWS = ("median ns", "mean ns", "p99 ns", "mean CPU ns", "p99 CPU ns")

# Twenty applications that are not there.
NAMES = "\n".join(
    f'[[rule]]\nclass = ["com.acme.app{number}.**", "com.acme.**.Service{number}", "org.acme{number}.*Dao"]\n'
    'template = "timed"\nlevel = "time"\n'
    for number in range(20)
)
# Super types and annotations that no class of the jars has; every class is asked for them.
EXTENDS = '[[rule]]\nextends = ["javax.servlet.jsp.HttpJspPage", "com.acme.Plugin"]\ntemplate = "timed"\nlevel = "time"\n'
ANNOTATED = '[[rule]]\nannotated = ["javax.ejb.Stateless", "com.acme.Monitored"]\ntemplate = "timed"\nlevel = "time"\n'
# The same with types that the jars have, which few classes extend: then super types must be read that nobody has loaded yet.
PRESENT = '[[rule]]\nextends = "{}"\ntemplate = "timed"\nlevel = "time"\n'
# Super types are noted for later, but the names leave every class of the jars out.
EXTENDS_ELSEWHERE = f'[[rule]]\nclass = "com.acme.**"\n{EXTENDS.split(chr(10), 1)[1]}'


def options():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--program", help="the example `unwanted` of the package cli, for the decision alone")
    parser.add_argument("--jars", required=True, help="a directory: every class of its jars is loaded")
    parser.add_argument("--loader", default="application,own", help="who loads them: the application's loader, one of their own, or both")
    parser.add_argument("--types", default="", help="types of the jars with few sub types, comma-separated: one more row for each")
    return parser.parse_args()


def variants(o, stopwatch, directory):
    """Name -> the agent between the two halves of the stopwatch; nothing for the first one, which is subtracted."""

    def own(name, rules):
        path = os.path.join(directory, name + ".toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[trace]\nfile = "{directory}/{name}.jfr"\n{rules}')
        return [f"-agentpath:{os.path.abspath(o.agent)}={path}"]

    present = {f"by `extends = \"{name}\"`": own(name, PRESENT.format(name)) for name in o.types.split(",") if name}
    return {
        "none": [],
        "an agent that does nothing": [f"-agentpath:{stopwatch}=nothing"],
        "by name": own("names", NAMES),
        "by name, a rule elsewhere has `extends`": own("elsewhere", EXTENDS_ELSEWHERE),
        "by `annotated`": own("annotated", ANNOTATED),
        "by `extends`": own("extends", EXTENDS),
        **present,
    }


def compiled(o, directory):
    """The stopwatch and the folder of the program."""
    library = os.path.join(directory, "stopwatch.so")
    source = os.path.join(HERE, "unwanted")
    include = os.path.join(o.java, "include")
    flags = ["-O2", "-shared", "-fPIC", f"-I{include}", f"-I{include}/linux"]
    subprocess.run(["cc", *flags, "-o", library, f"{source}/stopwatch.c"], check=True)
    subprocess.run([o.java + "/bin/javac", "-d", directory, f"{source}/LoadEveryClass.java"], check=True)
    return library


def measure(agent, stopwatch, directory, loader, o):
    lines = os.path.join(directory, "lines")
    jars = sorted(glob.glob(os.path.join(os.path.abspath(o.jars), "*.jar")))
    command = [o.java + "/bin/java", "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", f"-agentpath:{stopwatch}=start", *agent]
    class_path = os.pathsep.join([directory, *(jars if loader == "application" else [])])
    command += [f"-agentpath:{stopwatch}=stop:{lines}", "-cp", class_path, "LoadEveryClass", loader, *jars]
    run = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return {"error": (run.stdout + run.stderr)[-300:]}
    failed = {line.removeprefix("not loaded ") for line in run.stdout.splitlines() if line.startswith("not loaded ")}
    with open(lines, encoding="utf-8", errors="replace") as file:
        lines = [line for line in (line.rstrip("\n").split(" ", 2) for line in file) if line[2] not in failed]
    wall, cpu = (sorted(int(line[column]) for line in lines) for column in (0, 1))
    at = lambda nanos, share: nanos[round(share * (len(nanos) - 1))]
    figures = (at(wall, 0.5), statistics.fmean(wall), at(wall, 0.99), statistics.fmean(cpu), at(cpu, 0.99))
    return dict(zip(ROWS, figures), classes=len(lines))


def table(results):
    """Medians over the rounds, less what the JVM and the clock take between two agents."""
    middle = lambda found, row: statistics.median(figures[row] for figures in found)
    base = results["none"]
    print("| not wanted | rounds | classes | " + " | ".join(ROWS) + " |")
    print("|---" * (3 + len(ROWS)) + "|")
    for name, found in results.items():
        good = [figures for figures in found if "error" not in figures]
        for error in {figures["error"] for figures in found if "error" in figures}:
            print(f"{name}: {error}")
        if good and len(good) == len(found):
            less = (lambda row: 0) if name == "none" else (lambda row: middle(base, row))
            cells = [f"{middle(good, row) - less(row):.0f}" for row in ROWS]
            print(f"| {name} | {len(good)} | {middle(good, 'classes'):.0f} | " + " | ".join(cells) + " |")


def main():
    o = options()
    directory = tempfile.mkdtemp(prefix="instr-unwanted-")
    if o.program:
        subprocess.run([o.program, "--jdk", o.java, o.jars], check=True)
        print(flush=True)
    try:
        stopwatch = compiled(o, directory)
        agents = rounds.chosen(variants(o, stopwatch, directory), o.only)
        for loader in o.loader.split(","):
            print(f"\nLoaded by: {loader}\n", flush=True)
            table(rounds.run(agents, o.rounds, lambda name: measure(agents[name], stopwatch, directory, loader, o)))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
