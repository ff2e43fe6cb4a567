package targets;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** Sends known numbers of bytes to itself, over a stream socket and over a channel. */
public final class SocketTalk {

    static final int MESSAGE = 4_321;

    private SocketTalk() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("stream " + overStreams());
        System.out.println("channel " + overChannels());
    }

    private static int overStreams() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread echo = new Thread(() -> echoOnce(server), "echo");
            echo.start();
            int received;
            try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                new DataOutputStream(socket.getOutputStream()).write(new byte[MESSAGE]);
                received = new DataInputStream(socket.getInputStream()).readNBytes(MESSAGE).length;
            }
            echo.join();
            return received;
        }
    }

    private static void echoOnce(ServerSocket server) {
        try (Socket socket = server.accept()) {
            byte[] message = new DataInputStream(socket.getInputStream()).readNBytes(MESSAGE);
            socket.getOutputStream().write(message);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int overChannels() throws Exception {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (SocketChannel client = SocketChannel.open(server.getLocalAddress());
                    SocketChannel accepted = server.accept()) {
                ByteBuffer sent = ByteBuffer.allocate(MESSAGE);
                while (sent.hasRemaining()) {
                    client.write(sent);
                }
                ByteBuffer received = ByteBuffer.allocate(MESSAGE);
                while (received.hasRemaining()) {
                    accepted.read(received);
                }
                return received.position();
            }
        }
    }
}
