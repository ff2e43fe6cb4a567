#!/usr/bin/env python3
"""One monitored call on 1, 2, 4, 8 and 64 threads and on 10,000 virtual ones: does it cost more than on one?

Processor time of the working threads by call, above that of the same work without agent on as many threads; never elapsed time, as there
may be fewer processors than threads. Records that were lost are counted over all runs."""
import os
import shutil
import statistics
import sys
import tempfile

import load
import rounds

# Nobody lowers the level while it is measured.
UNGOVERNED = "[governor]\nenabled = false"
LIVE = "[control]\nlive = true\n" + UNGOVERNED
# Name -> (body, level, further tables of the configuration, whether it is measured without work between the chains). Of the levels that
# write a record for each call there is work in between, for the rate that the table states; what costs a tenth of a nanosecond
# would not be seen beside it.
VARIANTS = {
    "none": ("plain", None, "", False),
    "clock-pair": ("clock-pair", None, "", False),
    "time": ("plain", "time", "", False),
    "time-live": ("plain", "time", LIVE, False),
    "none-without-work": ("plain", None, "", True),
    "watch": ("plain", "watch", UNGOVERNED, True),
    "watch-live": ("plain", "watch", LIVE, True),
}
SHORT = {"rounds": 2, "seconds": 1.0}


def options():
    parser = rounds.arguments(__doc__)
    parser.add_argument("--threads", default="1,2,4,8,64,v10000", help="v in front: virtual, left out before JDK 21")
    parser.add_argument("--work", type=int, default=300, help="steps of a random sequence (2.3 ns) between two chains of ten calls")
    parser.add_argument("--rate", type=float, default=4, help="million calls a second of all threads together, of which none may be lost; 0: as many as "
                        "there can be. Virtual threads always do as many.")
    parser.add_argument("--seconds", type=float, default=2, help="for each number of threads")
    parser.add_argument("--collectors", default="default", help=f"names separated by commas, of {', '.join(load.COLLECTORS)}; "
                        "chains leave garbage unless it is `default` alone")
    parser.add_argument("--short", action="store_true", help="2 rounds of 1 s: some three minutes for one collector")
    o = parser.parse_args()
    if o.short:
        o.rounds, o.seconds = SHORT["rounds"], SHORT["seconds"]
    o.threads = [count for count in o.threads.split(",") if load.feature(o.java) >= 21 or not count.startswith("v")]
    o.collectors = o.collectors.split(",")
    return o


def measure(variant, collector, o, classes):
    body, level, more, is_busy = VARIANTS[variant]
    allocated = 0 if o.collectors == ["default"] else 1024
    figures = {}
    # A run of their own for virtual threads: what is lost is known for a whole run only, and they cannot be held to a rate.
    for kind in ("", "virtual "):
        counts = [count for count in o.threads if count.startswith("v") == bool(kind)]
        if not counts:
            continue
        run = load.Run(o.java, classes, counts, agent=o.agent, level=level, body=body, work=0 if is_busy else o.work,
                       rate=0 if is_busy else o.rate * 1e6, allocated=allocated, length=f"{o.seconds}s",
                       flags=load.COLLECTORS[collector], more=more)
        if run.error:
            return {"error": run.error}
        figures.update({phase["threads"]: phase["workers"] / phase["calls"] for phase in run.phases})
        figures.update({"rate " + phase["threads"]: phase["calls"] / phase["wall"] * 1e3 for phase in run.phases})
        figures.update({kind + "lost": run.stats.get("lost", 0), kind + "records": run.stats.get("records", 0)})
    return figures


def over(results, name, base, threads):
    """Median over the rounds of the difference within each round, which the noise of the machine moves less than either."""
    pairs = [(one[threads], none[threads]) for one, none in zip(results[name], results[base]) if "error" not in one and "error" not in none]
    return statistics.median(one - none for one, none in pairs) if pairs else float("nan")


def print_table(results, collector, o):
    def label(count):
        return f"{int(count[1:]):,} virtual" if count.startswith("v") else count
    print(f"\nCollector: {collector}. CPU ns of one call over those without agent (ratio to the first column); `none` in full.\n")
    kinds = [kind for kind in ("", "virtual ") if any(count.startswith("v") == bool(kind) for count in o.threads)]
    rates = {kind: [count for count in o.threads if count.startswith("v") == bool(kind)][-1] for kind in kinds}
    more = "".join(f" | {kind}million calls/s | {kind}lost of records" for kind in kinds)
    print("| | " + " | ".join(label(count) for count in o.threads) + more + " |")
    print("|---" * (len(o.threads) + 1 + 2 * len(kinds)) + "|")
    base = None
    for name, (_, level, _, _) in VARIANTS.items():
        found = results.get((collector, name))
        if found is None or all("error" in figures for figures in found):
            continue
        good = [figures for figures in found if "error" not in figures]
        by_name = {variant: results[(collector, variant)] for variant in VARIANTS if (collector, variant) in results}
        if name.startswith("none"):
            base = name
            cells = [f"{statistics.median(figures[count] for figures in good):.2f}" for count in o.threads]
        else:
            costs = [over(by_name, name, base, count) for count in o.threads]
            cells = [f"{cost:.2f} ({cost / costs[0]:.2f})" for cost in costs]
        for kind in kinds:
            lost, records = (sum(figures[kind + key] for figures in good) for key in ("lost", "records"))
            cells.append(f"{statistics.median(figures['rate ' + rates[kind]] for figures in good):.1f}")
            cells.append(f"{lost:,} of {lost + records:,}" if level else "")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    o = options()
    directory = tempfile.mkdtemp(prefix="instr-scaling-")
    try:
        load.compile_program(o.java, directory)
        chosen = rounds.chosen(VARIANTS, o.only)
        if "none-without-work" not in chosen and any(VARIANTS[name][3] for name in chosen):
            sys.exit("error: watch is compared with `none-without-work`: name that as well")
        names = [(collector, name) for collector in o.collectors for name in chosen]
        results = rounds.run(dict.fromkeys(names), o.rounds, lambda name: measure(name[1], name[0], o, directory))
        print(f"JDK {load.feature(o.java)}, {os.cpu_count()} processors, {o.rounds} rounds of {o.seconds} s, {o.work} steps between chains, "
              f"{o.rate} million calls a second of platform threads")
        for collector in o.collectors:
            print_table(results, collector, o)
        for name, figures in results.items():
            for error in {found["error"] for found in figures if "error" in found}:
                print(f"\n{name}: {error}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
