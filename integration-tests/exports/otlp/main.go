// Reads a file of `instr export --format otlp` with the parser that the OpenTelemetry Collector's otlpjsonfile receiver
// uses, and says what is in it: the numbers of spans and traces, and how many spans lie inside their parent.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

type key struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	spans := map[key]ptrace.Span{}
	traces := map[pcommon.TraceID]bool{}
	for lines.Scan() {
		read, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(lines.Bytes())
		if err != nil {
			log.Fatal(err)
		}
		for _, resource := range read.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					spans[key{span.TraceID(), span.SpanID()}] = span
					traces[span.TraceID()] = true
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	roots := 0
	for id, span := range spans {
		if id.trace.IsEmpty() || id.span.IsEmpty() || span.Name() == "" {
			log.Fatalf("a span without id or name: %v", span)
		}
		if span.ParentSpanID().IsEmpty() {
			roots++
			continue
		}
		parent, known := spans[key{id.trace, span.ParentSpanID()}]
		if !known || span.StartTimestamp() < parent.StartTimestamp() || span.EndTimestamp() > parent.EndTimestamp() {
			log.Fatalf("span %v does not lie inside its parent", id.span)
		}
	}
	fmt.Printf("spans %d traces %d roots %d\n", len(spans), len(traces), roots)
}
