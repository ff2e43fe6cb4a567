package instr.templates;

import java.instr.Live;
import java.instr.Statements;
import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;

/** For JDBC drivers: the text of each statement that is executed. */
final class Database {
    private Database() {}

    /** Methods of {@code java.sql.Statement} whose first argument is the text. */
    @Template(name = "jdbc", category = "database")
    static void jdbc() throws Throwable {
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            Statements.exit(start, Target.id(), Target.arg(0));
        }
    }

    @Template(name = "jdbc", category = "database", live = true)
    static void jdbcLive() throws Throwable {
        long start = Live.enter(Target.id());
        try {
            Target.proceed();
        } finally {
            Statements.exitLive(start, Target.id(), Target.arg(0), Target.thrown());
        }
    }

    /** Methods of {@code java.sql.Connection} that make a prepared statement of the text in their first argument. */
    @Template(name = "jdbc-prepare", category = "database")
    static void jdbcPrepare() throws Throwable {
        Target.proceed();
        Statements.remember(Target.result(), Target.arg(0));
    }

    /** Methods of {@code java.sql.PreparedStatement} that execute what was prepared. */
    @Template(name = "jdbc-prepared", category = "database")
    static void jdbcPrepared() throws Throwable {
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            Statements.exitPrepared(start, Target.id(), Target.self());
        }
    }

    @Template(name = "jdbc-prepared", category = "database", live = true)
    static void jdbcPreparedLive() throws Throwable {
        long start = Live.enter(Target.id());
        try {
            Target.proceed();
        } finally {
            Statements.exitPreparedLive(start, Target.id(), Target.self(), Target.thrown());
        }
    }
}
