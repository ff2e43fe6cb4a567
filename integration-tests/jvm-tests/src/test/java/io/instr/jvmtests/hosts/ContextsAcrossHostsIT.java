package io.instr.jvmtests.hosts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import java.util.Map;

/** Requests tell another JVM inside which context they were sent, against what both programs see. */
class ContextsAcrossHostsIT {

    private static final String NAME = "slow-orders";
    /** The application's own header. */
    private static final String OWN = "tenant=7;x=1,user=a%20b";
    private static final String CONDITION = "baggage.instr = '" + NAME + "'";
    private static final String SENDING = "{\"ask\":\"probe\",\"methods\":\"shop.Orders.request\",\"within\":\"shop.Orders.order\","
            + "\"across_hosts\":\"" + NAME + "\",\"seconds\":600}";
    private static final String RECEIVING = "{\"ask\":\"probe\",\"methods\":\"shop.Stock.work\",\"when\":\"" + CONDITION + "\",\"seconds\":600}";
    /** {@code walk 300}: 200 inside, of which 28 to a host that is not named. */
    private static final String WALKED = "inside 200 carried 172 wrong 0";

    @EachJdk
    void exactlyTheRequestsInsideTheContextAreRecordedInTheOtherJvm(Jdk jdk) throws Exception {
        TwoJvms both = TwoJvms.start(jdk, TwoJvms.TO_STOCK, TwoJvms.FROM_ORDERS);
        try (both) {
            String made = ControlSocket.ask(both.orders(), SENDING);
            assertTrue(made.contains("\"methods\":1,") && made.contains("\"waiting\":[]") && made.contains("\"refused\":[]"), made);
            String received = ControlSocket.ask(both.stock(), RECEIVING);
            assertTrue(received.contains("\"methods\":1,"), received);
            assertEquals(WALKED, both.orders().ask("walk 300 " + NAME));
            String claims = ControlSocket.ask(both.orders(), "{\"ask\":\"claims\"}");
            String figures = "{\"entry\":\"instr=" + NAME + "\",\"sent\":172,\"elsewhere\":28,\"too_long\":0}";
            assertTrue(claims.contains("\"baggage\":" + figures), claims);
            assertEquals("found  |  | " + OWN, both.orders().ask("moved"), "a redirect leads to a host that is not named");
            remove(both.orders(), (long) ControlSocket.number(made, "claim"));
            assertEquals("inside 200 carried 0 wrong 0", both.orders().ask("walk 300 -"));
            both.quit();
        }
        assertEquals(Map.of("timed inside shop.Orders.order across hosts as " + NAME, 203L), TwoJvms.recorded(both.ofOrders()));
        assertEquals(Map.of("timed inside *.servlet.http.HttpServlet.service when " + CONDITION, 172L), TwoJvms.recorded(both.ofStock()));
    }

    /** The clients are the JDK's own again when the last such claim has ended. */
    @EachJdk(having = "jdb", oldestAndNewest = true)
    void theClientsAreChangedOnlyAsLongAsAContextReachesOtherHosts(Jdk jdk) throws Exception {
        LoadedBytes loaded = LoadedBytes.atFreePort();
        LoadedBytes byUrl = loaded.ofClasses("sun.net.www.http.HttpClient");
        LoadedBytes byClient = loaded.ofClasses("jdk.internal.net.http.MultiExchange");
        try (TwoJvms both = TwoJvms.start(jdk, TwoJvms.TO_STOCK, TwoJvms.FROM_ORDERS, loaded.option(), "-Dnothing")) {
            Map<String, String> original = byUrl.methods();
            Map<String, String> originalClient = byClient.methods();
            long first = (long) ControlSocket.number(ControlSocket.ask(both.orders(), SENDING), "claim");
            long second = (long) ControlSocket.number(ControlSocket.ask(both.orders(), SENDING.replace("600", "500")), "claim");
            remove(both.orders(), first);
            assertEquals(WALKED, both.orders().ask("walk 300 " + NAME));
            assertTrue(!original.equals(byUrl.methods()) && !originalClient.equals(byClient.methods()));
            remove(both.orders(), second);
            assertEquals(original, byUrl.methods());
            assertEquals(originalClient, byClient.methods());
            both.quit();
        }
    }

    /** In the configuration, for conditions of the configuration. */
    @EachJdk(oldestAndNewest = true)
    void contextsOfTheConfigurationReachOtherHosts(Jdk jdk) throws Exception {
        String sending = "[[context]]\nin = \"shop.Orders.order\"\nmethods = \"shop.Orders.request\"\nacross-hosts = \"" + NAME + "\"\n";
        String receiving = "[[context]]\nmethods = \"shop.Stock.work\"\nwhen = \"" + CONDITION + "\"\n";
        // The program has sent 20 requests before it was ready: 13 inside, of which two to the other name of the host.
        TwoJvms both = TwoJvms.start(jdk, TwoJvms.TO_STOCK + sending, TwoJvms.FROM_ORDERS + receiving);
        try (both) {
            assertEquals(WALKED, both.orders().ask("walk 300 " + NAME));
            both.quit();
        }
        assertEquals(213L, TwoJvms.recorded(both.ofOrders()).values().iterator().next());
        assertEquals(172L + 13 - 2, TwoJvms.recorded(both.ofStock()).values().iterator().next());
    }

    /** A task takes its context along, and its requests carry it. */
    @EachJdk(oldestAndNewest = true)
    void requestsOfTasksCarryTheContextIfItReachesAcrossThreads(Jdk jdk) throws Exception {
        String pooled = SENDING.replace("Orders.order", "Orders.pooled");
        try (TwoJvms both = TwoJvms.start(jdk, TwoJvms.TO_STOCK, TwoJvms.FROM_ORDERS)) {
            String made = ControlSocket.ask(both.orders(), pooled);
            assertEquals("found  ", both.orders().ask("pooled"), "without the option the task is outside");
            remove(both.orders(), (long) ControlSocket.number(made, "claim"));
            ControlSocket.ask(both.orders(), pooled.replace("\"seconds\"", "\"across_threads\":true,\"seconds\""));
            assertEquals("found instr=" + NAME + " instr=" + NAME, both.orders().ask("pooled"));
            both.quit();
        }
    }

    @EachJdk(oldestAndNewest = true)
    void bothJvmsMustAllowIt(Jdk jdk) throws Exception {
        TwoJvms both = TwoJvms.start(jdk, "", "");
        try (both) {
            String refused = ControlSocket.ask(both.orders(), SENDING);
            assertTrue(refused.contains("\"error\"") && refused.contains("`baggage-to` in [conditions]"), refused);
            refused = ControlSocket.ask(both.stock(), RECEIVING);
            assertTrue(refused.contains("\"error\"") && refused.contains("`baggage-from` in [conditions]"), refused);
            refused = ControlSocket.ask(both.orders(), SENDING.replace("\"within\":\"shop.Orders.order\",", ""));
            assertTrue(refused.contains("there is no context of which requests could tell other hosts"), refused);
            refused = ControlSocket.ask(both.orders(), SENDING.replace(NAME, "a,b=c"));
            assertTrue(refused.contains("letters, digits"), refused);
            assertEquals("inside 200 carried 0 wrong 0", both.orders().ask("walk 300 -"));
            both.quit();
        }
        assertEquals(Map.of(), TwoJvms.recorded(both.ofOrders()));
    }

    private static void remove(Dialog program, long claim) {
        String removed = ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + claim + "}");
        assertTrue(removed.contains("\"methods\""), removed);
    }
}
