"""Which methods of real programs are hot, by instr's samples and by those of async-profiler: `cargo xtask bench hot`.

Each program (a directory with a run.sh, docs/performance.md) runs a few times with each of the two in turn, sampled every 4 ms of processor time (what the kernel's ticks allow) from beginning to end. Compared
are the innermost methods of Java, and pairs of caller and callee, by their mean shares of all runs: how many of async-profiler's first ten are among instr's, the rank correlation of all with 0.5 %, the
differences of shares; and how far one half of async-profiler's runs differs from the other. A sample has no name if neither a method nor a function of a library is known.
"""
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile

import rounds

PROGRAMS = ["javac", "springboot", "dbs", "lucene", "kafka"]
TOP = 10
# Methods below this share are hit by too few samples to be ranked.
RANKED = 0.005
CONFIG = '[trace]\nfile = "{directory}/trace-%p.jfr"\n[[rule]]\nclass = "none.**"\n[sampler]\ninterval = "4 ms"\n'
# A frame of Java: package, class, method. Hidden classes have a number that differs from run to run.
HIDDEN = re.compile(r"(\$\$Lambda|LambdaForm\$\w+|GeneratedMethodAccessor|GeneratedConstructorAccessor|\$Proxy|DirectMethodHandle\$Holder)[^.]*")


# instr's frame of a sample whose stack cannot be read: its innermost method, a function of a library, a library alone.
NO_STACK = "[no stack] "


def name(frame):
    """`a/B.c_[j]` and `a.B.c(int)` as `a.B.c`; None for native code."""
    frame = frame.removeprefix(NO_STACK)
    if ": " in frame:
        return None
    frame = re.sub(r"[./+]0x[0-9a-f]+", "", frame)
    frame = re.sub(r"_\[\w\]$", "", frame).split("(")[0].replace("/", ".")
    return HIDDEN.sub(r"\1", frame) if re.fullmatch(r"[\w$.+<>]+\.[\w$<>]*[a-zA-Z$<>_][\w$<>]*", frame) and ".isra." not in frame else None


def read(lines):
    """Shares of the innermost methods, shares of edges, the parts of samples without a method of Java and without any name, and the number of samples, of stacks with the innermost frame last."""
    leaves, edges, without, nameless, total = collections.Counter(), collections.Counter(), 0, 0, 0
    for line in lines:
        stack, _, count = line.rstrip("\n").rpartition(" ")
        count, frames = int(count), stack.split(";")
        named = [method for method in map(name, frames) if method]
        total += count
        if not named:
            without += count
            nameless += count if not any(": " in frame for frame in frames) else 0
            continue
        leaves[named[-1]] += count
        edges.update({edge: count for edge in set(zip(named, named[1:]))})
    shares = lambda counted: {of: count / total for of, count in counted.items()}
    return shares(leaves), shares(edges), without / total if total else 0.0, nameless / total if total else 0.0, total


def with_instr(o, program, directory):
    config = os.path.join(directory, "instr.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONFIG.format(directory=directory))
    run(o, program, [f"-agentpath:{o.agent}={config}"])
    instr = os.path.join(os.path.dirname(o.agent), "instr")
    files = [os.path.join(directory, file) for file in os.listdir(directory) if file.endswith(".jfr")]
    file = max(files, key=os.path.getsize)
    stacks = os.path.join(directory, "instr.collapsed")
    subprocess.run([instr, "export", "--samples", "--format", "collapsed", file, "--output", stacks], check=True, stdout=sys.stderr)
    with open(stacks, encoding="utf-8", errors="replace") as lines:
        return read(lines)


def with_async_profiler(o, program, directory):
    stacks = os.path.join(directory, "async-%p.collapsed")
    run(o, program, [f"-agentpath:{o.profiler}=start,event=cpu,interval=4ms,collapsed,file={stacks}"])
    files = [os.path.join(directory, file) for file in os.listdir(directory) if file.startswith("async-")]
    with open(max(files, key=os.path.getsize), encoding="utf-8", errors="replace") as lines:
        # Its threads of the JVM itself have no method of Java; instr does not sample these.
        return read(line for line in lines if any(map(name, line.rpartition(" ")[0].split(";"))))


def run(o, program, options):
    command = [os.path.join(o.programs, program, "run.sh"), o.java, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, encoding="utf-8", errors="replace")
    if done.returncode or "RESULT" not in done.stdout:
        sys.exit(f"error: {program} failed: {done.stdout[-500:]}{done.stderr[-500:]}")


def mean(runs, which):
    """Mean shares over the runs of one tool."""
    names = {of for run in runs for of in run[which]}
    return {of: sum(run[which].get(of, 0.0) for run in runs) / len(runs) for of in names}


def top(shares, number=TOP):
    return sorted(shares, key=lambda of: (-shares[of], of))[:number]


def rank_correlation(one, other):
    """Spearman's coefficient over all with RANKED in one of the two."""
    names = [of for of in {*one, *other} if max(one.get(of, 0.0), other.get(of, 0.0)) >= RANKED]
    ranks = []
    for shares in (one, other):
        by_share = sorted(names, key=lambda of: -shares.get(of, 0.0))
        ranks.append({of: at for at, of in enumerate(by_share)})
    number = len(names)
    if number < 3:
        return float("nan")
    return 1 - 6 * sum((ranks[0][of] - ranks[1][of]) ** 2 for of in names) / (number * (number ** 2 - 1))


def difference(one, other):
    """The largest difference and the mean one of the first ten of `other`, in points."""
    found = [abs(one.get(of, 0.0) - other[of]) * 100 for of in top(other)]
    return f"{sum(found) / len(found):.1f} (most {max(found):.1f})"


def main():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--programs", required=True, help="directory with NAME/run.sh")
    parser.set_defaults(rounds=6)
    o = parser.parse_args()
    o.agent = os.path.abspath(o.agent)
    o.profiler = rounds.peer(o.peers, "linux-x64/libasyncProfiler.so") or sys.exit("error: `--peers all` fetches async-profiler")
    tools = {"instr": with_instr, "async-profiler": with_async_profiler}
    for program in o.only.split(",") if o.only else PROGRAMS:
        found = {tool: [] for tool in tools}
        for at in range(o.rounds):
            for tool in list(tools) if at % 2 == 0 else list(reversed(tools)):
                with tempfile.TemporaryDirectory(prefix="instr-hot-") as directory:
                    found[tool].append(tools[tool](o, program, directory))
        ours, theirs = (mean(found[tool], 0) for tool in tools)
        edges = [mean(found[tool], 1) for tool in tools]
        common = len(set(top(ours)) & set(top(theirs)))
        themselves = found["async-profiler"]
        halves = [mean(themselves[half::2], 0) for half in (0, 1)]
        of_itself = len(set(top(halves[0])) & set(top(halves[1])))
        print(f"{program}: {common} of {TOP} first methods (one half of async-profiler's runs and the other: {of_itself}), rank correlation {rank_correlation(ours, theirs):.2f} "
              f"({rank_correlation(*halves):.2f}), points {difference(ours, theirs)}; edges {len(set(top(edges[0])) & set(top(edges[1])))} of {TOP}, "
              f"points {difference(*edges)}; samples {sum(run[4] for run in found['instr']):,} and {sum(run[4] for run in themselves):,}, without a method of Java "
              f"{max(run[2] for run in found['instr']) * 100:.1f} %, without a name {statistics.fmean(run[3] for run in found['instr']) * 100:.2f} % (at most {max(run[3] for run in found['instr']) * 100:.2f})", flush=True)
        print("  instr:          " + ", ".join(f"{of} {ours[of] * 100:.1f}" for of in top(ours)))
        print("  async-profiler: " + ", ".join(f"{of} {theirs[of] * 100:.1f}" for of in top(theirs)))


if __name__ == "__main__":
    main()
