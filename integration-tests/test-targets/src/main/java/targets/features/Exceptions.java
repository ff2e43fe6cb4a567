package targets.features;

import java.io.IOException;
import targets.Calls;

/** try, catch and finally in each other, with every way out. */
final class Exceptions {

    private static final String PREFIX = "targets.features.Exceptions.";

    private Exceptions() {}

    static String run() throws IOException {
        StringBuilder out = new StringBuilder();
        for (int way = 0; way < 7; way++) {
            StringBuilder steps = new StringBuilder();
            try {
                out.append(nested(way, steps));
            } catch (IOException | RuntimeException thrown) {
                out.append(thrown.getClass().getSimpleName());
            }
            out.append(steps).append(' ');
        }
        out.append(overriding()).append(' ').append(resources()).append(' ').append(sameThrowable()).append(' ');
        out.append(retries(5)).append(' ').append(multi("12") + multi("x") + multi(null)).append(' ').append(passThrough());
        return out.toString();
    }

    static int nested(int way, StringBuilder steps) throws IOException {
        Calls.one(PREFIX + "nested");
        try {
            steps.append('a');
            try {
                return step(way, steps);
            } catch (IllegalArgumentException thrown) {
                steps.append('b');
                if (way == 2) {
                    throw new IllegalStateException(thrown);
                }
                return 20;
            } finally {
                steps.append('c');
                if (way == 3) {
                    throw new IOException("from finally");
                }
            }
        } catch (IllegalStateException thrown) {
            steps.append('d');
            return 30;
        } finally {
            steps.append('e');
        }
    }

    static int step(int way, StringBuilder steps) throws IOException {
        Calls.one(PREFIX + "step");
        switch (way) {
            case 1:
            case 2:
                throw new IllegalArgumentException();
            case 4:
                throw new IOException("checked");
            case 5:
                throw new IllegalStateException();
            case 6:
                throw new UnsupportedOperationException();
            default:
                steps.append('s');
                return 10;
        }
    }

    @SuppressWarnings("finally")
    static int overriding() {
        Calls.one(PREFIX + "overriding");
        try {
            throw new IllegalStateException("lost");
        } finally {
            return 5;
        }
    }

    private static String resources() {
        StringBuilder log = new StringBuilder();
        try (Resource first = new Resource("1", log, false);
                Resource second = new Resource("2", log, true)) {
            log.append(first.name).append(second.name);
            throw new IllegalStateException("body");
        } catch (IllegalStateException thrown) {
            return log.append(thrown.getMessage()).append(thrown.getSuppressed().length).toString();
        }
    }

    /** The very object that was thrown must arrive, with its own trace and nothing added to it. */
    private static boolean sameThrowable() {
        RuntimeException thrown = new RuntimeException("one");
        StackTraceElement[] trace = thrown.getStackTrace();
        try {
            rethrow(thrown);
            return false;
        } catch (RuntimeException caught) {
            return caught == thrown && caught.getStackTrace().length == trace.length && caught.getSuppressed().length == 0;
        }
    }

    static void rethrow(RuntimeException thrown) {
        Calls.one(PREFIX + "rethrow");
        try {
            throw thrown;
        } catch (IllegalStateException other) {
            throw new AssertionError(other);
        }
    }

    private static int retries(int limit) {
        int tries = 0;
        while (true) {
            try {
                if (++tries < limit) {
                    throw new IOException();
                }
                return tries;
            } catch (IOException again) {
                continue;
            } finally {
                tries += 0;
            }
        }
    }

    private static int multi(String text) {
        try {
            return Integer.parseInt(text) + text.length();
        } catch (NumberFormatException | NullPointerException thrown) {
            return thrown instanceof NullPointerException ? 2 : 1;
        }
    }

    private static String passThrough() {
        try {
            through(4);
            return "none";
        } catch (Error thrown) {
            return thrown.getMessage();
        }
    }

    static void through(int depth) {
        Calls.one(PREFIX + "through");
        if (depth == 0) {
            throw new Error("deep");
        }
        through(depth - 1);
    }

    static final class Resource implements AutoCloseable {

        private final String name;
        private final StringBuilder log;
        private final boolean failing;

        Resource(String name, StringBuilder log, boolean failing) {
            this.name = name;
            this.log = log;
            this.failing = failing;
        }

        @Override
        public void close() {
            log.append("close").append(name);
            if (failing) {
                throw new IllegalArgumentException("close");
            }
        }
    }
}
