package io.instr.jvmtests.jvm;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** An authority and a certificate that it gave to a server at 127.0.0.1, both made by the JDK's keytool. */
public final class Certificates {

    private static final String PASSWORD = "changeit";

    private final Path directory;
    private final Path store;

    /** Makes both; the files are put into the directory. */
    public Certificates(Path directory, String authority) {
        this.directory = directory;
        store = directory.resolve(authority + ".p12");
        keytool("-genkeypair", "-alias", "ca", "-dname", "CN=" + authority, "-ext", "bc:c", "-keyalg", "EC");
        keytool("-genkeypair", "-alias", "server", "-dname", "CN=receiver", "-keyalg", "EC");
        Path request = directory.resolve(authority + ".request");
        Path signed = directory.resolve(authority + ".signed");
        keytool("-certreq", "-alias", "server", "-file", request.toString());
        keytool("-gencert", "-alias", "ca", "-infile", request.toString(), "-outfile", signed.toString(), "-rfc", "-ext", "san=ip:127.0.0.1");
        keytool("-importcert", "-alias", "server", "-file", signed.toString(), "-noprompt");
        keytool("-exportcert", "-alias", "ca", "-rfc", "-file", pem(authority).toString());
    }

    /** The certificate of an authority of this directory. */
    private Path pem(String authority) {
        return directory.resolve(authority + ".pem");
    }

    private void keytool(String... arguments) {
        List<String> line = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        line.addAll(List.of(arguments));
        line.addAll(List.of("-keystore", store.toString(), "-storetype", "PKCS12", "-storepass", PASSWORD));
        Tool.run(directory, line);
    }

    SSLContext ofServer() {
        try (InputStream stored = Files.newInputStream(store)) {
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
