"""Asks which branch makes a request of a web application slow, while the application is under load: `instr diagnose`, and Arthas' `trace` level by level.

The application (bench/diagnose) searches orders; by one parameter the search reads a whole table. For each tool, in JVMs of its own, the tools in turn: the answer and the seconds from typing to it;
then pairs of windows, with and without the tool at work, what the other requests notice of it; processor time, stops, retransformed classes, metaspace.
Exits with 1 if a request fails or a tool gives no answer.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import arthas
import windows
from web_application import cpu_seconds, free_port

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.join(HERE, "diagnose")
METHOD = "orders.OrderController.search"
CONFIG = '[trace]\nfile = "trace.jfr"\n[[rule]]\nclass = "nothing.**"\n'
SAFEPOINT = re.compile(r'Safepoint "(\w+)".*?Total: *(\d+) ns')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", required=True, help="home of a JDK from 17 on, with jstat")
    parser.add_argument("--agent", required=True)
    parser.add_argument("--tools", default="instr,arthas")
    parser.add_argument("--arthas", default=os.path.join(PROJECT, "target", "arthas"), help="directory with arthas-boot.jar")
    parser.add_argument("--pairs", type=int, default=30, help="of windows with and without the tool at work")
    parser.add_argument("--seconds", type=float, default=6, help="of each window")
    parser.add_argument("--warm-up", type=float, default=30, help="seconds of load before anything is asked")
    parser.add_argument("--clients", type=int, default=2, help="that send the other requests")
    parser.add_argument("--rate", type=int, default=0, help="other requests a second; 0: each client asks again at once, so that no processor is ever idle")
    parser.add_argument("--rounds", type=int, default=1, help="JVMs for each tool, the tools in turn; each takes its part of the pairs")
    parser.add_argument("--slower-than-ms", type=int, default=20)
    parser.add_argument("--when", help="an expression for `instr diagnose`")
    parser.add_argument("--depth", type=int, default=40, help="levels for `instr diagnose`")
    parser.add_argument("--once", action="store_true", help="ask once in a window, as people do, not again and again")
    parser.add_argument("--answers", type=int, default=3, help="how often each tool is asked before the windows")
    o = parser.parse_args()
    o.agent = os.path.abspath(o.agent)
    return o


def application():
    """The jar, built if it is missing."""
    jar = os.path.join(PROJECT, "target", "orders.jar")
    if not os.path.exists(jar):
        subprocess.run(["mvn", "-q", "-B", "-ntp", "-f", os.path.join(PROJECT, "pom.xml"), "package"], check=True, stdout=sys.stderr)
    return jar


class Application:
    """The application in a directory of its own, and its clients."""

    def __init__(self, o, with_agent):
        self.o, self.directory, port = o, tempfile.mkdtemp(prefix="instr-diagnose-"), free_port()
        with open(self.directory + "/instr.toml", "w", encoding="utf-8") as file:
            file.write(CONFIG)
        agent = [f"-agentpath:{o.agent}=instr.toml"] if with_agent else []
        command = [o.java + "/bin/java", "-Xmx512m", f"-Xlog:safepoint:file={self.directory}/safepoints.log", *agent, "-jar", application()]
        with open(self.directory + "/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=log, env={**os.environ, "PORT": str(port)})
        self.pid, self.url, self.clients = self.process.pid, f"http://127.0.0.1:{port}", None

    def start_load(self):
        self.wait("/orders?by=note&value=1")
        command = [self.o.java + "/bin/java", "-Xmx128m", os.path.join(PROJECT, "Load.java"), self.url, str(self.o.clients), str(self.o.rate)]
        self.clients = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(self.o.warm_up)
        self.take()

    def wait(self, path):
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                    answer.read()
                    return
            except OSError:
                time.sleep(0.1)
        with open(self.directory + "/log", encoding="utf-8") as log:
            sys.exit(log.read()[-2000:])

    def take(self):
        """What the clients have got since the last time."""
        self.clients.stdin.write("\n")
        self.clients.stdin.flush()
        return json.loads(self.clients.stdout.readline())

    def cpu(self):
        return cpu_seconds(f"/proc/{self.pid}/stat")

    def metaspace_kib(self):
        lines = subprocess.run([self.o.java + "/bin/jstat", "-gc", str(self.pid)], capture_output=True, text=True, check=True).stdout.splitlines()
        return float(dict(zip(lines[0].split(), lines[1].split()))["MU"])

    def stops(self):
        """Milliseconds of each safepoint for retransforming since the start."""
        with open(self.directory + "/safepoints.log", encoding="utf-8") as log:
            found = [SAFEPOINT.search(line) for line in log]
        return [int(match[2]) / 1e6 for match in found if match and match[1] == "RedefineClasses"]

    def end(self):
        if self.clients:
            self.clients.kill()
            self.clients.wait()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Instr:
    """`instr diagnose`."""

    with_agent = True

    def __init__(self, o, app):
        self.once, self.app, self.cli = o.once, app, os.path.join(os.path.dirname(o.agent), "instr")
        condition = ["--when", o.when] if o.when else []
        self.command = [self.cli, "diagnose", str(app.pid), METHOD, *condition, "--slower-than", f"{o.slower_than_ms}ms", "--depth", str(o.depth), "--json"]

    def ask(self):
        """Asks once: (whether there is an answer, its text)."""
        done = subprocess.run(self.command, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            return False, f"exit code {done.returncode}: {done.stderr[-600:]}{done.stdout[-300:]}"
        answer = json.loads(done.stdout)
        chain, at = [], answer["tree"]
        while at:
            chain.append(f"{at['method']} ({at['kind']}, {at.get('share')})")
            at = max(at["children"], key=lambda child: child.get("share") or 0, default=None)
        cost = answer["cost"]
        return True, f"{answer['sentence']}\n  " + "\n  ".join(chain) + f"\n  {answer['calls']} calls, {answer['slow']} slow, explained {answer['explained']}, cost {cost}"

    def commands(self):
        return [" ".join(["instr", *self.command[1:]])]

    def at_work(self, end):
        """One diagnosis after the other until this moment, or one alone; the last one is interrupted."""
        asked = 0
        while time.monotonic() < end and not (self.once and asked):
            asked += 1
            client = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                client.wait(max(0.01, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                client.terminate()
                client.wait(30)
        time.sleep(max(0, end - time.monotonic()))
        return asked

    def figures(self):
        status = json.loads(subprocess.run([self.cli, "status", str(self.app.pid), "--json"], capture_output=True, text=True, check=True).stdout)
        return {name: status.get(name) for name in ("retransforms", "contexts", "records", "lost")}

    def close(self):
        pass


class ArthasTrace:
    """Arthas: attached once, then `trace` level by level."""

    with_agent = False

    def __init__(self, o, app):
        self.o, self.app, self.typed = o, app, []
        self.arthas = arthas.Arthas(o.java, arthas.free_home(o.arthas), app.pid, free_port())
        self.first = tuple(METHOD.rsplit(".", 1))

    def ask(self):
        commands, path, ended = arthas.descend(self.arthas, self.first, self.o.slower_than_ms)
        self.typed = commands
        self.arthas.command("reset")
        return bool(path), "\n  ".join(["path: ", *path]) + f"\n  ended: {ended}"

    def commands(self):
        return self.typed

    def at_work(self, end):
        asked = 0
        while time.monotonic() < end and not (self.o.once and asked):
            asked += 1
            arthas.descend(self.arthas, self.first, self.o.slower_than_ms, lambda: time.monotonic() >= end)
        # What it has changed stays until then: windows without it are without its code.
        self.arthas.command("reset")
        time.sleep(max(0, end - time.monotonic()))
        return asked

    def figures(self):
        return {"seconds to attach": round(self.arthas.attached_in, 2)}

    def close(self):
        self.arthas.close()


TOOLS = {"instr": Instr, "arthas": ArthasTrace}


def window(o, app, tool, is_with):
    """One window of load: requests, latencies, processor time; with the tool at work in all of it, or not at all."""
    time.sleep(0.5)
    app.take()
    start, cpu, stops = time.monotonic(), app.cpu(), len(app.stops())
    end = start + o.seconds
    asked = tool.at_work(end) if is_with else time.sleep(o.seconds) or 0
    seconds, taken, used = time.monotonic() - start, app.take(), app.cpu() - cpu
    requests = sum(kind["requests"] for kind in taken.values() if isinstance(kind, dict))
    return {**taken, "seconds": seconds, "asked": asked, "cpu_ms": 1e3 * used / max(1, requests), "stops": app.stops()[stops:]}


def answers(o, app, tool):
    """Asks the question some times; returns whether each time had an answer."""
    are_all = True
    for number in range(o.answers):
        start, cpu, stops = time.monotonic(), app.cpu(), len(app.stops())
        is_answer, text = tool.ask()
        took, stops = time.monotonic() - start, app.stops()[stops:]
        are_all &= is_answer
        print(f"answer {number + 1} after {took:.2f} s ({len(tool.commands())} commands; {len(stops)} stops, longest {max(stops, default=0):.1f} ms): {text}", flush=True)
    print("commands:\n  " + "\n  ".join(tool.commands()))
    return are_all


def measure(o, name):
    """Everything about one tool in a JVM of its own; returns the pairs of windows, and whether all went well."""
    app = Application(o, TOOLS[name].with_agent)
    try:
        app.start_load()
        print(f"\n== {name}", flush=True)
        before = app.metaspace_kib()
        tool = TOOLS[name](o, app)
        are_all = answers(o, app, tool)
        after_answers = app.metaspace_kib()
        found = windows.pairs(-(-o.pairs // o.rounds), lambda is_with: window(o, app, tool, is_with)) if are_all else []
        print(f"metaspace: {before:.0f} KiB before, {after_answers - before:+.0f} after the answers, {app.metaspace_kib() - before:+.0f} at the end; {tool.figures()}")
        tool.close()
        failed = sum(one["failed"] for pair in found for one in pair)
        return found, are_all and failed == 0
    finally:
        app.end()


def print_windows(found):
    if not found:
        return
    stops = [stop for _, with_it in found for stop in with_it["stops"]]
    alone = [one for one, _ in found]
    print(f"{len(found)} pairs of windows; the tool was asked {sum(with_it['asked'] for _, with_it in found)} times in them, "
          f"{len(stops)} stops, longest {max(stops, default=0):.1f} ms, together {sum(stops):.0f} ms; requests failed: {sum(one['failed'] for pair in found for one in pair)}")
    print(f"without it: {statistics.median(one['other']['requests'] / one['seconds'] for one in alone):.0f} other requests a second, "
          f"median {statistics.median(one['other']['median_ms'] for one in alone):.2f} ms")
    figures = {
        "throughput of the other requests": lambda one: one["other"]["requests"] / one["seconds"],
        "their mean latency": lambda one: one["other"]["mean_ms"],
        "their median latency": lambda one: one["other"]["median_ms"],
        "their 99th percentile": lambda one: one["other"]["p99_ms"],
        "latency of fast searches, median": lambda one: one["fast"]["median_ms"],
        "latency of slow searches, median": lambda one: one["slow"]["median_ms"],
        "processor time a request": lambda one: one["cpu_ms"],
    }
    for name, figure in figures.items():
        print(f"  {name}, with / without: {windows.text(found, figure)}")


def main():
    o = arguments()
    unknown = [name for name in o.tools.split(",") if name not in TOOLS]
    if unknown:
        sys.exit(f"error: no tool {', '.join(unknown)}; there are {', '.join(TOOLS)}")
    found, is_well = {name: [] for name in o.tools.split(",")}, True
    for _ in range(o.rounds):
        for name, pairs in found.items():
            more, went_well = measure(o, name)
            pairs += more
            is_well &= went_well
    for name, pairs in found.items():
        print(f"\n== {name}: windows")
        print_windows(pairs)
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
