"""Runs the program of bench/scaling/Load.java: chains of ten monitored calls on many threads, processor time by kind of thread."""
import json
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COLLECTORS = {"default": [], "G1": ["-XX:+UseG1GC"], "Parallel": ["-XX:+UseParallelGC"], "Serial": ["-XX:+UseSerialGC"], "Z": ["-XX:+UseZGC"]}
CONFIG = """\
[trace]
file = "{directory}/trace.jfr"
max-file-mb = 100000
{trace}
[agent]
stats = "{directory}/stats.json"
{more}
[[rule]]
class = "Load$Monitored"
method = "call(int)"
level = "{level}"
"""


def compile_program(java, directory):
    """The program's classes; a run-time image has no compiler, the one on the path will do."""
    own = os.path.join(java, "bin", "javac")
    compiler = own if os.path.exists(own) else shutil.which("javac")
    source = os.path.join(HERE, "scaling", "Load.java")
    subprocess.run([compiler, "--release", "11", "-nowarn", "-d", directory, source], check=True)


def feature(java):
    """17, 25, ..."""
    with open(os.path.join(java, "release"), encoding="utf-8") as file:
        version = next(line for line in file if line.startswith("JAVA_VERSION="))
    return int(version.split('"')[1].split(".")[0])


class Run:
    """One run of the program. `phases` are dictionaries of figures, in the order of the counts of threads; `stats` is the agent's file."""

    def __init__(self, java, classes, counts, agent=None, level=None, body="plain", work=300, allocated=0, rate=0, length="1s",
                 flags=(), trace="", more="", keep=None, limit=600):
        directory = tempfile.mkdtemp(prefix="instr-load-")
        self.error, self.phases, self.stats, self.file_bytes = None, [], {}, 0
        try:
            options = list(flags)
            if level:
                path = os.path.join(directory, "instr.toml")
                with open(path, "w", encoding="utf-8") as file:
                    ungoverned = "" if "[governor]" in more else "[governor]\nenabled = false\n"
                    file.write(CONFIG.format(directory=directory, level=level, trace=trace, more=more + ungoverned))
                options.append(f"-agentpath:{os.path.abspath(agent)}={path}")
            command = [java + "/bin/java", "-Xms256m", "-Xmx256m", *options, "-cp", classes, "Load", body, str(work), str(allocated),
                       str(rate), length, *counts]
            done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=limit, check=False)
            self.phases = [self.figures(line) for line in done.stdout.splitlines() if line.startswith("PHASE ")]
            if done.returncode != 0 or len(self.phases) != len(counts):
                self.error = (done.stdout + done.stderr)[-300:]
            if level and not self.error:
                with open(os.path.join(directory, "stats.json"), encoding="utf-8") as file:
                    self.stats = json.load(file)
                trace_file = os.path.join(directory, "trace.jfr")
                self.file_bytes = os.path.getsize(trace_file) if os.path.exists(trace_file) else 0
                if keep and self.file_bytes:
                    shutil.move(trace_file, keep)
        except subprocess.TimeoutExpired:
            self.error = f"not finished within {limit} s"
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    @staticmethod
    def figures(line):
        words = dict(word.split("=") for word in line.split()[1:])
        return {name: value if name == "threads" else int(value) for name, value in words.items()}
