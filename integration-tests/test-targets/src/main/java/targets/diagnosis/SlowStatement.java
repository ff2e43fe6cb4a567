package targets.diagnosis;

import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Searches a database; one search in four takes 30 ms instead of 1, in one of its statements. Answers the lines of {@link CallLoop}, and {@code way NAME}: how that
 * statement is executed. The driver has to be on the class path.
 */
public final class SlowStatement {

    private static final String[] NODES = {"quick", "statement"};
    private static final int QUICK = 0;
    private static final int STATEMENT = 1;
    private static final int LANES = 2;
    private static final int SLOW_MILLIS = 27;
    private static final long RARE_NANOS = 60_000_000;
    private static final String SEARCH = "SELECT NAME FROM ORDERS\n WHERE CUSTOMER = 'secret' AND PAUSE(";
    private static final String PREPARED = "SELECT ID FROM ORDERS WHERE CUSTOMER = ? AND PAUSE(?) < 4711";

    private static final Connection[] CONNECTIONS = new Connection[LANES];
    /** Prepared before any diagnosis. */
    private static final PreparedStatement[] KEPT = new PreparedStatement[LANES];

    private static volatile String way = "plain";

    private SlowStatement() {}

    public static void main(String[] arguments) throws IOException, SQLException {
        for (int lane = 0; lane < LANES; lane++) {
            CONNECTIONS[lane] = DriverManager.getConnection("jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1");
            try (Statement statement = CONNECTIONS[lane].createStatement()) {
                statement.execute("CREATE TABLE IF NOT EXISTS ORDERS (ID INT, NAME VARCHAR, CUSTOMER VARCHAR)");
                statement.execute("INSERT INTO ORDERS SELECT 1, 'one', 'secret' WHERE NOT EXISTS (SELECT 1 FROM ORDERS)");
                statement.execute("CREATE ALIAS IF NOT EXISTS PAUSE FOR \"targets.diagnosis.SlowStatement.pause\"");
            }
            KEPT[lane] = CONNECTIONS[lane].prepareStatement(PREPARED);
        }
        CallTruth[] truths = {new CallTruth("search", NODES)};
        for (String one : new String[] {"prepared", "kept", "plain"}) {
            way = one;
            search(CallLoop.trial(0, truths[0], 0, true));
        }
        CallLoop.run(new CallLoop.Root[] {SlowStatement::search}, truths, SlowStatement::answer);
    }

    private static String answer(String line) {
        if (!line.startsWith("way ")) {
            return "? " + line;
        }
        way = line.substring("way ".length());
        return "ok";
    }

    /** Called by the database. */
    public static int pause(int millis) throws InterruptedException {
        Thread.sleep(millis);
        return millis;
    }

    static void search(RootCall call) {
        try {
            long start = System.nanoTime();
            quick(call);
            call.took(QUICK, start);
            start = System.nanoTime();
            find(call, call.slow ? SLOW_MILLIS : 0);
            call.took(STATEMENT, start);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void quick(RootCall call) throws SQLException {
        try (Statement statement = CONNECTIONS[call.lane].createStatement(); ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM ORDERS WHERE ID > 12")) {
            rows.next();
        }
    }

    private static void find(RootCall call, int millis) throws SQLException {
        switch (way) {
            case "prepared":
                try (PreparedStatement statement = CONNECTIONS[call.lane].prepareStatement(PREPARED)) {
                    execute(statement, millis);
                }
                break;
            case "rare":
                Pauses.park(RARE_NANOS);
                try (PreparedStatement statement = CONNECTIONS[call.lane].prepareStatement(PREPARED)) {
                    execute(statement, millis);
                }
                break;
            case "kept":
                execute(KEPT[call.lane], millis);
                break;
            default:
                // Each has another text; a cache of the database would spare the pause.
                String text = SEARCH + millis + ") <> " + call.number;
                try (Statement statement = CONNECTIONS[call.lane].createStatement(); ResultSet rows = statement.executeQuery(text)) {
                    rows.next();
                }
        }
    }

    private static void execute(PreparedStatement statement, int millis) throws SQLException {
        statement.setString(1, "secret");
        statement.setInt(2, millis);
        try (ResultSet rows = statement.executeQuery()) {
            rows.next();
        }
    }
}
