package java.instr;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketImpl;
import java.nio.channels.SocketChannel;
import jdk.internal.misc.Unsafe;

/** Bytes that go through sockets, and to whom. */
public final class Sockets {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long ADDRESS = U.objectFieldOffset(SocketImpl.class, "address");
    private static final long PORT = U.objectFieldOffset(SocketImpl.class, "port");

    private Sockets() {}

    /**
     * The end of a transfer.
     *
     * @param socket a {@link SocketImpl} or {@link SocketChannel}
     * @param bytes an Integer or Long; anything else, and negative numbers, count as 0
     * @param found what {@code nesting.transfers} was when the call began
     */
    public static void exit(long start, int id, Object socket, Object bytes, Nesting nesting, int found) {
        if (start == 0L || !Timer.on) return;
        Recorder.recordDetail(start, Clock.now(), id, kind(nesting, found), number(bytes), peer(socket));
    }

    /** The end of a transfer that {@link Live} began. */
    public static void exitLive(
            long start, int id, Object socket, Object bytes, Throwable thrown, Nesting nesting, int found) {
        if (start == 0L) return;
        try {
            long end = Live.end(start);
            if (end != 0L) {
                int number = Live.number(start, id);
                char kind = kind(nesting, found);
                Recorder.recordDetail(Live.began(start), end, number, kind, number(bytes), peer(socket));
            }
        } finally {
            Live.close(start, id, thrown);
        }
    }

    private static char kind(Nesting nesting, int found) {
        return nesting.isInner(found) ? 's' : 'S';
    }

    private static long number(Object bytes) {
        long number = bytes instanceof Number ? Math.max(0, ((Number) bytes).longValue()) : 0;
        return Math.min(number, Integer.MAX_VALUE);
    }

    private static String peer(Object socket) {
        try {
            if (socket instanceof SocketImpl) {
                Object address = ObjectField.get(socket, ADDRESS);
                int port = U.getInt(socket, PORT);
                return address instanceof InetAddress ? ((InetAddress) address).getHostAddress() + ':' + port : "";
            }
            SocketAddress remote = socket instanceof SocketChannel ? ((SocketChannel) socket).getRemoteAddress() : null;
            if (remote instanceof InetSocketAddress) {
                InetAddress address = ((InetSocketAddress) remote).getAddress();
                return address == null ? "" : address.getHostAddress() + ':' + ((InetSocketAddress) remote).getPort();
            }
            return remote == null ? "" : remote.toString();
        } catch (Throwable closedMeanwhile) {
            return "";
        }
    }
}
