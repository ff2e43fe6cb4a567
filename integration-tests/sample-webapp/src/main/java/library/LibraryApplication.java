package library;

import java.net.URI;
import java.util.Arrays;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.event.EventListener;

/**
 * A lending library: books, authors, members and loans.
 *
 * <pre>
 * java -jar sample-webapp.jar [--server.port=N]     serves until it is terminated; prints "READY port" when it is up
 * java -jar sample-webapp.jar load PORT ROUNDS      sends requests to a running one; prints a RESULT line
 * java -jar sample-webapp.jar self ROUNDS           serves, sends itself the same requests, and ends
 * </pre>
 */
@SpringBootApplication
public class LibraryApplication {

    public static void main(String[] arguments) throws Exception {
        String mode = arguments.length == 0 ? "serve" : arguments[0];
        switch (mode) {
            case "load" -> load(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
            case "self" -> serveItself(arguments);
            default -> SpringApplication.run(LibraryApplication.class, arguments);
        }
    }

    private static void serveItself(String[] arguments) throws Exception {
        String[] springArguments = Arrays.copyOfRange(arguments, 2, arguments.length);
        try (var context = SpringApplication.run(LibraryApplication.class, springArguments)) {
            int port = ((ServletWebServerApplicationContext) context).getWebServer().getPort();
            load(port, Integer.parseInt(arguments[1]));
        }
    }

    private static void load(int port, int rounds) throws Exception {
        LoadClient client = new LoadClient(URI.create("http://127.0.0.1:" + port));
        for (int round = 0; round < rounds; round++) {
            client.sendRound(round);
        }
        System.out.println(client.result());
    }

    /** Prints the port, for the program that started this process. */
    @EventListener
    void announce(ApplicationReadyEvent ready) {
        if (ready.getApplicationContext() instanceof ServletWebServerApplicationContext web) {
            System.out.println("READY " + web.getWebServer().getPort());
            System.out.flush();
        }
    }
}
