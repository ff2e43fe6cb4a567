"""What call sites cost that a diagnosis measures, in one JVM: before it, while it measures, and afterwards.

A method has ten call sites of an empty method that is not inlined. `instr diagnose --keep` of it, inside another method, has them measured; then it is called inside that
method, and outside. The figures are nanoseconds a call, above the same before the diagnosis: the least and the median of the rounds, and the median with two threads at a time.
Calls of an empty method are too short to be measured, and left out: what a site costs whose call is measured, two readings of the clock and their bookkeeping, is not shown here.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CONFIG = '[trace]\nfile = "trace.jfr"\nmax-file-mb = 64\n[governor]\nenabled = false\n[[rule]]\nclass = "nothing.**"\n'
MEANING = {"outside": "a call site outside its context", "inside": "a call site inside, of calls so short that they are left out"}
# Until a diagnosis has its probes where they stay.
PATIENCE = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--jvms", type=int, default=3)
    o = parser.parse_args()
    o.agent = os.path.abspath(o.agent)
    o.cli = os.path.join(os.path.dirname(o.agent), "instr")
    return o


class Program:
    """bench/sites/Sites.java, which answers lines."""

    def __init__(self, o, work):
        # The JIT must not fold the calls away, nor compile the loop with both of them in it.
        command = [f"{o.java}/bin/java", "-Xmx256m", f"-agentpath:{o.agent}=instr.toml", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Sites::callee",
                   "-XX:CompileCommand=dontinline,Sites::root", "-cp", ".", "Sites", str(o.rounds)]
        self.process = subprocess.Popen(command, cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask("ready?")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def measure(self):
        """{name: (least, median, median with two threads)}."""
        return {name: tuple(figures) for name, figures in json.loads(self.ask("measure")).items()}


def instr(o, *words):
    done = subprocess.run([o.cli, *words], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        sys.exit(f"error: instr {' '.join(words)}: exit code {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def claim_of_diagnosis(o, pid):
    """The number of the only claim that can be removed, or None."""
    claims = json.loads(instr(o, "claims", pid, "--json"))["claims"]
    return next((claim["id"] for claim in claims if claim["id"] is not None), None)


def diagnose(o, program):
    """Starts a diagnosis for which no call is slow, so that it goes on; returns when the calls that are too short to be measured have been left out."""
    pid = str(program.process.pid)
    command = [o.cli, "diagnose", pid, "Sites.root", "--in", "Sites.outer", "--slower-than", "3600s", "--depth", "1", "--keep", "--json"]
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        # Calls for it: the first measurement, which is not used.
        program.measure()
        shown = state_of(o, pid) or {}
        if shown.get("state") == "waiting" and any("too short" in notice for notice in shown.get("notices") or []):
            return client
    sys.exit("error: the diagnosis does not get to the call sites")


def state_of(o, pid):
    """How the diagnosis stands, or None if that is not to be had."""
    claim = claim_of_diagnosis(o, pid)
    if claim is None:
        return None
    done = subprocess.run([o.cli, "diagnose", pid, "--show", str(claim), "--json"], capture_output=True, text=True, check=False, timeout=60)
    return json.loads(done.stdout) if done.stdout.startswith("{") else None


def end(o, program, client):
    pid = str(program.process.pid)
    if claim := claim_of_diagnosis(o, pid):
        instr(o, "remove", pid, str(claim))
    client.terminate()
    client.wait(30)
    if claim_of_diagnosis(o, pid):
        sys.exit("error: the diagnosis has not ended")


def run(o, work):
    """Figures before, during and after."""
    program = Program(o, work)
    try:
        before = program.measure()
        client = diagnose(o, program)
        during = program.measure()
        if claim_of_diagnosis(o, str(program.process.pid)) is None:
            sys.exit("error: the diagnosis ended while its call sites were measured")
        end(o, program, client)
        return before, during, program.measure()
    finally:
        program.process.kill()
        program.process.wait()


def main():
    o = arguments()
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([f"{o.java}/bin/javac", "-d", work, os.path.join(HERE, "sites", "Sites.java")], check=True)
        with open(os.path.join(work, "instr.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        runs = [run(o, work) for _ in range(o.jvms)]
    clock = [2 * statistics.median(during["clock"][at] for _, during, _ in runs) for at in range(3)]
    print(f"{'':50} {'least':>8} {'median':>8} {'two threads':>12}   ns above the same call before the diagnosis")
    for name, meaning in MEANING.items():
        for when, which in [(f"{meaning}", 1), ("  afterwards", 2)]:
            above = [[found[which][name][at] - found[0][name][at] for found in runs] for at in range(3)]
            print(f"{when:50} {min(above[0]):8.2f} {statistics.median(above[1]):8.2f} {statistics.median(above[2]):12.2f}")
    print(f"{'two readings of the clock':50} {clock[0]:8.2f} {clock[1]:8.2f} {clock[2]:12.2f}")
    print("outside: aim 0.3 ns")


if __name__ == "__main__":
    main()
