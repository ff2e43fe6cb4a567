"""Programs beside each other in slices: every variant of a round is a JVM of its own, and they take turns of a fraction of a second.

A shared machine is faster in one second than in the next, by a third and more, so runs one after the other say little. Slices that follow
each other within half a second are comparable; their ratio is taken for each turn, and the median over the turns. A JVM whose turn it is
not is stopped, with its compiler and all else."""
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time


def process_clock(pid):
    """The operating system's clock of the processor time of all threads of a process, also of those that have ended."""
    return ~pid << 3 | 2

# A program may take so many seconds, and so many times what the first one takes.
PATIENCE = (6, 3)


class Program:
    """A JVM that waits for orders on its standard input and answers `DONE ...`."""

    def __init__(self, command, directory):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.others = []

    def order(self, text):
        """(words behind DONE, processor seconds); runs only as long as it takes."""
        self.process.send_signal(signal.SIGCONT)
        before = time.clock_gettime(process_clock(self.process.pid))
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.failure() from None
        for line in self.process.stdout:
            words = line.split()
            if words[:1] == ["DONE"]:
                used = time.clock_gettime(process_clock(self.process.pid)) - before
                self.process.send_signal(signal.SIGSTOP)
                return words[1:], used
            self.others.append(line)
        raise self.failure()

    def failure(self):
        self.process.wait()
        self.errors.seek(0)
        said = "".join(self.others) + self.errors.read().decode(errors="replace")
        return RuntimeError(f"exit {self.process.returncode}: {said[-400:]}")

    def end(self):
        """Lets it end in its own way; its processor seconds from its start."""
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.stdout.read()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode != 0:
            raise self.failure()
        return usage.ru_utime + usage.ru_stime

    def kill(self):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()


def turns(programs, count, order):
    """Name -> [(words, seconds)] of so many turns. A program that fails is left out from then on, its error kept; so is one that is so
    much slower than the first that all would wait for it: what it has done until then says enough."""
    found, errors = {name: [] for name in programs}, {}
    names = list(programs)
    spent = dict.fromkeys(names, 0)
    for turn in range(count):
        at = turn % len(names)
        most = PATIENCE[0] + PATIENCE[1] * spent[names[0]]
        for name in names[at:] + names[:at]:
            if name in errors or spent[name] > most:
                continue
            try:
                words, seconds = programs[name].order(order)
            except RuntimeError as error:
                errors[name] = str(error)
                continue
            found[name].append((words, seconds))
            spent[name] += seconds
    return found, errors


def together(programs, count, order):
    """So many turns of all at the same time, to warm them up; the errors by name."""
    errors = {}

    def work(name):
        try:
            for _ in range(count):
                programs[name].order(order)
        except RuntimeError as error:
            errors[name] = str(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def ratio(found, base):
    """Median over the turns of the ratio of the seconds."""
    pairs = [one / none for (_, one), (_, none) in zip(found, base)]
    return statistics.median(pairs) if pairs else None
