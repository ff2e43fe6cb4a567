package instr.templates;

import java.instr.Live;
import java.instr.Nesting;
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
        Nesting nesting = Nesting.current();
        long start = Timer.enter();
        int found = nesting.statements;
        nesting.statements = found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.statements = found;
            Statements.exit(start, Target.id(), Target.arg(0), Target.thrown(), nesting, found);
        }
    }

    @Template(name = "jdbc", category = "database", live = true)
    static void jdbcLive() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Live.enter(Target.id());
        int found = nesting.statements;
        nesting.statements = start == 0L ? found : found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.statements = found;
            Statements.exitLive(start, Target.id(), Target.arg(0), Target.thrown(), nesting, found);
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
        Nesting nesting = Nesting.current();
        long start = Timer.enter();
        int found = nesting.statements;
        nesting.statements = found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.statements = found;
            Statements.exitPrepared(start, Target.id(), Target.self(), Target.thrown(), nesting, found);
        }
    }

    @Template(name = "jdbc-prepared", category = "database", live = true)
    static void jdbcPreparedLive() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Live.enter(Target.id());
        int found = nesting.statements;
        nesting.statements = start == 0L ? found : found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.statements = found;
            Statements.exitPreparedLive(start, Target.id(), Target.self(), Target.thrown(), nesting, found);
        }
    }
}
