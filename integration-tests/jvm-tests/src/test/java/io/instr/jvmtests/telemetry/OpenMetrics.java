package io.instr.jvmtests.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.JvmProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A page of the agent in the OpenMetrics format, read strictly line by line. Samples by name and labels as they stand. */
public record OpenMetrics(String text, Map<String, Double> samples) {

    private static final Pattern SAMPLE =
            Pattern.compile("([a-z_]+)(\\{(?:[a-z_]+=\"(?:[^\"\\\\]|\\\\.)*\",?)*})? ([-0-9.eE+]+|NaN)");
    /** The state of a socket in {@code /proc/net/tcp}. */
    private static final String LISTENING = "0A";
    private static final Pattern COMMENT = Pattern.compile("# (TYPE|UNIT|HELP) ([a-z_]+) .+");

    /**
     * Returns the port of the page in a program whose configuration has port 0: the one on which its process listens over IPv4. The tests
     * choose no port, as another process could take it before the agent does.
     */
    public static int portOf(Dialog program) {
        return Awaiting.await(() -> listening(program.pid()), ports -> ports.size() == 1).iterator().next();
    }

    private static Set<Integer> listening(long pid) throws IOException {
        Set<String> sockets = new HashSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
            for (Path file : files) {
                try {
                    sockets.add(Files.readSymbolicLink(file).toString());
                } catch (NoSuchFileException closedMeanwhile) {
                    // No longer one of its sockets.
                }
            }
        }
        Set<Integer> ports = new HashSet<>();
        for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/net/tcp"))) {
            String[] words = line.strip().split("\\s+");
            if (words[3].equals(LISTENING) && sockets.contains("socket:[" + words[9] + "]")) {
                ports.add(Integer.parseInt(words[1].substring(words[1].indexOf(':') + 1), 16));
            }
        }
        return ports;
    }

    /** Reads the page; again if the agent, which waits for neither a scraper nor its own figures for long, gave up on a busy machine. */
    public static OpenMetrics scrape(int port) {
        return Awaiting.await(() -> scrapeOnce(port), Optional::isPresent).orElseThrow();
    }

    private static Optional<OpenMetrics> scrapeOnce(int port) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics"))
                .timeout(JvmProcess.LIMIT)
                .build();
        try {
            HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() == 503) {
                return Optional.empty();
            }
            assertEquals(200, response.statusCode(), response.body());
            String type = response.headers().firstValue("content-type").orElseThrow();
            assertTrue(type.startsWith("application/openmetrics-text; version=1.0.0"), type);
            return Optional.of(parse(response.body()));
        } catch (ConnectException nobodyListens) {
            throw new UncheckedIOException(nobodyListens);
        } catch (IOException disconnected) {
            return Optional.empty();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Reads the page again and again until it says what is expected, or the time is over. */
    public static OpenMetrics await(int port, Predicate<OpenMetrics> expected) {
        return Awaiting.await(() -> scrape(port), expected);
    }

    private static OpenMetrics parse(String text) {
        assertTrue(text.endsWith("# EOF\n"), text);
        Map<String, Double> samples = new LinkedHashMap<>();
        text.lines().filter(line -> !line.equals("# EOF")).forEach(line -> {
            Matcher sample = SAMPLE.matcher(line);
            if (sample.matches()) {
                String name = sample.group(1) + (sample.group(2) == null ? "" : sample.group(2));
                assertTrue(samples.put(name, Double.parseDouble(sample.group(3))) == null, "twice: " + line);
            } else {
                assertTrue(COMMENT.matcher(line).matches(), "neither sample nor comment: " + line);
            }
        });
        return new OpenMetrics(text, samples);
    }

    /** The one sample of this name whose labels contain the words. */
    public double value(String name, String... words) {
        return samples.entrySet().stream()
                .filter(sample -> isIt(sample.getKey(), name, words))
                .map(Map.Entry::getValue)
                .reduce((one, other) -> {
                    throw new AssertionError("more than one " + name + " with " + String.join(", ", words) + ":\n" + text);
                })
                .orElseThrow(() -> new NoSuchElementException(name + " with " + String.join(", ", words) + ":\n" + text));
    }

    public boolean has(String name, String... words) {
        return samples.keySet().stream().anyMatch(key -> isIt(key, name, words));
    }

    private static boolean isIt(String key, String name, String... words) {
        if (!key.equals(name) && !key.startsWith(name + "{")) {
            return false;
        }
        for (String word : words) {
            if (!key.contains(word)) {
                return false;
            }
        }
        return true;
    }
}
