package targets;

/** Methods that are left in every way there is. */
final class Exits {
    /** True while a thread is inside {@link #waits}. */
    static volatile boolean waiting;

    static volatile boolean released;

    private Exits() {}

    static int returns(int number) {
        return number > 0 ? number : -number;
    }

    static int throwsItself(int number) {
        throw new IllegalStateException("own " + number);
    }

    static int calleeThrows(String text) {
        return Integer.parseInt(text);
    }

    static int overflows() {
        return RunExits.deeper(0);
    }

    /** Returns only if it is released; stopped before, it is left by an exception that none of its instructions throws. */
    static void waits() {
        waiting = true;
        while (!released) {
            Thread.yield();
        }
    }
}
