package targets;

/** Overflows its stack before any probe has run on an ordinary one, and then calls what the agent measures. */
public final class EarlyOverflow {

    private EarlyOverflow() {}

    public static void main(String[] args) throws InterruptedException {
        try {
            deep(0);
        } catch (StackOverflowError expected) {
            System.out.println("overflow");
        }
        work();
        System.out.println("went on");
    }

    private static int deep(int depth) {
        return deep(depth + 1) + 1;
    }

    private static void work() throws InterruptedException {
        // Ten ticks: some of them come in time on a busy machine, too.
        Thread.sleep(200);
    }
}
