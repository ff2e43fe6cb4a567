package orders;

import java.io.StringReader;
import java.io.StringWriter;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/** Executes statements in all ways that PostgreSQL's driver has; prints what the server was asked to execute. */
public final class Orders {

    private Orders() {}

    /** Arguments: the address of a real server with its tables ({@code orders.sql}), user and password; none for the small server. */
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", arguments.length > 1 ? arguments[1] : "clerk");
        properties.setProperty("password", arguments.length > 2 ? arguments[2] : "");
        properties.setProperty("sslmode", "disable");
        properties.setProperty("gssEncMode", "disable");
        if (arguments.length > 0) {
            try (Connection connection = DriverManager.getConnection(arguments[0], properties)) {
                work(connection);
            }
            return;
        }
        try (Server server = new Server()) {
            try (Connection connection = DriverManager.getConnection(server.url(), properties)) {
                work(connection);
            }
            server.executed().forEach((text, times) -> System.out.println(times + " " + text.replace('\n', ' ')));
        }
    }

    private static void work(Connection connection) throws Exception {
        plain(connection);
        prepared(connection);
        batches(connection);
        inPortions(connection);
        copies(connection);
        if (!connection.isValid(10)) {
            throw new IllegalStateException("the connection is closed");
        }
    }

    private static void plain(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            rows(statement.executeQuery("SELECT name FROM item"));
            statement.executeUpdate("UPDATE item SET price = 1");
            statement.executeLargeUpdate("UPDATE item SET price = 2");
            statement.execute("UPDATE item SET price = 3");
            statement.executeUpdate("INSERT INTO item VALUES ('key')", Statement.RETURN_GENERATED_KEYS);
            try {
                statement.executeQuery("fail at once");
            } catch (SQLException expected) {
                System.out.println(expected.getSQLState());
            }
        }
    }

    /** The driver has the server remember a statement from its fifth execution on. */
    private static void prepared(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT name FROM item WHERE name = ?")) {
            for (int i = 0; i < 8; i++) {
                statement.setString(1, "row");
                rows(statement.executeQuery());
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("UPDATE item SET price = 4 WHERE name = ?")) {
            statement.setString(1, "row");
            statement.executeUpdate();
            statement.executeLargeUpdate();
            statement.execute();
        }
        try (CallableStatement statement = connection.prepareCall("{call audit(?)}")) {
            statement.setString(1, "row");
            statement.execute();
        }
    }

    private static void batches(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.addBatch("UPDATE item SET price = 5");
            statement.addBatch("UPDATE item SET price = 6");
            statement.executeBatch();
        }
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO item VALUES (?)")) {
            for (int i = 0; i < 3; i++) {
                statement.setString(1, "small");
                statement.addBatch();
            }
            statement.executeBatch();
            for (int i = 0; i < 4; i++) {
                statement.setString(1, "large");
                statement.addBatch();
            }
            statement.executeLargeBatch();
        }
    }

    private static void inPortions(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(2);
            rows(statement.executeQuery("SELECT name FROM item LIMIT 3"));
        }
        connection.commit();
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM item");
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    private static void copies(Connection connection) throws Exception {
        CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
        copies.copyIn("COPY item (name) FROM STDIN", new StringReader("one\ntwo\n"));
        copies.copyOut("COPY (SELECT name FROM item LIMIT 2) TO STDOUT", new StringWriter());
    }

    private static void rows(ResultSet rows) throws SQLException {
        while (rows.next()) {
            rows.getString(1);
        }
    }
}
