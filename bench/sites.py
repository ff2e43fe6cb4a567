"""What call sites cost that a diagnosis measures, in one JVM: before it, while it measures, and afterwards.

A method has ten call sites of an empty method that is not inlined, which it calls a hundred times, so that its own price does not count, or once. `instr diagnose --keep` of it, inside another method, has them measured; then it is called inside that
method, and outside. The figures are nanoseconds of processor time a call, above the same before the diagnosis: the least and the median of the rounds, and the median with two
threads at a time; of several JVMs, one after the other, medians, and from which to which.
A diagnosis leaves out sites whose calls are short, on the average, and frequent: first some long calls make it measure the sites, then there are so many short ones that it leaves them out.
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
# Which loop, in which state of the program, above the same loop before the diagnosis.
MEANING = {
    "a call site inside that is measured": ("inside", "measured"),
    "a call site inside that is left out": ("inside", "left out"),
    "a call site outside its context": ("outside", "measured"),
    "a call of the method outside, ten sites": ("methodOutside", "left out"),
    "a call inside, ten sites left out": ("methodInside", "left out"),
    "a call site inside, afterwards": ("inside", "after"),
    "a call outside, ten sites, afterwards": ("methodOutside", "after"),
}
# Until a diagnosis has its probes where they stay.
PATIENCE = 200
HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--jvms", type=int, default=3)
    parser.add_argument("--old", help="an earlier build of the agent, with its `instr` beside it: its JVMs and those of the new one take turns")
    o = parser.parse_args()
    o.agent = os.path.abspath(o.agent)
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
    """Starts a diagnosis for which no call is slow, so that it goes on; returns when its call sites are there, and measure."""
    pid = str(program.process.pid)
    command = [o.cli, "diagnose", pid, "Sites.root", "--in", "Sites.outer", "--slower-than", "3600s", "--depth", "1", "--keep", "--json"]
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await_state(o, pid, lambda state: state.get("state") == "waiting")
    program.ask("lengthen")
    return client


def await_state(o, pid, is_reached, meanwhile=lambda: time.sleep(0.1)):
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        if is_reached(state_of(o, pid) or {}):
            return
        meanwhile()
    sys.exit(f"error: the diagnosis does not get on: {state_of(o, pid)}")


def is_left_out(state):
    return any("too short" in notice for notice in state.get("notices") or [])


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
    """{state: figures}."""
    program = Program(o, work)
    pid = str(program.process.pid)
    try:
        found = {"before": program.measure()}
        client = diagnose(o, program)
        found["measured"] = program.measure()
        state = state_of(o, pid) or {}
        if is_left_out(state) or claim_of_diagnosis(o, pid) is None:
            sys.exit(f"error: the diagnosis did not measure the call sites all the time: {state}")
        # Calls for it, which are not used.
        await_state(o, pid, is_left_out, program.measure)
        found["left out"] = program.measure()
        end(o, program, client)
        found["after"] = program.measure()
        return found
    finally:
        program.process.kill()
        program.process.wait()


def main():
    o = arguments()
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([f"{o.java}/bin/javac", "-d", work, os.path.join(HERE, "sites", "Sites.java")], check=True)
        with open(os.path.join(work, "instr.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        builds = {"": o.agent, **({"old build": os.path.abspath(o.old)} if o.old else {})}
        runs = {name: [] for name in builds}
        for _ in range(o.jvms):
            for name, agent in builds.items():
                o.agent, o.cli = agent, os.path.join(os.path.dirname(agent), "instr")
                runs[name].append(run(o, work))
    for name, found in runs.items():
        print(name)
        print_figures(found)


def print_figures(runs):
    clock = [2 * statistics.median(found["measured"]["clock"][at] for found in runs) for at in range(3)]
    print(f"{'':40} {'least':>8} {'median':>8} {'two threads':>12}   ns above the same call before the diagnosis (medians of the JVMs: from to)")
    for name, (loop, state) in MEANING.items():
        above = [[found[state][loop][at] - found["before"][loop][at] for found in runs] for at in range(3)]
        line = f"{name:40} {min(above[0]):8.2f} {statistics.median(above[1]):8.2f} {statistics.median(above[2]):12.2f}   {min(above[1]):.2f} to {max(above[1]):.2f}"
        if state == "measured" and loop == "inside":
            # Each JVM with its own clock.
            ratios = sorted((found[state][loop][1] - found["before"][loop][1]) / (2 * found[state]["clock"][1]) for found in runs)
            line += f"; of two readings: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), aim 1.1"
        print(line)
    print(f"{'two readings of the clock':40} {clock[0]:8.2f} {clock[1]:8.2f} {clock[2]:12.2f}")
    print("outside: aim 0.3 ns")


if __name__ == "__main__":
    main()
