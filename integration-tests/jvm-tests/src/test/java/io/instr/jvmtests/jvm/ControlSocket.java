package io.instr.jvmtests.jvm;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The socket on which the agent of a running program answers, as the command line uses it. */
public final class ControlSocket {

    private ControlSocket() {}

    public static String status(Dialog program) {
        return ask(program, "{\"ask\":\"status\"}");
    }

    public static String level(Dialog program, String methods, String level) {
        return ask(program, "{\"ask\":\"level\",\"methods\":\"" + methods + "\",\"level\":\"" + level + "\"}");
    }

    /** Returns the first answer: the agent may disconnect a client that takes a second to send its request, as a test may on a busy machine. */
    public static String ask(Dialog program, String request) {
        return Awaiting.await(() -> askOnce(program, request), answer -> !answer.isEmpty());
    }

    private static String askOnce(Dialog program, String request) throws IOException {
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(path(program)))) {
            return exchange(channel, request);
        }
    }

    private static String exchange(SocketChannel channel, String request) {
        ByteBuffer answer = ByteBuffer.allocate(1 << 20);
        try {
            channel.write(StandardCharsets.UTF_8.encode(request + "\n"));
            while (channel.read(answer) >= 0) {
                // The agent closes when it has said everything.
            }
        } catch (IOException disconnected) {
            return "";
        }
        return StandardCharsets.UTF_8.decode(answer.flip()).toString().strip();
    }

    /** Asks for the status until it is as wanted, and returns it. */
    public static String await(Dialog program, Predicate<String> wanted) {
        return Awaiting.await(() -> status(program), wanted);
    }

    /** Asks this until the answer is as wanted, and returns it. */
    public static String awaitAnswer(Dialog program, String request, Predicate<String> wanted) {
        return Awaiting.await(() -> ask(program, request), wanted);
    }

    /** Waits until so many calls have been taken from the program, recorded or lost. */
    public static void awaitCalls(Dialog program, long calls) {
        await(program, status -> calls(status) >= calls);
    }

    /** Returns how many calls have been taken from the program, recorded or lost. */
    public static long calls(String status) {
        return figure(status, "records") + figure(status, "lost");
    }

    private static long figure(String status, String name) {
        Matcher figure = Pattern.compile("\"" + name + "\":(\\d+)").matcher(status);
        if (!figure.find()) {
            throw new AssertionError("no figure `" + name + "` in " + status);
        }
        return Long.parseLong(figure.group(1));
    }

    /** The first number of this name in a status. */
    public static double number(String status, String name) {
        Matcher number = Pattern.compile("\"" + name + "\":([0-9.eE+-]+)").matcher(status);
        if (!number.find()) {
            throw new AssertionError("no number `" + name + "` in " + status);
        }
        return Double.parseDouble(number.group(1));
    }

    public static Path path(Dialog program) throws IOException {
        Object user = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        String namespace = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString().replaceAll("[^0-9]", "");
        return Path.of("/tmp", "instr-" + user, program.pid() + "-" + namespace + ".sock");
    }
}
