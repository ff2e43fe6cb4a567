#!/usr/bin/env python3
"""Start of a web application up to the first complete answer, without an agent, with instr, and with peers."""
import os
import shutil
import tempfile
import time

import rounds
import web_application


def variants(o, directory):
    """Name -> JVM options; the first one is the measure."""
    prefixes = ",".join(pattern.rstrip("*") for pattern in o.packages.split(","))

    configs = {
        "discard": {"level": "time", "discard": True},
        "watch": {"level": "watch"},
        "time": {"level": "time", "small_methods": True},
    }
    found = {"none": []}
    for name, settings in configs.items():
        path = web_application.config(directory, name, o.packages, **settings)
        for build, agent in rounds.builds(o).items():
            found[f"{build}instr-{name}"] = [f"-agentpath:{agent}={path}"]
    engines = rounds.peer(o.peers, "bench-engines.jar")
    if engines:
        found["asm"] = [f"-javaagent:{engines}=asm:{prefixes}"]
        found["byte-buddy"] = [f"-javaagent:{engines}=bb:{prefixes}"]
    opentelemetry = rounds.peer(o.peers, "opentelemetry-javaagent.jar")
    if opentelemetry:
        silent = [f"-Dotel.{signal}.exporter=none" for signal in ("traces", "metrics", "logs")]
        found["opentelemetry"] = [f"-javaagent:{opentelemetry}", *silent]
    elastic = rounds.peer(o.peers, "elastic-apm-agent.jar")
    if elastic:
        settings = {"disable_send": "true", "central_config": "false", "cloud_provider": "NONE", "log_level": "ERROR"}
        found["elastic"] = [f"-javaagent:{elastic}", *(f"-Delastic.apm.{key}={value}" for key, value in settings.items())]
    return found


def usage(pid, start):
    # The launcher creates the thread that runs main() first: the lowest number after that of the process.
    threads = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    return {
        "CPU s": web_application.cpu_seconds(f"/proc/{pid}/stat"),
        "main thread CPU s": web_application.cpu_seconds(f"/proc/{pid}/task/{threads[1]}/stat"),
        "wall s": time.monotonic() - start,
    }


def main():
    o = web_application.options(__doc__)
    directory = tempfile.mkdtemp(prefix="instr-startup-config-")
    try:
        flags = rounds.chosen(variants(o, directory), o.only)
        results = rounds.run(flags, o.rounds, lambda name: web_application.start_once(flags[name], o, usage))
        rounds.table(results, ["CPU s", "main thread CPU s", "wall s"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
