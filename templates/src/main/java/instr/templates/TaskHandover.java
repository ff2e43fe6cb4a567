package instr.templates;

import java.instr.Target;
import java.instr.Tasks;
import java.instr.Template;

/**
 * For what hands tasks from one thread to another, and for what runs them there: so a call and what it has others do are one
 * transaction. None of them records a call.
 */
final class TaskHandover {
    private TaskHandover() {}

    /** Methods that take a task as their first argument and have another thread run it. */
    @Template(name = "task-argument", category = "transaction")
    static void taskArgument() throws Throwable {
        Tasks.handedOver(Target.arg(0));
        Target.proceed();
    }

    /** Methods of a task by which it is put where another thread finds it. */
    @Template(name = "task-self", category = "transaction")
    static void taskSelf() throws Throwable {
        Tasks.handedOver(Target.self());
        Target.proceed();
    }

    /** Methods that run a task, which is their first argument. */
    @Template(name = "task-run-argument", category = "transaction")
    static void taskRunArgument() throws Throwable {
        boolean begun = Tasks.begins(Target.arg(0));
        try {
            Target.proceed();
        } finally {
            if (begun) Tasks.ends();
        }
    }

    /** Methods of a task by which it is run, {@code run()} for instance. */
    @Template(name = "task-run-self", category = "transaction")
    static void taskRunSelf() throws Throwable {
        boolean begun = Tasks.begins(Target.self());
        try {
            Target.proceed();
        } finally {
            if (begun) Tasks.ends();
        }
    }

    /** Methods that fetch a worker's next task: what it did before is over. */
    @Template(name = "task-fetch", category = "transaction")
    static void taskFetch() throws Throwable {
        Tasks.ends();
        Target.proceed();
        Tasks.begins(Target.result());
    }

    /** The loop of a worker, which is the first argument; it may bring its first task along, in a field {@code firstTask}. */
    @Template(name = "task-worker", category = "transaction")
    static void taskWorker() throws Throwable {
        Tasks.workerBegins(Target.arg(0));
        try {
            Target.proceed();
        } finally {
            Tasks.ends();
        }
    }

    /** Methods of {@link java.util.concurrent.ForkJoinPool} whose first argument is the task. */
    @Template(name = "task-forked", category = "transaction")
    static void taskForked() throws Throwable {
        Tasks.handedOver(Target.self(), Target.arg(0));
        Target.proceed();
    }

    /** Methods of {@link java.util.concurrent.ForkJoinPool} whose second argument is the task. */
    @Template(name = "task-forked-second", category = "transaction")
    static void taskForkedSecond() throws Throwable {
        Tasks.handedOver(Target.self(), Target.arg(1));
        Target.proceed();
    }

    /** {@code ForkJoinTask.doExec()}. */
    @Template(name = "task-run-forked", category = "transaction")
    static void taskRunForked() throws Throwable {
        boolean begun = Tasks.forkedBegins(Target.self());
        try {
            Target.proceed();
        } finally {
            if (begun) Tasks.ends();
        }
    }

    /** Methods of a thread that start it. */
    @Template(name = "thread-start", category = "transaction")
    static void threadStart() throws Throwable {
        Tasks.threadStarts(Target.self());
        Target.proceed();
    }

    /** Methods that make a thread which is to be started at once. */
    @Template(name = "thread-made", category = "transaction")
    static void threadMade() throws Throwable {
        Target.proceed();
        Tasks.threadStarts(Target.result());
    }
}
