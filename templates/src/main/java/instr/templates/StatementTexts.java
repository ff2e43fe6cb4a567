package instr.templates;

import java.instr.Target;
import java.instr.Template;

/** Statements of JDBC of which a diagnosis wants the texts. They record nothing, and rules cannot use them. */
final class StatementTexts {
    private StatementTexts() {}

    /** Methods whose first argument is the text. */
    @Template(name = "statement-text", category = "diagnosis")
    static void statementText() throws Throwable {
        long start = java.instr.StatementTexts.enter();
        try {
            Target.proceed();
        } finally {
            java.instr.StatementTexts.exit(start, Target.arg(0));
        }
    }

    /** Methods that execute what was prepared. */
    @Template(name = "prepared-statement-text", category = "diagnosis")
    static void preparedStatementText() throws Throwable {
        long start = java.instr.StatementTexts.enter();
        try {
            Target.proceed();
        } finally {
            java.instr.StatementTexts.exitPrepared(start, Target.self());
        }
    }

    /** Methods that make a prepared statement of the text in their first argument. */
    @Template(name = "preparing-statement-text", category = "diagnosis")
    static void preparingStatementText() throws Throwable {
        Target.proceed();
        java.instr.StatementTexts.remember(Target.result(), Target.arg(0));
    }
}
