package targets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/** Statements through a pool's wrapper and a proxy, requests that are forwarded. Each line on standard input asks for one. */
public final class NestedCalls {

    /** Where Spring MVC leaves the pattern of the handler. */
    private static final String PATTERN = "org.springframework.web.servlet.HandlerMapping.bestMatchingPattern";

    private static final BufferedReader COMMANDS = new BufferedReader(new InputStreamReader(System.in));

    private NestedCalls() {}

    public static void main(String[] arguments) throws Exception {
        Statement pooled = new Pooled(new Proxy(new Driver()));
        System.out.println("ready");
        for (String line = COMMANDS.readLine(); line != null && !line.equals("quit"); line = COMMANDS.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "execute":
                    execute(pooled, words[1]);
                    break;
                case "unknown-text":
                    Connection.prepared(words[1]).run();
                    break;
                case "threads":
                    virtualThreads(pooled, words[1], Integer.parseInt(words[2]));
                    break;
                case "forward":
                    forward(words);
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
            System.out.println("done");
        }
    }

    /** A path, and the patterns by which the first and the second handler know it, if they do. */
    private static void forward(String[] words) {
        Request request = new Request(words[1], new HashMap<>());
        HttpServlet back = new Back(words.length > 3 ? words[3] : null);
        new Front(words.length > 2 && !words[2].equals("unknown") ? words[2] : null, back).service((javax.servlet.ServletRequest) request, new Response());
    }

    private static void execute(Statement statement, String text) {
        try {
            statement.execute(text);
        } catch (IllegalStateException | StackOverflowError failed) {
            // Asked for.
        }
    }

    /** More threads than carriers, all of them unmounted in the middle of their statements. */
    private static void virtualThreads(Statement statement, String text, int count) throws Exception {
        // By reflection: these classes are compiled for JDK 11.
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            threads.add((Thread) start.invoke(null, (Runnable) () -> {
                execute(statement, text);
                execute(statement, text);
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    interface Statement {

        void execute(String text);
    }

    static final class Pooled implements Statement {

        private final Statement inner;

        Pooled(Statement inner) {
            this.inner = inner;
        }

        @Override
        public void execute(String text) {
            inner.execute(text);
        }
    }

    static final class Proxy implements Statement {

        private final Statement inner;

        Proxy(Statement inner) {
            this.inner = inner;
        }

        @Override
        public void execute(String text) {
            inner.execute(text);
        }
    }

    static final class Driver implements Statement {

        @Override
        public void execute(String text) {
            try {
                switch (text) {
                    case "fails":
                        throw new IllegalStateException(text);
                    case "overflows":
                        execute(text);
                        break;
                    case "waits":
                        System.out.println("inside");
                        COMMANDS.readLine();
                        break;
                    case "parks":
                        Thread.sleep(5);
                        break;
                    default:
                        break;
                }
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static final class Connection {

        static Prepared prepare(String text) {
            return new Prepared();
        }

        /** The outer one is not made by a connection, so nobody knows what it will execute. */
        static Outer prepared(String text) {
            return new Outer(prepare(text));
        }
    }

    static final class Prepared {

        void run() {}
    }

    static final class Outer {

        private final Prepared inner;

        Outer(Prepared inner) {
            this.inner = inner;
        }

        void run() {
            inner.run();
        }
    }

    /** Forwards to another servlet, as a container does. */
    static final class Front extends HttpServlet {

        private final String pattern;
        private final HttpServlet target;

        Front(String pattern, HttpServlet target) {
            this.pattern = pattern;
            this.target = target;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            Map<String, Object> attributes = ((Request) request).attributes;
            attributes.put(PATTERN, pattern);
            target.service((javax.servlet.ServletRequest) new Request("/back", attributes), response);
        }
    }

    static final class Back extends HttpServlet {

        private final String pattern;

        Back(String pattern) {
            this.pattern = pattern;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            // A page knows no pattern and leaves that of the handler.
            if (pattern != null) {
                ((Request) request).attributes.put(PATTERN, pattern);
            }
            response.setStatus(200);
        }
    }

    static final class Request implements HttpServletRequest {

        private final String path;
        private final Map<String, Object> attributes;

        Request(String path, Map<String, Object> attributes) {
            this.path = path;
            this.attributes = attributes;
        }

        @Override
        public Object getAttribute(String name) {
            return attributes.get(name);
        }

        @Override
        public String getMethod() {
            return "GET";
        }

        @Override
        public String getRequestURI() {
            return path;
        }
    }

    static final class Response implements HttpServletResponse {

        private int status;

        @Override
        public int getStatus() {
            return status;
        }

        @Override
        public void setStatus(int status) {
            this.status = status;
        }
    }
}
