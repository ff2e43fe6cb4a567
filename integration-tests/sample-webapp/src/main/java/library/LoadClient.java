package library;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;

/**
 * Sends a fixed series of requests, one after the other, and hashes every answer. Two servers that were started afresh
 * and behave alike give the same result.
 */
final class LoadClient {

    private static final int BOOKS_PER_ROUND = 6;

    private final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofMinutes(4))
            .build();
    private final URI server;
    private final MessageDigest answers;
    private int requests;
    private int failures;

    LoadClient(URI server) throws NoSuchAlgorithmException {
        this.server = server;
        this.answers = MessageDigest.getInstance("SHA-256");
    }

    void sendRound(int round) throws IOException, InterruptedException {
        get("/books?size=10&page=" + round % 4 + "&sort=title");
        get("/shelf.html");
        addBook(round);
        post("/members", "{\"name\":\"Reader " + round + "\"}");
        for (int i = 0; i < BOOKS_PER_ROUND; i++) {
            int number = (round * 7 + i * 3) % 40 + 1;
            get("/books/isbn-" + number);
            post("/loans?member=" + (round % 5 + 1) + "&isbn=isbn-" + number + "&day=" + (round + i), "");
        }
        get("/members/" + (round % 5 + 1));
        post("/loans/" + (round + 1) + "/return?day=" + (round + 20), "");
        get("/books/search?title=of+the");
        get("/authors/" + (round % 8 + 1));
        get("/statistics");
        sendRequestsThatAreRefused();
    }

    String result() {
        String hash = HexFormat.of().formatHex(answers.digest(), 0, 8);
        return "RESULT library requests=" + requests + " refused=" + failures + " hash=" + hash;
    }

    private void addBook(int round) throws IOException, InterruptedException {
        post("/books", "{\"isbn\":\"new-" + round + "\",\"title\":\"New Book " + round + "\",\"author\":" + (round % 8 + 1)
                + ",\"year\":" + (1990 + round % 30) + ",\"copies\":2}");
    }

    /** The error paths: unknown, invalid, and not parsable. */
    private void sendRequestsThatAreRefused() throws IOException, InterruptedException {
        get("/books/no-such-book");
        post("/books", "{\"isbn\":\"\",\"title\":\"\",\"author\":1,\"year\":-1,\"copies\":0}");
        post("/books", "{not json");
        get("/no-such-page");
    }

    private void get(String path) throws IOException, InterruptedException {
        send(HttpRequest.newBuilder(server.resolve(path)).GET(), path);
    }

    private void post(String path, String json) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(server.resolve(path))
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(json));
        send(request, path);
    }

    private void send(HttpRequest.Builder request, String path) throws IOException, InterruptedException {
        HttpResponse<String> response = client.send(request.timeout(Duration.ofMinutes(4)).build(), BodyHandlers.ofString());
        requests++;
        if (response.statusCode() >= 500) {
            throw new IOException(path + " answered " + response.statusCode() + " " + response.body());
        }
        if (response.statusCode() >= 400) {
            failures++;
        }
        // Not the headers: they carry the date.
        String answer = path + " " + response.statusCode() + " " + response.body() + "\n";
        answers.update(answer.getBytes(StandardCharsets.UTF_8));
    }
}
