package io.instr.jvmtests.telemetry;

import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** An authority and a certificate that it gave to a server at 127.0.0.1, both made by the JDK's keytool, once in a test run. */
public final class Certificates {

    private static final String PASSWORD = "changeit";
    private static final Map<String, Certificates> MADE = new ConcurrentHashMap<>();

    private final byte[] store;
    private final byte[] pem;

    private Certificates(byte[] store, byte[] pem) {
        this.store = store;
        this.pem = pem;
    }

    /** Returns those of an authority, whose own certificate is in the file {@code <authority>.pem} of the directory then. */
    public static Certificates of(String authority, Path directory) {
        Certificates certificates = MADE.computeIfAbsent(authority, Certificates::make);
        try {
            Files.write(directory.resolve(authority + ".pem"), certificates.pem);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return certificates;
    }

    private static Certificates make(String authority) {
        Path directory = RunDirectories.create();
        keytool(directory, "-genkeypair", "-alias", "ca", "-dname", "CN=" + authority, "-ext", "bc:c", "-keyalg", "EC");
        keytool(directory, "-genkeypair", "-alias", "server", "-dname", "CN=receiver", "-keyalg", "EC");
        keytool(directory, "-certreq", "-alias", "server", "-file", "request");
        keytool(directory, "-gencert", "-alias", "ca", "-infile", "request", "-outfile", "signed", "-rfc", "-ext", "san=ip:127.0.0.1");
        keytool(directory, "-importcert", "-alias", "server", "-file", "signed", "-noprompt");
        keytool(directory, "-exportcert", "-alias", "ca", "-rfc", "-file", "ca.pem");
        try {
            return new Certificates(Files.readAllBytes(directory.resolve("store")), Files.readAllBytes(directory.resolve("ca.pem")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void keytool(Path directory, String... arguments) {
        List<String> line = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        line.addAll(List.of(arguments));
        line.addAll(List.of("-keystore", "store", "-storetype", "PKCS12", "-storepass", PASSWORD));
        Tool.run(directory, line);
    }

    SSLContext ofServer() {
        try (InputStream stored = new ByteArrayInputStream(store)) {
            KeyStore keys = KeyStore.getInstance("PKCS12");
            keys.load(stored, PASSWORD.toCharArray());
            keys.deleteEntry("ca");
            KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            managers.init(keys, PASSWORD.toCharArray());
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(managers.getKeyManagers(), null, null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
