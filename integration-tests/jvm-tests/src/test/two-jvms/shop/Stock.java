package shop;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Collections;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.LogManager;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.ValveBase;

/** Answers requests for items, of which some take long, and measures itself how long. Its other answer is the header {@code baggage}. */
public class Stock extends HttpServlet {
    private static final Lengths RARE = new Lengths();
    private static final Lengths USUAL = new Lengths();

    public static void main(String[] work) throws Exception {
        LogManager.getLogManager().reset();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(work[0]);
        tomcat.setPort(0);
        Context context = tomcat.addContext("", work[0]);
        Tomcat.addServlet(context, "shop", new Stock());
        context.addServletMappingDecoded("/*", "shop");
        context.getPipeline().addValve(new Queue());
        tomcat.getConnector();
        tomcat.start();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        for (String line = lines.nextLine(); !line.equals("quit"); line = lines.nextLine()) {
            System.out.println(line.equals("port") ? tomcat.getConnector().getLocalPort() : RARE + " " + USUAL);
        }
        tomcat.stop();
        tomcat.destroy();
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (request.getRequestURI().equals("/moved")) {
            response.sendRedirect("http://localhost:" + request.getLocalPort() + "/baggage");
            return;
        }
        String item = request.getParameter("item");
        if (item == null) {
            work();
            response.getWriter().print(String.join("|", Collections.list(request.getHeaders("baggage"))));
        } else {
            response.getWriter().print(find(item));
        }
    }

    public static void work() {}

    static long find(String item) {
        long start = System.nanoTime();
        if (item.equals("rare")) inWarehouse();
        if (item.equals("old")) inBasement();
        if (item.equals("usual")) inShelf();
        if (item.equals("ordered")) inLobby();
        long end = System.nanoTime();
        if (item.equals("rare") || item.equals("usual")) (item.equals("rare") ? RARE : USUAL).add(end - start);
        return end;
    }

    /** So long that what a request and its answer cost beside it, even where machines are busy, does not count. */
    private static void inWarehouse() {
        park(120_000_000);
    }

    private static void inBasement() {
        park(70_000_000);
    }

    private static void inLobby() {
        park(14_000_000);
    }

    private static void inShelf() {
        park(300_000);
    }

    private static void park(long nanos) {
        long end = System.nanoTime() + nanos;
        for (long left = nanos; left > 0; left = end - System.nanoTime()) LockSupport.parkNanos(left);
    }

    /** Before a servlet gets the request, some wait. */
    private static final class Queue extends ValveBase {
        @Override
        public void invoke(Request request, Response response) throws IOException, ServletException {
            String query = String.valueOf(request.getQueryString());
            if (query.contains("ordered")) park(26_000_000);
            if (query.contains("queued")) park(40_000_000);
            getNext().invoke(request, response);
        }
    }

    /** The mean of lengths in nanoseconds. */
    static final class Lengths {
        private final AtomicLong sum = new AtomicLong();
        private final AtomicLong count = new AtomicLong();

        void add(long nanos) {
            sum.addAndGet(nanos);
            count.incrementAndGet();
        }

        @Override
        public String toString() {
            return String.valueOf(sum.get() / Math.max(1, count.get()));
        }
    }
}
