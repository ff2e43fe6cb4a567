#!/usr/bin/env python3
"""Instructions of the processor that the engine takes to rewrite classes, counted by callgrind: the same from run to run, whatever else
the machine does, so that a change of one in a hundred can be seen. Needs valgrind.

What is rewritten is java.base of the JDK, or what is given as jars. The loops that read the classes are not counted."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the built example `throughput`")
    parser.add_argument("--java", required=True, help="the JDK whose java.base is rewritten if no jar is given")
    parser.add_argument("--most", type=float, help="exit with 1 if a method takes more instructions than this")
    parser.add_argument("jars", nargs="*")
    return parser.parse_args()


def count(o, way):
    """Instructions of one pass, and what the pass says of itself."""
    what = o.jars or ["--jdk", o.java]
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", "--toggle-collect=*one_pass*",
             os.path.abspath(o.program), "--passes", "1", *way, *what],
            capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", run.stderr)
    line = next((line for line in run.stdout.splitlines() if line.startswith("{")), None)
    if run.returncode != 0 or not found or not line:
        sys.exit(f"callgrind did not count: {run.stderr.strip()[-400:]}")
    return int(found.group(1)), json.loads(line)


def main():
    o = options()
    print("| way | classes | methods | instructions | a class | a method | a byte |")
    print("|---|---|---|---|---|---|---|")
    a_method = {}
    for name, way in [("shortest", []), ("by nodes", ["--nodes"])]:
        instructions, figures = count(o, way)
        a_method[name] = instructions / figures["methods"]
        print(f"| {name} | {figures['classes']} | {figures['methods']} | {instructions / 1e6:.1f} M "
              f"| {instructions / figures['classes']:.0f} | {a_method[name]:.0f} | {instructions / figures['in_bytes']:.1f} |", flush=True)
    if o.most is not None and a_method["shortest"] > o.most:
        sys.exit(f"a method takes {a_method['shortest']:.0f} instructions, more than {o.most:.0f}")


main()
