package io.instr.jvmtests.jvm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** The agent's figures, {@code stats.json}. */
public record Stats(JsonNode json) {

    public static Stats read(Path file) {
        try {
            return new Stats(new ObjectMapper().readTree(file.toFile()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** One figure; its absence is a failure, since scripts read them by name. */
    public long figure(String name) {
        JsonNode value = json.get(name);
        if (value == null || !value.isNumber()) {
            throw new AssertionError("no figure `" + name + "` in " + json);
        }
        return value.longValue();
    }

    /** A figure of the sampler. */
    public long sampled(String name) {
        JsonNode value = json.path("samples").path(name);
        if (!value.isNumber()) {
            throw new AssertionError("no figure `samples." + name + "` in " + json);
        }
        return value.longValue();
    }

    public long lost() {
        return figure("lost");
    }

    public long methodsInstrumented() {
        return figure("methods_instrumented");
    }

    /** Methods that were wanted and not instrumented, by reason. */
    public Map<String, Long> refused() {
        Map<String, Long> reasons = new TreeMap<>();
        JsonNode refused = json.get("refused");
        if (refused == null) {
            throw new AssertionError("no `refused` in " + json);
        }
        refused.properties().forEach(reason -> reasons.put(reason.getKey(), reason.getValue().longValue()));
        return reasons;
    }
}
