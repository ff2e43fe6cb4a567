#!/usr/bin/env python3
"""How deep a recursion gets before the stack overflows, inline and behind wrappers, interpreted and compiled."""
import os
import shutil
import subprocess
import tempfile

import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILERS = {"interpreted": (["-Xint"], 10), "c1": (["-XX:TieredStopAtLevel=1"], 400), "c2": ([], 400)}
RULE = '[trace]\nmax-file-mb = 1\n[filter]\nleaf = false\nmax-bytes = 0\n[[rule]]\nclass = "Depth"\nmethod = "call()"\n'


def variants(o, directory):
    """Name -> JVM options."""
    found = {"none": []}
    for level in ("off", "time"):
        for mode in ("inline", "wrapper"):
            path = os.path.join(directory, f"{mode}-{level}.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'{RULE}level = "{level}"\nmode = "{mode}"\n')
            found[f"{mode}-{level}"] = [f"-agentpath:{o.agent}={path}"]
    return found


def measure(flags, o, directory):
    figures = {}
    for name, (compiler, overflows) in COMPILERS.items():
        command = [o.java + "/bin/java", *compiler, *flags, "-cp", directory, "Depth", str(overflows)]
        run = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300, check=False)
        found = [int(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("DEPTH ")]
        if not found:
            return {"error": (run.stdout + run.stderr)[-300:]}
        figures[name] = found[0]
    return figures


def main():
    o = rounds.arguments(__doc__).parse_args()
    o.agent = os.path.abspath(o.agent)
    directory = tempfile.mkdtemp(prefix="instr-depth-")
    try:
        source = os.path.join(HERE, "depth", "Depth.java")
        subprocess.run([o.java + "/bin/javac", "-d", directory, source], check=True)
        all_variants = rounds.chosen(variants(o, directory), o.only)
        results = rounds.run(all_variants, o.rounds, lambda name: measure(all_variants[name], o, directory))
        rounds.table(results, list(COMPILERS))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
