#!/usr/bin/env python3
"""Speed of rewriting: every class of java.base and of some large jars, one thread, the same edit, instr beside the peers.

The peers are run by `transform.sh JDK ENGINE PASSES` in the directory given with --peers (it holds the corpus, too)."""
import argparse
import json
import os
import statistics
import subprocess

# Name -> JDK, engine class, passes in one JVM; the first pass is the cold one.
PEERS = {
    "asm": ("17", "AsmTimer$Maxs", 4),
    "byte-buddy": ("17", "ByteBuddyAdvice$Shared", 3),
    "byte-buddy-default": ("17", "ByteBuddyAdvice$Fresh", 2),
    "javassist": ("17", "JavassistTimer$Factory", 3),
    "classfile-25": ("25", "ClassFileApiTimer$Factory", 4),
}


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", help="directory with transform.sh, built; without it only instr is measured")
    parser.add_argument("--only", default="", help="names of peers, separated by commas")
    parser.add_argument("--program", required=True, help="the built example `throughput`")
    parser.add_argument("--java", required=True, help="the JDK whose java.base is rewritten")
    parser.add_argument("--java25", default=os.environ.get("JDK25", ""), help="for the peer classfile-25")
    parser.add_argument("jars", nargs="*", help="jars or directories; default: the corpus of --peers")
    return parser.parse_args()


def commands(o):
    jars = o.jars or ([os.path.join(o.peers, "corpus/target/jars")] if o.peers else [])
    found = {"instr": [os.path.abspath(o.program), "--jdk", o.java, "--passes", "6", *jars]}
    names = o.only.split(",") if o.only else ["asm", "byte-buddy"]
    for name in names if o.peers else []:
        jdk, engine, passes = PEERS[name]
        found[name] = [os.path.join(o.peers, "transform.sh"), jdk, engine, str(passes)]
    return found


def passes(command, o):
    environment = {**os.environ, "JDK17": o.java, "JDK25": o.java25}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def row(name, runs, base):
    cold = statistics.median(run[0]["cpu_ms"] for run in runs)
    warm = statistics.median(run[-1]["cpu_ms"] for run in runs)
    tail = statistics.median(run[0]["p99_us"] for run in runs)
    last = runs[-1][0]
    rate = lambda milliseconds: last["in_bytes"] / milliseconds / 1e3
    ratios = "" if base is None else f"{cold / base[0]:.1f} | {warm / base[1]:.1f} | {tail / base[2]:.1f}"
    print(f"| {name} | {last['classes']} | {last['methods']} | {last['failures']} | {cold:.0f} | {rate(cold):.0f} | "
          f"{warm:.0f} | {rate(warm):.0f} | {tail:.1f} | {ratios} |")
    return cold, warm, tail


def main():
    o = options()
    todo = commands(o)
    runs = {name: [] for name in todo}
    names = list(todo)
    for number in range(o.rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            runs[name].append(passes(todo[name], o))
            print(f"round {number + 1} {name}: {[one['cpu_ms'] for one in runs[name][-1]]} ms", flush=True)
    print("| engine | classes | methods | failures | cold CPU ms | cold MB/s | warm CPU ms | warm MB/s | p99 cold us | "
          "cold / instr | warm / instr | p99 / instr |")
    print("|---" * 12 + "|")
    base = row("instr", runs["instr"], None)
    for name in names[1:]:
        row(name, runs[name], base)


main()
