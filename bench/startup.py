#!/usr/bin/env python3
"""Start of a web application up to the first complete answer, without an agent, with instr, and with peers."""
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

import rounds

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.path.join(HERE, "..", "integration-tests", "sample-webapp", "target", "sample-webapp.jar")
LONGEST = 120
TICKS = os.sysconf("SC_CLK_TCK")


def options():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--application", default=SAMPLE)
    parser.add_argument("--path", default="/books?size=10&page=0&sort=title")
    parser.add_argument("--answer-bytes", type=int, default=200, help="a shorter answer is not complete yet")
    parser.add_argument("--packages", default="org.springframework.**,library.**", help="what is instrumented")
    return parser.parse_args()


def config(directory, name, packages, level, discard=False, small_methods=False):
    """Writes a configuration and gives its path."""
    path = os.path.join(directory, name + ".toml")
    classes = ", ".join(f'"{pattern}"' for pattern in packages.split(","))
    lines = ["[agent]", f"discard = {str(discard).lower()}"]
    if small_methods:
        lines += ["[filter]", "leaf = false", "max-bytes = 0"]
    lines += ["[[rule]]", f"class = [{classes}]", 'template = "timed"', f'level = "{level}"']
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def variants(o, directory):
    """Name -> JVM options; the first one is the measure."""
    prefixes = ",".join(pattern.rstrip("*") for pattern in o.packages.split(","))

    def own(name, **settings):
        return [f"-agentpath:{os.path.abspath(o.agent)}={config(directory, name, o.packages, **settings)}"]

    found = {
        "none": [],
        "instr-discard": own("discard", level="time", discard=True),
        "instr-watch": own("watch", level="watch"),
        "instr-time": own("time", level="time", small_methods=True),
    }
    engines = rounds.peer(o.peers, "bench-engines.jar")
    if engines:
        found["asm"] = [f"-javaagent:{engines}=asm:{prefixes}"]
        found["byte-buddy"] = [f"-javaagent:{engines}=bb:{prefixes}"]
    opentelemetry = rounds.peer(o.peers, "opentelemetry-javaagent.jar")
    if opentelemetry:
        silent = [f"-Dotel.{signal}.exporter=none" for signal in ("traces", "metrics", "logs")]
        found["opentelemetry"] = [f"-javaagent:{opentelemetry}", *silent]
    elastic = rounds.peer(o.peers, "elastic-apm-agent.jar")
    if elastic:
        settings = {"disable_send": "true", "central_config": "false", "cloud_provider": "NONE", "log_level": "ERROR"}
        found["elastic"] = [f"-javaagent:{elastic}", *(f"-Delastic.apm.{key}={value}" for key, value in settings.items())]
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(stat_file):
    """User and system time of a process or thread, from its stat file in /proc."""
    with open(stat_file, encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def usage(pid, start):
    # The launcher creates the thread that runs main() first: the lowest number after that of the process.
    threads = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    return {
        "CPU s": cpu_seconds(f"/proc/{pid}/stat"),
        "main thread CPU s": cpu_seconds(f"/proc/{pid}/task/{threads[1]}/stat"),
        "wall s": time.monotonic() - start,
    }


def answered(port, o):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{o.path}", timeout=LONGEST) as answer:
            return len(answer.read()) >= o.answer_bytes
    except OSError:
        return False


def start_once(flags, o):
    directory = tempfile.mkdtemp(prefix="instr-startup-")
    port = free_port()
    command = [o.java + "/bin/java", "-Xms256m", "-Xmx512m", *flags, "-jar", os.path.abspath(o.application)]
    start = time.monotonic()
    with open(directory + "/log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log, env={**os.environ, "PORT": str(port)})
        try:
            while process.poll() is None and time.monotonic() - start < LONGEST:
                if answered(port, o):
                    return usage(process.pid, start)
                time.sleep(0.01)
            return {"error": f"no answer; {log_end(directory)}"}
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(directory, ignore_errors=True)


def log_end(directory):
    with open(directory + "/log", encoding="utf-8", errors="replace") as log:
        return " / ".join(log.read().splitlines()[-3:])


def main():
    o = options()
    directory = tempfile.mkdtemp(prefix="instr-startup-config-")
    try:
        flags = rounds.chosen(variants(o, directory), o.only)
        results = rounds.run(flags, o.rounds, lambda name: start_once(flags[name], o))
        rounds.table(results, ["CPU s", "main thread CPU s", "wall s"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
