"""Reloads rules for thousands of methods of a Spring Boot application while clients send requests.

Each step replaces the rules, and then: the classes that were touched are those that differ, no request fails, and the stops are those that HotSpot
itself logs (`-Xlog:safepoint`), beside the bound that the agent gives. Before that one class alone gets probes and loses them several times: what it stops the
application for is the least that any batch does. Exits with 1 if a request fails or a class is touched that does not differ.
"""
import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from web_application import SAMPLE, free_port

FEW = '[[rule]]\nclass = "library.**"\nlevel = "time"\n'
SAFEPOINT = re.compile(r'Safepoint "(\w+)".*?Reaching safepoint: *(\d+) ns.*?Total: *(\d+) ns')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", required=True, help="home of a JDK from 17 on")
    parser.add_argument("--agent", required=True)
    parser.add_argument("--application", default=SAMPLE)
    parser.add_argument("--path", default="/books")
    parser.add_argument("--classes", default="org.springframework.web.**,org.springframework.beans.**", help="get probes and lose them")
    parser.add_argument("--less", default="org.springframework.web.servlet.**", help="of these, the classes that lose them first")
    parser.add_argument("--one", default="org.springframework.web.servlet.DispatcherServlet", help="the class that is changed alone")
    parser.add_argument("--times", type=int, default=5, help="that this class gets probes and loses them")
    parser.add_argument("--level", default="watch")
    parser.add_argument("--stop-ms", type=int, default=20)
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="of load before each step")
    return parser.parse_args()


class Load:
    """Clients that send one request after the other."""

    def __init__(self, url, clients):
        self.url, self.answered, self.failed, self.times, self.ends = url, 0, [], [], False
        self.threads = [threading.Thread(target=self.send) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def send(self):
        while not self.ends:
            start = time.monotonic()
            try:
                with urllib.request.urlopen(self.url, timeout=60) as answer:
                    answer.read()
                self.answered += 1
            except (OSError, urllib.error.URLError) as error:
                self.failed.append(repr(error))
            self.times.append(time.monotonic() - start)

    def take(self):
        """The number of requests since the last time, and the longest in ms."""
        times, self.times = self.times, []
        return len(times), 1e3 * max(times, default=0)

    def end(self):
        self.ends = True
        for thread in self.threads:
            thread.join()


class Application:
    """The application with the agent, in a directory of its own."""

    def __init__(self, o):
        self.o, self.directory, port = o, tempfile.mkdtemp(prefix="instr-reload-"), free_port()
        self.write(FEW)
        command = [o.java + "/bin/java", "-Xmx512m", f"-Xlog:safepoint:file={self.directory}/safepoints.log",
                   f"-agentpath:{os.path.abspath(o.agent)}=instr.toml", "-jar", os.path.abspath(o.application)]
        with open(self.directory + "/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=log, env={**os.environ, "PORT": str(port)})
        self.url = f"http://127.0.0.1:{port}{o.path}"

    def write(self, rules):
        """Replaces the file as a whole."""
        with open(self.directory + "/next.toml", "w", encoding="utf-8") as file:
            file.write('[trace]\nfile = "trace.jfr"\n[governor]\nenabled = false\n[filter]\nleaf = false\nmax-bytes = 0\n'
                       f"[control]\nstop-ms = {self.o.stop_ms}\n{rules}")
        os.replace(self.directory + "/next.toml", self.directory + "/instr.toml")

    def wait(self):
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(self.url, timeout=5) as answer:
                    answer.read()
                    return
            except OSError:
                time.sleep(0.1)
        sys.exit(open(self.directory + "/log", encoding="utf-8").read()[-2000:])

    def ask(self, request):
        namespace = re.sub(r"\D", "", os.readlink("/proc/self/ns/pid"))
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"/tmp/instr-{os.geteuid()}/{self.process.pid}-{namespace}.sock")
            client.sendall((json.dumps(request) + "\n").encode())
            answer = b""
            while part := client.recv(1 << 16):
                answer += part
        return json.loads(answer)

    def stops(self, seen):
        """Lengths in ms of the safepoints for retransforming and of all others after the first `seen` lines, and how many lines there are now."""
        with open(self.directory + "/safepoints.log", encoding="utf-8") as log:
            lines = log.read().splitlines()
        found = [SAFEPOINT.search(line) for line in lines[seen:]]
        stops = [(match[1], int(match[3]) / 1e6) for match in found if match]
        redefine = "RedefineClasses"
        return [ms for name, ms in stops if name == redefine], [ms for name, ms in stops if name != redefine], len(lines)

    def batches(self):
        """Reason, classes and bound in ms of each batch, from the recording."""
        java = self.o.java + "/bin/jfr"
        printed = subprocess.run([java, "print", "--json", "--events", "instr.Retransform", self.directory + "/trace.jfr"],
                                 capture_output=True, text=True, check=True).stdout
        return [event["values"] for event in json.loads(printed)["recording"]["events"]]

    def end(self):
        self.process.terminate()
        self.process.wait(60)


def step(application, load, name, rules, seen, seconds):
    """Replaces the rules under load; returns whether what was touched is what differs, the longest stop in ms, and where the log ends."""
    time.sleep(seconds)
    quiet, longest_before = load.take()
    application.write(rules)
    before = application.ask({"ask": "status"})
    start = time.monotonic()
    answer = application.ask({"ask": "reload"})
    took = time.monotonic() - start
    after = application.ask({"ask": "status"})
    sent, longest = load.take()
    ours, others, seen = application.stops(seen)
    touched = after["retransforms"]["classes"] - before["retransforms"]["classes"]
    batches = after["retransforms"]["batches"] - before["retransforms"]["batches"]
    methods = after["methods_instrumented"] - before["methods_instrumented"]
    print(f"{name:10} {took:6.2f} s, {answer['classes_changed']:5} classes differ, {touched:5} touched in {batches:3} batches, methods {methods:+6}; "
          f"stops: longest {max(ours, default=0):6.1f} ms, together {sum(ours):7.1f} ms (others {max(others, default=0):5.1f} ms); "
          f"requests {sent} (longest {longest:.0f} ms), before {quiet} (longest {longest_before:.0f} ms)", flush=True)
    return touched == answer["classes_changed"], max(ours, default=0), seen


def main():
    o = arguments()
    application = Application(o)
    load = None
    try:
        application.wait()
        load = Load(application.url, o.clients)
        listed = ", ".join(f'"{pattern}"' for pattern in o.classes.split(","))
        many = FEW + f'[[rule]]\nclass = [{listed}]\nlevel = "{o.level}"\n'
        less = FEW + f'[[rule]]\nclass = [{listed}, "!{o.less}"]\nlevel = "{o.level}"\n'
        one = FEW + f'[[rule]]\nclass = "{o.one}"\nlevel = "{o.level}"\n'
        as_it_must_be, seen, of_one, of_many = True, 0, [], []
        for name, rules in [("one", one), ("none", FEW)] * o.times:
            is_right, longest, seen = step(application, load, name, rules, seen, 1)
            as_it_must_be &= is_right
            of_one.append(longest)
        for name, rules in [("many", many), ("same", "# other lines\n" + many), ("less", less), ("many", many), ("few", FEW)]:
            is_right, longest, seen = step(application, load, name, rules, seen, o.seconds)
            as_it_must_be &= is_right
            of_many.append(longest)
        bound = application.ask({"ask": "status"})["retransforms"]["longest_stop_ms"]
        load.end()
        application.end()
        largest = max((batch["classes"] for batch in application.batches()), default=0)
        print(f"requests {load.answered}, failed {len(load.failed)} {load.failed[:3]}; largest batch {largest} classes; "
              f"longest stop by the agent's bound {bound:.1f} ms")
        print(f"longest stop {max(of_many):.1f} ms; budget {o.stop_ms} ms, and one class alone {statistics.median(of_one):.1f} ms (median), "
              f"{min(of_one):.1f} to {max(of_one):.1f} ms")
        sys.exit(0 if as_it_must_be and not load.failed and load.answered else 1)
    finally:
        if load:
            load.end()
        application.process.kill()
        application.process.wait()
        shutil.rmtree(application.directory, ignore_errors=True)


if __name__ == "__main__":
    main()
