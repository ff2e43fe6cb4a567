#!/usr/bin/env python3
"""Memory of a web application at its first complete answer, without an agent and with instr, and what instr itself holds."""
import os
import shutil
import struct
import subprocess
import tempfile

import rounds
import web_application

MIB = 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))


def variants(o, directory):
    """Name -> JVM options; the first one is the measure."""

    def own(name, packages, level):
        return [f"-agentpath:{os.path.abspath(o.agent)}={web_application.config(directory, name, packages, level)}"]

    return {
        "none": [],
        "no rule matches": own("nothing", "com.acme.**", "time"),
        "watch": own("watch", o.packages, "watch"),
        "time": own("time", o.packages, "time"),
    }


def figures(pid, heap_file):
    """What the kernel says of the process, and what the library holds."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        rollup = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in file if line.endswith("kB\n")}
    with open(heap_file, "rb") as file:
        now, most, segments = struct.unpack("qqq", file.read(24))
    return {
        "RSS MiB": rollup["Rss"],
        "private MiB": rollup["Private_Dirty"] + rollup["Private_Clean"],
        "held MiB": (now - segments) / MIB,
        "segments MiB": segments / MIB,
        "most MiB": most / MIB,
    }


def measure(flags, counter, directory, o):
    heap_file = os.path.join(directory, "heap")
    if os.path.exists(heap_file):
        os.remove(heap_file)
    environment = {"LD_PRELOAD": counter, "HEAP_FILE": heap_file, "HEAP_OF": os.path.abspath(o.agent)}
    return web_application.start_once(flags, o, lambda pid, _: figures(pid, heap_file), environment)


def main():
    o = web_application.options(__doc__)
    directory = tempfile.mkdtemp(prefix="instr-memory-")
    try:
        counter = os.path.join(directory, "heap_of_library.so")
        source = os.path.join(HERE, "memory", "heap_of_library.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", counter, source], check=True)
        flags = rounds.chosen(variants(o, directory), o.only)
        results = rounds.run(flags, o.rounds, lambda name: measure(flags[name], counter, directory, o))
        rounds.table(results, ["RSS MiB", "private MiB"])
        print("\n| variant | held by the library, MiB | and by its recording segments | most of both at a time |\n|---|---|---|---|")
        for name, found in results.items():
            cells = [f"{rounds.median(found, column):.2f}" for column in ("held MiB", "segments MiB", "most MiB")]
            print(f"| {name} | " + " | ".join(cells) + " |")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
