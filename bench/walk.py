"""What it costs to find the caller of a hot method, beside a plain call in the same JVM: `cargo xtask bench walk`.

Measured are hooks in the method that look at the stack with JVMTI (two or six frames), `StackWalker` or an exception, a breakpoint, and events of method entries and of frames that end. The figures
are nanoseconds of processor time above a plain call, on stacks of several depths: the median of the rounds, of several JVMs the median and from which to which. Each way that needs a
capability of JVMTI has JVMs of its own, and all kinds of JVM take turns. Breakpoints and events are experiments (decision 064): no part of instr uses them, nor bench/walk/walk.c.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# The JIT must not fold calls away, and an inlined caller would not be the same frame in all ways.
HOT = ["Walk::plain", "Walk::off", "Walk::callsNative", "Walk::finder", "Walk::popped", "Walk::posted", "Walk::walked", "Walk$Changed::changed"]
# Kind of JVM, figure -> what it is, and which figure of the same JVM it is above.
NANOS = {
    ("finder", "off"): ("a hook that is off (a load and a test)", "plain"),
    ("finder", "native"): ("a hook that calls an empty native method", "plain"),
    ("finder", "finder_2"): ("a hook that calls GetStackTrace, 2 frames", "plain"),
    ("finder", "finder_6"): ("... 6 frames", "plain"),
    ("finder", "frame"): ("StackWalker, the third frame alone", "plain"),
    ("finder", "names"): ("... and its names", "plain"),
    ("finder", "retaining_names"): ("... and its class (RETAIN_CLASS_REFERENCE)", "plain"),
    ("finder", "caller_class"): ("StackWalker.getCallerClass()", "plain"),
    ("finder", "throwable"): ("new Throwable().getStackTrace()", "plain"),
    ("finder", "stack_trace"): ("Thread.currentThread().getStackTrace()", "plain"),
    ("breakpoint", "hit"): ("a breakpoint, GetStackTrace of 2 frames", "plain"),
    ("breakpoint", "cleared"): ("the same method once it has been cleared", "plain"),
    ("entry", "hit"): ("MethodEntry, GetStackTrace of 2 frames", "plain"),
    ("entry", "any_call"): ("... of any other method on this thread", "plain"),
    ("entry", "no_call_posted"): ("... a turn of a loop without a call", "no_call"),
    ("entry", "other_thread"): ("... a call on another thread", "plain"),
    ("pop", "hit"): ("NotifyFramePop, GetStackTrace of 2 frames", "plain"),
    ("pop", "any_call"): ("... of any other method on this thread", "plain"),
}
MILLIS = {
    ("breakpoint", "set"): "SetBreakpoint",
    ("breakpoint", "clear"): "ClearBreakpoint",
    ("retransform", "retransform"): "RetransformClasses of one class",
    ("retransform", "stop"): "... the stop alone, of all rounds",
    ("retransform", "compiled_again"): "... until its method is as fast as before, called all the time",
}
KINDS = ["finder", "breakpoint", "entry", "pop", "retransform"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jvms", type=int, default=3)
    parser.add_argument("--depths", default="5,50,200", help="frames of the program above which the hot method is called")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        include = os.path.join(o.java, "include")
        source = os.path.join(HERE, "walk", "walk.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{include}", f"-I{include}/linux", "-o", os.path.join(work, "walk.so"), source], check=True)
        subprocess.run([f"{o.java}/bin/javac", "-d", work, os.path.join(HERE, "walk", "Walk.java")], check=True)
        runs = {kind: [] for kind in KINDS}
        for _ in range(o.jvms):
            for kind in KINDS:
                runs[kind].append(run(o, work, kind))
    print_figures(o.depths.split(","), runs)


def run(o, work, kind):
    """{(name, depth): figure}."""
    never_inlined = [f"-XX:CompileCommand=dontinline,{method}" for method in HOT]
    command = [f"{o.java}/bin/java", "-Xmx256m", f"-agentpath:{work}/walk.so={kind}", "-Xlog:safepoint:file=stops.log", "-XX:CompileCommand=quiet", *never_inlined, "-cp", ".", "Walk", kind, str(o.rounds), o.depths]
    done = subprocess.run(command, cwd=work, check=True, stdout=subprocess.PIPE, text=True)
    found = {}
    for name, depth, figure in map(str.split, done.stdout.splitlines()):
        found[name, depth] = float(figure)
    if kind == "retransform":
        with open(os.path.join(work, "stops.log"), encoding="utf-8") as log:
            stops = [int(nanos) / 1e6 for nanos in re.findall(r'"RedefineClasses".*Total: +(\d+) ns', log.read())]
        found.update({("stop", depth): statistics.median(stops) for depth in o.depths.split(",")})
    return found


def print_figures(depths, runs):
    print("plain call, ns: " + ", ".join(f"{kind} {statistics.median(found['plain', depths[0]] for found in runs[kind]):.2f}" for kind in KINDS))
    hook = {depth: statistics.median(found["finder_2", depth] - found["plain", depth] for found in runs["finder"]) for depth in depths}
    print_heading("ns above a plain call; in brackets: of a hook with 2 frames", depths)
    for (kind, name), (meaning, base) in NANOS.items():
        cells = []
        for depth in depths:
            above = [found[name, depth] - found[base, depth] for found in runs[kind]]
            cells.append(f"{spread(above)} [{statistics.median(above) / hook[depth]:.2f}]")
        print_row(meaning, cells)
    print_heading("ms of wall time", depths)
    for (kind, name), meaning in MILLIS.items():
        print_row(meaning, [spread([found[name, depth] for found in runs[kind]]) for depth in depths])


def print_heading(what, depths):
    print()
    print_row(what, [f"{depth} frames" for depth in depths])


def print_row(name, cells):
    print(f"{name:64}" + "".join(f" {cell:>36}" for cell in cells))


def spread(values):
    digits = 2 if statistics.median(values) < 100 else 0
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


if __name__ == "__main__":
    main()
