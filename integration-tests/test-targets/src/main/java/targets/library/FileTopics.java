package targets.library;

import static targets.library.LibraryTour.show;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.NotSerializableException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.io.Serializable;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;
import java.util.zip.ZipEntry;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Files, streams, archives, serialization, sockets, digests. */
final class FileTopics {

    private FileTopics() {}

    static void visitAll() throws IOException {
        Path directory = Files.createTempDirectory(Path.of(""), "tour");
        try {
            show("files", () -> files(directory));
            show("missing file", () -> missing(directory));
            show("channels", () -> channels(directory));
            show("random access", () -> randomAccess(directory));
            show("jar", () -> jar(directory));
        } finally {
            deleteTree(directory);
        }
        show("streams of bytes", FileTopics::byteStreams);
        show("buffers", FileTopics::buffers);
        show("compression", FileTopics::compression);
        show("serialization", FileTopics::serialization);
        show("not serializable", FileTopics::notSerializable);
        show("pipes", FileTopics::pipes);
        show("sockets", FileTopics::sockets);
        show("digests", FileTopics::digests);
        show("process", FileTopics::process);
        show("system image", FileTopics::systemImage);
    }

    private static Object files(Path directory) throws IOException {
        Path deep = Files.createDirectories(directory.resolve("a/b/c"));
        Path text = Files.writeString(deep.resolve("text.txt"), "line 1\nline \u00e4\u00f6\n", StandardCharsets.UTF_8);
        Files.write(text, List.of("appended"), StandardOpenOption.APPEND);
        Files.setLastModifiedTime(text, FileTime.fromMillis(1_000_000_000_000L));
        Path copy = Files.copy(text, directory.resolve("copy.txt"), StandardCopyOption.COPY_ATTRIBUTES);
        Files.createSymbolicLink(directory.resolve("link"), text.toAbsolutePath());
        Path moved = Files.move(copy, directory.resolve("moved.txt"), StandardCopyOption.ATOMIC_MOVE);
        try (Stream<Path> walk = Files.walk(directory); Stream<String> lines = Files.lines(text); BufferedReader reader = Files.newBufferedReader(moved)) {
            List<String> found = walk.map(path -> directory.relativize(path).toString()).sorted().collect(Collectors.toList());
            return found + " " + lines.mapToInt(String::length).sum() + reader.readLine() + Files.size(moved)
                    + Files.getLastModifiedTime(moved)
                    + Files.isSymbolicLink(directory.resolve("link"))
                    + FileSystems.getDefault().getPathMatcher("glob:*.{txt,md}").matches(Path.of("x.txt"));
        }
    }

    private static Object missing(Path directory) throws IOException {
        try {
            return Files.readString(directory.resolve("missing"));
        } catch (NoSuchFileException expected) {
            return Path.of(expected.getFile()).getFileName();
        }
    }

    private static Object channels(Path directory) throws IOException {
        Path file = directory.resolve("channel");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            channel.write(new ByteBuffer[] {ByteBuffer.wrap(new byte[] {1, 2, 3}), ByteBuffer.allocateDirect(100)});
            MappedByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, 50);
            mapped.putLong(8, 42);
            mapped.force();
            ByteBuffer read = ByteBuffer.allocate(16);
            channel.read(read, 0);
            read.flip();
            return channel.size() + " " + read.getLong(8) + Arrays.hashCode(read.array()) + channel.tryLock().isShared();
        }
    }

    private static Object randomAccess(Path directory) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(directory.resolve("random").toFile(), "rw")) {
            file.writeUTF("text");
            file.seek(100);
            file.writeDouble(2.5);
            file.seek(0);
            return file.readUTF() + file.length();
        }
    }

    private static Object jar(Path directory) throws Exception {
        Path path = directory.resolve("test.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS,
                "a.very.long.name.of.a.class.that.does.not.fit.into.one.line.Main");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(path), manifest)) {
            for (int i = 0; i < 20; i++) {
                out.putNextEntry(new ZipEntry("entry" + i));
                out.write(new byte[i * 100]);
                out.closeEntry();
            }
        }
        try (JarFile jar = new JarFile(path.toFile()); FileSystem inside = FileSystems.newFileSystem(path, (ClassLoader) null)) {
            long sum = jar.stream().mapToLong(ZipEntry::getSize).sum();
            return jar.getManifest().getMainAttributes().getValue("Main-Class") + sum + Files.size(inside.getPath("/entry7"));
        } catch (java.nio.file.ProviderNotFoundException imageWithoutZipFileSystem) {
            return "no zip file system";
        }
    }

    private static Object byteStreams() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF("\u0000\u20ac");
            out.writeLong(-5);
            out.writeChars("ab");
        }
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes.toByteArray()));
        StringWriter writer = new StringWriter();
        new PrintWriter(writer, true).printf("%d %s%n", 5, "x").flush();
        return in.readUTF().length() + " " + in.readLong() + in.readChar() + in.available() + writer.toString().trim()
                + new InputStreamReader(new ByteArrayInputStream(new byte[] {(byte) 0xc3, (byte) 0xa4}), StandardCharsets.UTF_8)
                .read();
    }

    private static Object buffers() {
        ByteBuffer buffer = ByteBuffer.allocateDirect(64).order(ByteOrder.LITTLE_ENDIAN);
        buffer.putInt(0x01020304).putDouble(1.5).putShort((short) -2).flip();
        ByteBuffer slice = buffer.slice().asReadOnlyBuffer();
        return slice.get(0) + " " + slice.order(ByteOrder.LITTLE_ENDIAN).getDouble(4) + buffer.asIntBuffer().get(0)
                + buffer.compareTo(slice) + buffer.remaining();
    }

    private static Object compression() throws Exception {
        byte[] data = new byte[20_000];
        new Random(3).nextBytes(data);
        Arrays.fill(data, 5_000, 15_000, (byte) 7);
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (OutputStream out = new GZIPOutputStream(packed)) {
            out.write(data);
        }
        Deflater deflater = new Deflater(Deflater.BEST_COMPRESSION, true);
        deflater.setInput(data);
        deflater.finish();
        byte[] raw = new byte[30_000];
        int length = deflater.deflate(raw);
        Inflater inflater = new Inflater(true);
        inflater.setInput(raw, 0, length);
        byte[] back = new byte[data.length];
        int inflated = inflater.inflate(back);
        CRC32 crc = new CRC32();
        crc.update(data);
        try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(packed.toByteArray()))) {
            return Arrays.equals(data, in.readAllBytes()) + " " + inflated + Arrays.equals(data, back) + crc.getValue();
        }
    }

    private static Object serialization() throws Exception {
        Map<String, Object> map = new HashMap<>(Map.of("list", new ArrayList<>(List.of(1, 2)), "self", new Versioned("text", 5)));
        map.put("cycle", map.get("list"));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(map);
            out.writeObject(java.time.LocalDate.of(2020, 1, 1));
            out.writeObject(java.util.concurrent.TimeUnit.DAYS);
            out.writeObject((Comparator<String> & Serializable) (a, b) -> b.compareTo(a));
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            Map<?, ?> read = (Map<?, ?>) in.readObject();
            @SuppressWarnings("unchecked")
            Comparator<String> comparator = (Comparator<String>) skipTwo(in).readObject();
            return read.get("self") + " " + (read.get("cycle") == read.get("list")) + comparator.compare("a", "b");
        }
    }

    private static ObjectInputStream skipTwo(ObjectInputStream in) throws Exception {
        in.readObject();
        in.readObject();
        return in;
    }

    private static Object notSerializable() throws IOException {
        try (ObjectOutputStream out = new ObjectOutputStream(new ByteArrayOutputStream())) {
            out.writeObject(List.of(new Object()));
            return "written";
        } catch (NotSerializableException expected) {
            return expected.getMessage();
        }
    }

    private static Object pipes() throws Exception {
        PipedOutputStream out = new PipedOutputStream();
        PipedInputStream in = new PipedInputStream(out, 10);
        Thread writer = new Thread(() -> {
            try (out) {
                out.write("through a small pipe".getBytes(StandardCharsets.US_ASCII));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        writer.start();
        String text = new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        writer.join();
        return text;
    }

    private static Object sockets() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread echo = new Thread(() -> {
                try (Socket accepted = server.accept()) {
                    accepted.getInputStream().transferTo(accepted.getOutputStream());
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });
            echo.start();
            try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                socket.getOutputStream().write("echo".getBytes(StandardCharsets.US_ASCII));
                socket.shutdownOutput();
                String text = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
                echo.join();
                return text;
            }
        }
    }

    private static Object digests() throws Exception {
        byte[] data = "some data".getBytes(StandardCharsets.US_ASCII);
        StringBuilder text = new StringBuilder();
        for (String algorithm : List.of("MD5", "SHA-1", "SHA-256", "SHA-512", "SHA3-256")) {
            text.append(Arrays.hashCode(MessageDigest.getInstance(algorithm).digest(data))).append(' ');
        }
        SecretKeySpec key = new SecretKeySpec(Arrays.copyOf(data, 16), "AES");
        Cipher cipher = Cipher.getInstance("AES/ECB/PKCS5Padding");
        cipher.init(Cipher.ENCRYPT_MODE, key);
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(key);
        return text + " " + Arrays.hashCode(cipher.doFinal(data)) + Arrays.hashCode(mac.doFinal(data))
                + new SecureRandom().generateSeed(4).length;
    }

    private static Object process() throws Exception {
        Process process = new ProcessBuilder("sh", "-c", "echo out; echo err >&2; exit 3").redirectErrorStream(true).start();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))) {
            return reader.lines().collect(Collectors.joining(",")) + process.waitFor();
        }
    }

    private static Object systemImage() throws Exception {
        Path object = FileSystems.getFileSystem(java.net.URI.create("jrt:/")).getPath("/modules/java.base/java/lang/Object.class");
        return Arrays.toString(Arrays.copyOf(Files.readAllBytes(object), 4));
    }

    private static void deleteTree(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
                Files.delete(file);
            }
        }
    }

    private static final class Versioned implements Serializable {

        private static final long serialVersionUID = 3;

        private final String text;
        private transient int hidden;

        Versioned(String text, int hidden) {
            this.text = text;
            this.hidden = hidden;
        }

        private void writeObject(ObjectOutputStream out) throws IOException {
            out.defaultWriteObject();
            out.writeInt(hidden * 2);
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            hidden = in.readInt();
        }

        @Override
        public String toString() {
            return text + hidden;
        }
    }
}
