package targets;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Calls of every category of the built-in templates. Each line on standard input names one, with its processor time in milliseconds
 * and how many arrays of how many bytes it allocates; the answer is the processor time by the JVM's own counter, and the bytes.
 */
public final class EveryCategory {

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    static volatile Object kept;

    private EveryCategory() {}

    public static void main(String[] arguments) throws Exception {
        // Loading a class takes processor time, too.
        for (Class<?> used : EveryCategory.class.getDeclaredClasses()) {
            Class.forName(used.getName());
        }
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            String[] words = line.split(" ");
            Load load = new Load(Integer.parseInt(words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            System.out.println(words[0] + " " + measured(words[0], load));
        }
    }

    private static String measured(String kind, Load load) {
        // A text that is made here: nothing but the load is to be allocated in the call.
        String text = kind + " * from shop";
        Prepared prepared = Connection.prepare(text);
        Exchange exchange = new Exchange("/" + kind);
        long before = THREADS.getCurrentThreadCpuTime();
        switch (kind) {
            case "plain":
                Plain.call(load);
                break;
            case "statement":
                Statement.execute(text, load);
                break;
            case "prepared":
                prepared.execute(load);
                break;
            case "javax":
                new OldServlet(load).service((javax.servlet.ServletRequest) exchange, exchange);
                break;
            case "jakarta":
                new Servlet(load).service((jakarta.servlet.ServletRequest) exchange, exchange);
                break;
            case "receive":
                Transfer.receive(load);
                break;
            case "send":
                Transfer.send(new byte[0], 0, 77, load);
                break;
            default:
                throw new IllegalArgumentException(kind);
        }
        return (THREADS.getCurrentThreadCpuTime() - before) + " " + (long) load.arrays * (load.bytes + 16);
    }

    /** What a call does. */
    static final class Load {

        private final int millis;
        final int arrays;
        final int bytes;

        Load(int millis, int arrays, int bytes) {
            this.millis = millis;
            this.arrays = arrays;
            this.bytes = bytes;
        }

        void run() {
            for (int i = 0; i < arrays; i++) {
                kept = new byte[bytes];
            }
            // Processor time, which is the same however busy the machine is.
            long end = THREADS.getCurrentThreadCpuTime() + millis * 1_000_000L;
            while (THREADS.getCurrentThreadCpuTime() < end) {
                Thread.onSpinWait();
            }
        }
    }

    static final class Plain {

        static void call(Load load) {
            load.run();
        }
    }

    static final class Statement {

        static void execute(String text, Load load) {
            load.run();
        }
    }

    static final class Connection {

        static Prepared prepare(String text) {
            return new Prepared();
        }
    }

    static final class Prepared {

        void execute(Load load) {
            load.run();
        }
    }

    static final class Transfer {

        static int receive(Load load) {
            load.run();
            return 55;
        }

        static void send(byte[] bytes, int from, int count, Load load) {
            load.run();
        }
    }

    static final class OldServlet extends javax.servlet.http.HttpServlet {

        private final Load load;

        OldServlet(Load load) {
            this.load = load;
        }

        @Override
        protected void service(
                javax.servlet.http.HttpServletRequest request, javax.servlet.http.HttpServletResponse response) {
            load.run();
            response.setStatus(201);
        }
    }

    static final class Servlet extends jakarta.servlet.http.HttpServlet {

        private final Load load;

        Servlet(Load load) {
            this.load = load;
        }

        @Override
        protected void service(
                jakarta.servlet.http.HttpServletRequest request, jakarta.servlet.http.HttpServletResponse response) {
            load.run();
            response.setStatus(202);
        }
    }

    /** Request and response of both servlet APIs. */
    static final class Exchange
            implements javax.servlet.http.HttpServletRequest,
                    javax.servlet.http.HttpServletResponse,
                    jakarta.servlet.http.HttpServletRequest,
                    jakarta.servlet.http.HttpServletResponse {

        private final String path;
        private int status;

        Exchange(String path) {
            this.path = path;
        }

        @Override
        public String getMethod() {
            return "PUT";
        }

        @Override
        public String getRequestURI() {
            return path;
        }

        @Override
        public String getScheme() {
            return "http";
        }

        @Override
        public Object getAttribute(String name) {
            return null;
        }

        @Override
        public String getContextPath() {
            return "";
        }

        @Override
        public String getServletPath() {
            return path;
        }

        @Override
        public String getPathInfo() {
            return null;
        }

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
