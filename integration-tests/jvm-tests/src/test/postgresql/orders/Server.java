package orders;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Speaks as much of PostgreSQL's protocol 3 as the driver needs, and counts what it is asked to execute. Every query has three rows of one text;
 * a statement that begins with "fail" is an error.
 */
final class Server implements AutoCloseable {

    private static final int ROWS = 3;

    private final ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    private final Map<String, Integer> executed = new TreeMap<>();

    Server() throws IOException {
        Thread thread = new Thread(this::serve, "server");
        thread.setDaemon(true);
        thread.start();
    }

    String url() {
        return "jdbc:postgresql://127.0.0.1:" + socket.getLocalPort() + "/orders";
    }

    /** How often each text was executed. */
    synchronized Map<String, Integer> executed() {
        return new TreeMap<>(executed);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private void serve() {
        try (Socket client = socket.accept()) {
            new Session(client).talk();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private synchronized void count(String text) {
        executed.merge(text, 1, Integer::sum);
    }

    private static final class Portal {
        final String text;
        int sent;

        Portal(String text) {
            this.text = text;
        }
    }

    private final class Session {

        private final DataInputStream in;
        private final OutputStream out;
        private final ByteArrayOutputStream answers = new ByteArrayOutputStream();
        private final Map<String, String> statements = new HashMap<>();
        private final Map<String, Portal> portals = new HashMap<>();
        private boolean inTransaction;
        private boolean failed;

        Session(Socket client) throws IOException {
            in = new DataInputStream(client.getInputStream());
            out = client.getOutputStream();
        }

        void talk() throws IOException {
            in.readFully(new byte[in.readInt() - 4]);
            answer('R', fields().writeInt(0));
            parameter("server_version", "15.0");
            parameter("server_encoding", "UTF8");
            parameter("client_encoding", "UTF8");
            parameter("DateStyle", "ISO, MDY");
            parameter("TimeZone", "UTC");
            parameter("integer_datetimes", "on");
            parameter("standard_conforming_strings", "on");
            answer('K', fields().writeInt(1).writeInt(1));
            ready();
            for (int type = in.read(); type != 'X' && type != -1; type = in.read()) {
                byte[] message = new byte[in.readInt() - 4];
                in.readFully(message);
                take((char) type, ByteBuffer.wrap(message));
            }
        }

        private void take(char type, ByteBuffer message) throws IOException {
            if (failed && type != 'S') {
                return;
            }
            switch (type) {
                case 'Q' -> simple(text(message));
                case 'P' -> {
                    statements.put(text(message), text(message));
                    answer('1', fields());
                }
                case 'B' -> {
                    portals.put(text(message), new Portal(statements.get(text(message))));
                    answer('2', fields());
                }
                case 'D' -> {
                    boolean portal = message.get() == 'P';
                    String name = text(message);
                    if (!portal) {
                        answer('t', fields().writeShort(0));
                    }
                    describe(portal ? portals.get(name).text : statements.get(name));
                }
                case 'E' -> execute(portals.get(text(message)), message.getInt());
                case 'C' -> answer('3', fields());
                case 'S' -> ready();
                case 'F' -> {
                    answer('V', fields().writeInt(4).writeInt(7));
                    ready();
                }
                case 'd' -> { }
                case 'c' -> {
                    answer('C', fields().writeText("COPY 2"));
                    ready();
                }
                case 'H' -> flush();
                default -> throw new IOException("message " + type);
            }
        }

        private void simple(String text) throws IOException {
            if (text.startsWith("COPY") && text.endsWith("FROM STDIN")) {
                count(text);
                answer('G', fields().writeByte(0).writeShort(0));
                flush();
                return;
            }
            if (text.startsWith("COPY")) {
                count(text);
                answer('H', fields().writeByte(0).writeShort(0));
                answer('d', fields().writeBytes("one\n"));
                answer('d', fields().writeBytes("two\n"));
                answer('c', fields());
                answer('C', fields().writeText("COPY 2"));
            } else if (text.isEmpty()) {
                count(text);
                answer('I', fields());
            } else {
                if (returnsRows(text)) {
                    describe(text);
                }
                execute(new Portal(text), 0);
            }
            ready();
        }

        private void describe(String text) throws IOException {
            if (returnsRows(text)) {
                Fields column = fields().writeShort(1).writeText("name").writeInt(0).writeShort(0).writeInt(25).writeShort(-1);
                answer('T', column.writeInt(-1).writeShort(0));
            } else {
                answer('n', fields());
            }
        }

        private void execute(Portal portal, int most) throws IOException {
            if (portal.sent == 0) {
                count(portal.text);
            }
            if (portal.text.startsWith("fail")) {
                failed = true;
                answer('E', fields().writeBytes("S").writeText("ERROR").writeBytes("C").writeText("42601")
                        .writeBytes("M").writeText("no such statement").writeByte(0));
                return;
            }
            String verb = portal.text.split(" ")[0];
            inTransaction = verb.equals("BEGIN") || inTransaction && !verb.equals("COMMIT") && !verb.equals("ROLLBACK");
            if (returnsRows(portal.text)) {
                int last = most == 0 ? ROWS : Math.min(ROWS, portal.sent + most);
                for (; portal.sent < last; portal.sent++) {
                    answer('D', fields().writeShort(1).writeInt(3).writeBytes("row"));
                }
                if (portal.sent < ROWS) {
                    answer('s', fields());
                    return;
                }
            }
            answer('C', fields().writeText(switch (verb) {
                case "INSERT" -> "INSERT 0 1";
                case "SELECT", "UPDATE", "DELETE" -> verb + " 1";
                default -> verb;
            }));
        }

        private boolean returnsRows(String text) {
            return text.startsWith("SELECT") || text.startsWith("select") || text.contains("RETURNING");
        }

        private void parameter(String name, String value) throws IOException {
            answer('S', fields().writeText(name).writeText(value));
        }

        private void ready() throws IOException {
            failed = false;
            answer('Z', fields().writeByte(inTransaction ? 'T' : 'I'));
            flush();
        }

        private void answer(char type, Fields fields) throws IOException {
            DataOutputStream message = new DataOutputStream(answers);
            message.writeByte(type);
            message.writeInt(fields.bytes.size() + 4);
            fields.bytes.writeTo(message);
        }

        private void flush() throws IOException {
            answers.writeTo(out);
            answers.reset();
            out.flush();
        }
    }

    private static Fields fields() {
        return new Fields();
    }

    private static String text(ByteBuffer message) {
        int start = message.position();
        while (message.get() != 0) { }
        return new String(message.array(), start, message.position() - start - 1, StandardCharsets.UTF_8);
    }

    /** The fields of one message. */
    private static final class Fields {

        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Fields writeByte(int value) {
            bytes.write(value);
            return this;
        }

        Fields writeShort(int value) {
            return writeByte(value >> 8).writeByte(value);
        }

        Fields writeInt(int value) {
            return writeShort(value >> 16).writeShort(value);
        }

        Fields writeBytes(String text) {
            bytes.writeBytes(text.getBytes(StandardCharsets.UTF_8));
            return this;
        }

        Fields writeText(String text) {
            return writeBytes(text).writeByte(0);
        }
    }
}
