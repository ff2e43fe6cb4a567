"""Arthas in a running JVM, as a person would use it to look for a slow branch: `trace` of a method, of its slowest callee, of that one's, and so on."""
import os
import re
import select
import socket
import subprocess
import time

# What somebody who knows Spring and JDBC tries next where calls go through generated classes, or round in circles of interceptors.
KNOWN = [("org.springframework.aop.framework.JdkDynamicAopProxy", "invoke"), ("java.sql.PreparedStatement", "executeQuery")]
MOST_COMMANDS = 40
MOST_CLASSES = 1000
# A trace that meets a call under way shows a part of it only: it is asked for again, so many times.
ATTEMPTS = 3
# Seconds until a trace that has not met a slow call is given up.
PATIENCE = 20
# A callee that takes less than this part of its caller's time is not the branch that is looked for.
LEAST_PART = 0.5
NODE = re.compile(r"^(?P<before>[ |`+\-]*?)[`+]---\[(?:[\d.]+% *)?(?P<parts>[^\]]*)\] *(?P<class>[\w.$/]+):(?P<method>[\w$<>]+)\(")
CODES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


class Arthas:
    """A session with the JVM of this process id; `close` has Arthas restore all classes and leave."""

    def __init__(self, java, home, pid, port):
        start = time.monotonic()
        done = subprocess.run([f"{java}/bin/java", "-jar", f"{home}/arthas-boot.jar", "--attach-only", "--arthas-home", home, "--target-ip", "127.0.0.1",
                               "--telnet-port", str(port), "--http-port", "-1", str(pid)], capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise OSError(f"arthas-boot: {done.stdout[-500:]}{done.stderr[-500:]}")
        self.prompt = f"[arthas@{pid}]$ ".encode()
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.unread = b""
        self.until(self.prompt, 30)
        # Some branches end in the JDK.
        self.command("options unsafe true")
        self.attached_in = time.monotonic() - start

    def until(self, end, seconds, stop=None):
        """Text up to `end`; None if it has not arrived in time, or when `stop()` says so."""
        deadline = time.monotonic() + seconds
        while end not in self.unread:
            if time.monotonic() > deadline or stop and stop():
                return None
            if select.select([self.socket], [], [], 0.05)[0]:
                part = self.socket.recv(1 << 16)
                if not part:
                    raise OSError("Arthas has closed the connection")
                self.unread += CODES.sub(b"", part.replace(b"\r", b""))
        text, self.unread = self.unread.split(end, 1)
        return text.decode("utf-8", "replace")

    def command(self, line, seconds=60, stop=None):
        """The output of a command; one that goes on is interrupted when its time is over, and gives what it has printed."""
        self.socket.sendall(line.encode() + b"\n")
        text = self.until(self.prompt, seconds, stop)
        if text is None:
            self.socket.sendall(b"\x03")
            text = self.until(self.prompt, 60) or ""
        return text

    def close(self):
        try:
            self.socket.sendall(b"stop\n")
            while self.socket.recv(1 << 16):
                pass
        except OSError:
            pass
        self.socket.close()


def tree(output):
    """The calls in the first tree of a trace as [(depth, milliseconds, class, method)]."""
    found = []
    for line in output.splitlines():
        if "---ts=" in line:
            if found:
                break
            continue
        match = NODE.match(line)
        if match:
            times = re.findall(r"(?:total=)?([\d.]+)ms", match["parts"])
            found.append((len(match["before"]) // 4, float(times[-1]) if times else 0.0, match["class"], match["method"]))
    return found


def slowest(calls):
    """Follows the slowest call from level to level; gives the last one that takes most of its caller's time."""
    at, depth, limit = 0, calls[0][0], calls[0][1]
    while True:
        below = []
        for number in range(at + 1, len(calls)):
            if calls[number][0] <= depth:
                break
            if calls[number][0] == depth + 1:
                below.append(number)
        best = max(below, key=lambda number: calls[number][1], default=None)
        if best is None or calls[best][1] < LEAST_PART * limit:
            return calls[at]
        at, depth, limit = best, depth + 1, calls[best][1]


def plain(name):
    """A proxy of Spring is a subclass: its own class is what a person would type."""
    return name.split("$$")[0]


def trace(arthas, target, slower_than_ms, commands, stop):
    """Traces one slow call: (its tree, or an empty one, the output)."""
    line = f"trace {target[0]} {target[1]} '#cost > {slower_than_ms}' -n 1 --skipJDKMethod false"
    output = ""
    for _ in range(ATTEMPTS):
        commands.append(line)
        output = arthas.command(line, PATIENCE, stop)
        calls = tree(output)
        if calls and sum(call[0] == calls[0][0] for call in calls) == 1:
            return calls, output
        if "greater than the limit value" in output:
            line += f" -m {MOST_CLASSES}"
        elif "---ts=" not in output or stop and stop():
            break
    return [], output


def descend(arthas, first, slower_than_ms, stop=None):
    """Traces the method, then the slowest callee, until no further one takes most of the time. Gives the commands, the methods found, why it ended."""
    commands, path, target, seen, ended = [], [], first, set(), f"{MOST_COMMANDS} commands"
    known = list(KNOWN)
    while len(commands) < MOST_COMMANDS and not (stop and stop()):
        seen.add(target)
        calls, output = trace(arthas, target, slower_than_ms, commands, stop)
        if calls:
            path.append(f"{target[0]}.{target[1]}")
            _, _, name, method = slowest(calls)
            following = (plain(name), method)
            ended = f"the time is {name}.{method}'s own, or trace shows no callee of it"
        else:
            following = None
            is_unaffected = re.search(r"(method-cnt|method count) *: *0|No class or method", output)
            ended = f"{target[0]}.{target[1]}: trace " + ("affects no method" if is_unaffected else "met no slow call")
        while known and (following is None or following in seen):
            following = known.pop(0)
        if following is None or following in seen:
            break
        target = following
    return commands, path, ended


def free_home(directory):
    """The directory with arthas-boot.jar."""
    if not os.path.exists(os.path.join(directory, "arthas-boot.jar")):
        raise OSError(f"{directory} has no arthas-boot.jar: mvn -f bench/diagnose/pom.xml package")
    return os.path.abspath(directory)
