"""Runs variants in rounds and prints a table of medians and ratios."""
import argparse
import os
import statistics
import subprocess
import sys


HERE = os.path.dirname(os.path.abspath(__file__))


def peers_directory(given):
    """The directory itself or, for `all`, where bench/peers/pom.xml puts what it fetches and builds."""
    if given != "all":
        return given
    directory = os.path.join(HERE, "peers", "target", "agents")
    if not os.path.isdir(directory):
        subprocess.run(["mvn", "-q", "-B", "-f", os.path.join(HERE, "peers", "pom.xml"), "package"], check=True, stdout=sys.stderr)
    return directory


def arguments(description):
    """The options that every benchmark has; a benchmark adds its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--agent", required=True, help="libinstr.so")
    parser.add_argument("--old", type=os.path.abspath, help="libinstr.so of an earlier build, measured in the same rounds as `old-...` (percall, startup, whole)")
    parser.add_argument("--java", required=True, help="the JDK to run on")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", type=peers_directory, help="directory with the agents of others (README.md); `all`: fetched from Maven Central")
    parser.add_argument("--only", help="names of variants, separated by commas")
    return parser


def builds(o):
    """The prefix of the names of instr's variants -> the build of the agent that they measure."""
    return {"": os.path.abspath(o.agent), **({"old-": o.old} if o.old else {})}


def chosen(variants, only):
    """The variants that were asked for; the first one is the measure of all others and always stays."""
    if not only:
        return variants
    wanted = only.split(",")
    unknown = [name for name in wanted if name not in variants]
    if unknown:
        sys.exit(f"error: no variant {', '.join(unknown)}; there are {', '.join(variants)}")
    base = next(iter(variants))
    return {name: variant for name, variant in variants.items() if name == base or name in wanted}


def peer(directory, file):
    """The path of a peer's file, or None."""
    path = os.path.join(directory, file) if directory else ""
    return os.path.abspath(path) if os.path.exists(path) else None


def run(variants, rounds, measure):
    """Calls `measure(name)` for every variant in every round; gives {name: [figures of each round]}."""
    names = list(variants)
    results = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            figures = measure(name)
            results[name].append(figures)
            print(f"round {number + 1} {name}: {figures}", file=sys.stderr, flush=True)
    return results


def median(figures, column):
    """The median of the rounds that went well."""
    return statistics.median(found[column] for found in figures if "error" not in found)


def table(results, columns):
    """Prints medians of each column, each with its ratio to the first variant."""
    print("| variant | rounds | " + " | ".join(f"{column} | ratio" for column in columns) + " |")
    print("|---" * (2 + 2 * len(columns)) + "|")
    base = next(iter(results.values()))
    for name, rounds in results.items():
        good = [figures for figures in rounds if "error" not in figures]
        cells = []
        for column in columns:
            if not good or any("error" in figures for figures in base):
                cells += ["-", "-"]
                continue
            median = statistics.median(figures[column] for figures in good)
            cells += [f"{median:.3f}", f"{median / statistics.median(figures[column] for figures in base):.3f}"]
        print(f"| {name} | {len(good)} of {len(rounds)} | " + " | ".join(cells) + " |")
    for name, rounds in results.items():
        for error in {figures["error"] for figures in rounds if "error" in figures}:
            print(f"\n{name}: {error}")
