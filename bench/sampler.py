#!/usr/bin/env python3
"""What samples of running threads cost: processor time of a fixed amount of work, without agent, with the agent alone, sampled."""
import os
import resource
import shutil
import subprocess
import tempfile

import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGURATIONS = {
    "agent": "[sampler]\nenabled = false\n",
    "async-10ms": "[sampler]\nengine = \"async\"\n",
    "async-1ms": "[sampler]\nengine = \"async\"\ninterval = \"1 ms\"\n",
    "jvmti-10ms": "[sampler]\nengine = \"jvmti\"\n",
}


def variants(o, directory):
    """Name -> JVM options."""
    found = {"none": []}
    for name, text in CONFIGURATIONS.items():
        path = os.path.join(directory, f"{name}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[trace]\nfile = "{directory}/{name}.jfr"\n{text}')
        found[name] = [f"-agentpath:{o.agent}={path}"]
    return found


def measure(flags, o, directory):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # One collector thread and no growing heap: less noise.
    command = [o.java + "/bin/java", "-XX:+UseSerialGC", "-Xmx512m", "-Xms512m", *flags, "-cp", directory, "Work", str(o.work)]
    run = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = [int(line.split()[1]) / 1e9 for line in run.stdout.splitlines() if line.startswith("CPU ")]
    if not found:
        return {"error": (run.stdout + run.stderr)[-300:]}
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"CPU of the work s": found[0], "CPU of the process s": whole}


def main():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--work", type=int, default=4000, help="amount of work")
    o = parser.parse_args()
    o.agent = os.path.abspath(o.agent)
    directory = tempfile.mkdtemp(prefix="instr-sampler-")
    try:
        source = os.path.join(HERE, "sampler", "Work.java")
        subprocess.run([o.java + "/bin/javac", "-d", directory, source], check=True)
        all_variants = rounds.chosen(variants(o, directory), o.only)
        results = rounds.run(all_variants, o.rounds, lambda name: measure(all_variants[name], o, directory))
        rounds.table(results, ["CPU of the work s", "CPU of the process s"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
