package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Trace;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedMethod;

/** The presets on small programs whose traffic is known; {@link SampleWebappIT} has them on a real one. */
class PresetsIT {

    private static final long MESSAGE = 4_321;

    @EachJdk
    void socketRecordsBytesAndPeer(Jdk jdk) {
        AgentConfig config = AgentConfig.of("[[rule]]\npreset = \"socket\"\n");
        Finished run = Program.target(jdk, "targets.SocketTalk").with("-Xverify:all").compare(config);
        List<RecordedEvent> transfers = run.trace().events("instr.SocketTransfer");

        Map<Boolean, Long> bytes = transfers.stream().collect(Collectors.partitioningBy(
                PresetsIT::isRead, Collectors.summingLong(transfer -> transfer.getLong("bytes"))));
        // There and back on the stream, there on the channel; each byte is written once and read once.
        assertEquals(Map.of(true, 3 * MESSAGE, false, 3 * MESSAGE), bytes, "bytes read (true) and written");
        if (jdk.feature() >= 13) {
            assertTrue(transfers.stream().allMatch(transfer -> transfer.getString("peer").startsWith("127.0.0.1:")),
                    () -> "peers: " + transfers.stream().map(transfer -> transfer.getString("peer")).toList());
        }
    }

    @EachJdk
    void httpServerKnowsTheOldServletApi(Jdk jdk) {
        AgentConfig config = AgentConfig.of("[[rule]]\npreset = \"http-server\"\n");
        Finished run = Program.target(jdk, "targets.Servlets").with("-Xverify:all").compare(config);
        Trace trace = run.trace();
        List<String> requests = trace.events("instr.HttpRequest").stream()
                .map(event -> event.getString("httpMethod") + " " + event.getString("path") + " " + event.getInt("status"))
                .sorted()
                .toList();
        assertEquals(List.of("GET /fails 500", "GET /missing 404", "GET /one 200", "GET /two 200"), requests);
        assertEquals(4, trace.count("javax.servlet.http.HttpServlet.service"), "each is a call as well");
    }

    @EachJdk
    void loggingCountsTheRecordsThatPass(Jdk jdk) {
        AgentConfig config = AgentConfig.of("[[rule]]\npreset = \"logging\"\n");
        Finished run = Program.target(jdk, "targets.LogLines").with("-Xverify:all").compare(config);
        assertEquals(7, run.trace().count("java.util.logging.Logger.log"), "records that the level lets through");
    }

    private static boolean isRead(RecordedEvent transfer) {
        RecordedMethod method = transfer.getValue("method");
        return method.getName().toLowerCase().contains("read");
    }
}
