package instr.templates;

import java.instr.Baggage;
import java.instr.Contexts;
import java.instr.Handover;
import java.instr.Target;
import java.instr.Template;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import jdk.internal.net.http.HttpRequestImpl;
import jdk.internal.net.http.common.Utils;
import sun.net.www.MessageHeader;
import sun.net.www.http.HttpClient;

/**
 * For what hands tasks from one thread to another, and for what runs them there, where contexts reach across threads; for what sends requests, where they reach
 * across hosts. They record nothing, and rules cannot use them: {@code TaskHandover} has the templates for transactions.
 */
final class ContextHandover {
    private ContextHandover() {}

    /** Methods that take a task as their first argument and have another thread run it. */
    @Template(name = "carry-argument", category = "handover")
    static void argument() throws Throwable {
        Handover.handedOver(Target.arg(0));
        Target.proceed();
    }

    /** Methods of a pool whose first argument is a task that the pool does not run. */
    @Template(name = "carry-rejected", category = "handover")
    static void rejected() throws Throwable {
        Handover.rejected(Target.arg(0));
        Target.proceed();
    }

    /** Methods of a task by which it is put where another thread finds it. */
    @Template(name = "carry-self", category = "handover")
    static void self() throws Throwable {
        Handover.forks(Target.self());
        Target.proceed();
    }

    /** Methods that fetch a worker's next task: what it did before is over. */
    @Template(name = "carry-fetch", category = "handover")
    static void fetch() throws Throwable {
        Handover.fetches();
        Target.proceed();
        Handover.begins(Target.result());
    }

    /** Methods that a worker calls before it runs its task, the second argument: it may have fetched it before there was this template. */
    @Template(name = "carry-before", category = "handover")
    static void before() throws Throwable {
        Handover.isAboutToRun(Target.arg(1));
        Target.proceed();
    }

    /** The loop of a worker, which is the first argument; it may bring its first task along, in a field {@code firstTask}. */
    @Template(name = "carry-worker", category = "handover")
    static void worker() throws Throwable {
        Handover.workerBegins(Target.arg(0));
        try {
            Target.proceed();
        } finally {
            Handover.fetches();
        }
    }

    /** Methods of {@link java.util.concurrent.ForkJoinPool} whose first argument is the task. */
    @Template(name = "carry-forked", category = "handover")
    static void forked() throws Throwable {
        Handover.forked(Target.self(), Target.arg(0));
        Target.proceed();
    }

    /** Methods of {@link java.util.concurrent.ForkJoinPool} whose second argument is the task. */
    @Template(name = "carry-forked-second", category = "handover")
    static void forkedSecond() throws Throwable {
        Handover.forked(Target.self(), Target.arg(1));
        Target.proceed();
    }

    /** {@code ForkJoinTask.doExec()}. */
    @Template(name = "carry-run-forked", category = "handover")
    static void runForked() throws Throwable {
        Object before = Handover.forkedBegins(Target.self());
        try {
            Target.proceed();
        } finally {
            Handover.ends(before);
        }
    }

    /** Methods by which a thread of a fork-join pool runs tasks of others in order not to wait. */
    @Template(name = "carry-helping", category = "handover")
    static void helping() throws Throwable {
        boolean before = Contexts.beginsToHelp();
        try {
            Target.proceed();
        } finally {
            Contexts.endsHelping(before);
        }
    }

    /** Methods of a thread that start it. */
    @Template(name = "carry-start", category = "handover")
    static void start() throws Throwable {
        Handover.started(Target.self());
        Target.proceed();
    }

    /** Methods that make a virtual thread which is to be started at once. */
    @Template(name = "carry-made", category = "handover")
    static void made() throws Throwable {
        Target.proceed();
        Handover.handedOver(Target.result());
    }

    /** The method of the JDK by which a virtual thread runs what it was made for. */
    @Template(name = "carry-run-thread", category = "handover")
    static void runThread() throws Throwable {
        Handover.threadRuns();
        try {
            Target.proceed();
        } finally {
            Handover.fetches();
        }
    }

    /**
     * The method by which {@code HttpURLConnection} writes a request, each time that it does so. It may use the same headers for the next one, which a
     * redirect leads to another host.
     */
    @Template(
            name = "carry-baggage-url",
            category = "handover",
            requires = {"sun.net.www.MessageHeader", "sun.net.www.http.HttpClient"})
    static void url() throws Throwable {
        MessageHeader extended = null;
        String own = null;
        try {
            MessageHeader head = (MessageHeader) Target.arg(0);
            // What asks a proxy for a tunnel is no request of the application.
            if (!head.getKey(0).startsWith("CONNECT ")) {
                own = head.findValue("baggage");
                String header = Baggage.extended(own, ((HttpClient) Target.self()).url.getHost());
                if (header != null) {
                    head.set("baggage", header);
                    extended = head;
                }
            }
        } catch (Throwable unknown) {
            // The request is sent as the application made it.
        }
        try {
            Target.proceed();
        } finally {
            if (extended != null) {
                try {
                    if (own == null) {
                        extended.remove("baggage");
                    } else {
                        extended.set("baggage", own);
                    }
                } catch (Throwable noStack) {
                    // See above.
                }
            }
        }
    }

    /** The constructor that gets the application's request and the copy of it that {@code java.net.http.HttpClient} sends. */
    @Template(
            name = "carry-baggage-net",
            category = "handover",
            requires = {"jdk.internal.net.http.HttpRequestImpl", "jdk.internal.net.http.common.Utils"})
    static void net() throws Throwable {
        Target.proceed();
        try {
            HttpRequestImpl sent = (HttpRequestImpl) Target.arg(1);
            String own = Baggage.joined(((HttpRequest) Target.arg(0)).headers().allValues("baggage"));
            // The client takes headers of the application along to the host of a redirect, which may be one that is not named.
            boolean isForOneHost = own == null || ((java.net.http.HttpClient) Target.arg(2)).followRedirects() == Redirect.NEVER;
            String header = isForOneHost ? Baggage.extended(own, sent.uri().getHost()) : null;
            if (header != null && own == null) sent.setSystemHeader("baggage", header);
            if (header != null && own != null) {
                HttpHeaders headers = HttpHeaders.of(Baggage.with(sent.headers().map(), header), Utils.ALLOWED_HEADERS);
                Baggage.replaceHeaders(sent, headers);
            }
        } catch (Throwable unknown) {
            // The request is sent as the application made it.
        }
    }
}
