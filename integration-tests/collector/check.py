"""What real receivers make of the agent's metrics: an OpenTelemetry Collector, and the OpenMetrics parser of prometheus_client.

    cargo xtask receivers                  builds all it needs, then runs this
    check.py --java HOME --agent LIBINSTR --classes DIR --work DIR [--collector PROGRAM]

Runs targets.KnownLoad under the agent and compares what arrives with what the program itself did. Without --collector the
Collector is built in the work directory with its own builder, from the Go module proxy: some minutes, once.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

BUILDER = "go.opentelemetry.io/collector/cmd/builder@v0.161.0"
PARSER = "prometheus_client==0.26.0"
HERE = pathlib.Path(__file__).resolve().parent
LOAD = "targets.KnownLoad."


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def build_collector(work):
    """The Collector of ocb.yaml; Go's files stay in the work directory."""
    program = work / "out" / "otelcol-instr"
    if program.exists():
        return program
    go_home = pathlib.Path("/usr/local/go/bin")
    environment = dict(os.environ, GOPATH=str(work / "go"), GOCACHE=str(work / "go-cache"), GOFLAGS="-modcacherw")
    environment["PATH"] += f":{go_home}"
    config = (HERE / "ocb.yaml").read_text().replace("dist:\n", f"dist:\n  output_path: {work / 'out'}\n")
    (work / "ocb.yaml").write_text(config)
    subprocess.run(["go", "install", BUILDER], check=True, env=environment, cwd=work)
    subprocess.run([work / "go" / "bin" / "builder", "--config", work / "ocb.yaml"], check=True, env=environment, cwd=work)
    return program


def openmetrics_parser(work):
    """The parser of the Prometheus project for Python, from PyPI."""
    packages = work / "python"
    if not (packages / "prometheus_client").exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, PARSER], check=True)
    sys.path.insert(0, str(packages))
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    return text_string_to_metric_families


def wait_for(what, condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"error: {what} did not come within a minute")
        time.sleep(0.1)


class Program:
    """targets.KnownLoad under the agent."""

    def __init__(self, options, work, collector_port, page_port):
        config = work / "instr.toml"
        config.write_text(f"""
[trace]
file = "{work / 'trace.jfr'}"
[metrics]
openmetrics = "127.0.0.1:{page_port}"
otlp = "http://127.0.0.1:{collector_port}"
otlp-traces = true
trace-threshold = "2 ms"
interval = "1 s"
service = "known-load"
[[rule]]
class = "targets.KnownLoad"
method = ["paced", "failing", "recurse", "load"]
level = "full"
""")
        command = [options.java / "bin" / "java", f"-agentpath:{options.agent}={config}", "-cp", options.classes]
        self.process = subprocess.Popen(
            [*command, "targets.KnownLoad"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()[1:]

    def quit(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.flush()
        if self.process.wait(60) != 0:
            sys.exit("error: the program failed")


def attributes(owner):
    return {entry["key"]: next(iter(entry["value"].values())) for entry in owner.get("attributes", [])}


def received(file):
    """The latest point of every metric and series, and all spans."""
    points, spans = {}, []
    for line in file.read_text().splitlines():
        request = json.loads(line)
        for resource in request.get("resourceMetrics", []):
            assert attributes(resource["resource"])["service.name"] == "known-load"
            for metric in (metric for scope in resource["scopeMetrics"] for metric in scope["metrics"]):
                for kind in ("gauge", "sum", "histogram", "exponentialHistogram"):
                    for point in metric.get(kind, {}).get("dataPoints", []):
                        points[metric["name"], attributes(point).get("code.function.name")] = point
        for resource in request.get("resourceSpans", []):
            spans += [span for scope in resource["scopeSpans"] for span in scope["spans"]]
    return points, spans


class Comparison:
    """Lines for people, and whether all of them are right."""

    def __init__(self):
        self.wrong = 0

    def line(self, what, expected, seen, tolerance=0.0):
        right = abs(seen - expected) <= tolerance * abs(expected)
        self.wrong += not right
        print(f"{'ok   ' if right else 'WRONG'} {what}: {seen}, the program says {expected}")


def compare_with_collector(compare, file, failed, paced, nanos):
    points, spans = received(file)
    duration = points["instr.method.duration", LOAD + "paced"]
    compare.line("Collector: calls of paced", paced, int(duration["count"]))
    compare.line("Collector: calls in buckets", paced, sum(map(int, duration["positive"]["bucketCounts"])))
    compare.line("Collector: seconds in paced", nanos / 1e9, duration["sum"], 0.02)
    compare.line("Collector: errors of failing", failed, int(points["instr.method.errors", LOAD + "failing"]["asInt"]))
    compare.line("Collector: calls lost", 0, int(points["instr.records.lost", None]["asInt"]))
    for name in ("jvm.memory.used", "jvm.gc.duration", "jvm.thread.count", "jvm.class.count", "process.cpu.time"):
        compare.line(f"Collector: metric {name} is there", 1, int((name, None) in points))
    counts = {}
    for span in spans:
        function = attributes(span)["code.function.name"]
        counts[function] = counts.get(function, 0) + 1
    compare.line("Collector: spans of paced", paced, counts.get(LOAD + "paced", 0))
    compare.line("Collector: spans of recurse", 5, counts.get(LOAD + "recurse", 0))
    by_id = {span["spanId"]: span for span in spans}
    span = min((span for span in spans if attributes(span)["code.function.name"] == LOAD + "recurse"),
               key=lambda span: int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]))
    depth = 1
    while span.get("parentSpanId"):
        span, depth = by_id[span["parentSpanId"]], depth + 1
    compare.line("Collector: spans in one another, recursion of depth 5 within load", 6, depth)


def compare_page(compare, text, parse, failed, paced):
    families = {family.name: family for family in parse(text)}
    print(f"      prometheus_client read {len(families)} families of {len(text)} bytes")

    def sample(family, name, method):
        return next(sample.value for sample in families[family].samples
                    if sample.name == name and sample.labels.get("code_function_name") == LOAD + method)

    compare.line("OpenMetrics: calls of paced", paced,
                 sample("instr_method_duration_seconds", "instr_method_duration_seconds_count", "paced"))
    compare.line("OpenMetrics: errors of failing", failed,
                 sample("instr_method_errors", "instr_method_errors_total", "failing"))


def main():
    arguments = argparse.ArgumentParser()
    for name in ("java", "agent", "classes", "work"):
        arguments.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments.add_argument("--collector", type=pathlib.Path)
    options = arguments.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    collector_program = options.collector or build_collector(work)
    parse = openmetrics_parser(work)

    port, page_port = free_port(), free_port()
    file = work / "received.jsonl"
    file.unlink(missing_ok=True)
    pipelines = "\n".join(f"    {signal}: {{receivers: [otlp], exporters: [file]}}" for signal in ("metrics", "traces"))
    (work / "collector.yaml").write_text(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters: {{file: {{path: "{file}", flush_interval: 100ms}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
{pipelines}
""")
    with open(work / "collector.log", "w") as log:
        collector = subprocess.Popen([collector_program, "--config", work / "collector.yaml"], stderr=log, stdout=log)
    compare = Comparison()
    try:
        wait_for("the Collector", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        program = Program(options, work, port, page_port)
        failed = int(program.ask("fail 777")[0])
        paced, nanos = map(int, program.ask("steady 3 5 100")[:2])
        program.ask("recurse 5")

        def page():
            with urllib.request.urlopen(f"http://127.0.0.1:{page_port}/metrics") as answer:
                return answer.read().decode()

        wait_for("the last call on the page", lambda: f"}} {paced}\n" in page())
        compare_page(compare, page(), parse, failed, paced)
        program.quit()
    finally:
        collector.terminate()
        collector.wait()
    compare_with_collector(compare, file, failed, paced, nanos)
    sys.exit(1 if compare.wrong else 0)


if __name__ == "__main__":
    main()
