"""Starts a web application and waits for its first complete answer."""
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


def options(description):
    parser = rounds.arguments(description)
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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(stat_file):
    """User and system time of a process or thread, from its stat file in /proc."""
    with open(stat_file, encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def answered(port, o):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{o.path}", timeout=LONGEST) as answer:
            return len(answer.read()) >= o.answer_bytes
    except OSError:
        return False


def start_once(flags, o, figures, environment=None):
    """What `figures(pid, start)` gives once the application has answered."""
    directory = tempfile.mkdtemp(prefix="instr-startup-")
    port = free_port()
    command = [o.java + "/bin/java", "-Xms256m", "-Xmx512m", *flags, "-jar", os.path.abspath(o.application)]
    variables = {**os.environ, **(environment or {}), "PORT": str(port)}
    start = time.monotonic()
    with open(directory + "/log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log, env=variables)
        try:
            while process.poll() is None and time.monotonic() - start < LONGEST:
                if answered(port, o):
                    return figures(process.pid, start)
                time.sleep(0.01)
            return {"error": f"no answer; {log_end(directory)}"}
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(directory, ignore_errors=True)


def log_end(directory):
    with open(directory + "/log", encoding="utf-8", errors="replace") as log:
        return " / ".join(log.read().splitlines()[-3:])
