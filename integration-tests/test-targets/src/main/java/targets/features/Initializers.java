package targets.features;

/** Static initialisers: the order in which they run, and one that fails. */
final class Initializers {

    private static final StringBuilder ORDER = new StringBuilder();

    private Initializers() {}

    static String run() {
        int constant = Lazy.CONSTANT;
        ORDER.append('-');
        int value = Lazy.value;
        return ORDER + " " + (constant + value) + " " + failing() + " " + failing();
    }

    private static String failing() {
        try {
            return "value" + Failing.value;
        } catch (ExceptionInInitializerError thrown) {
            return thrown.getCause().getMessage();
        } catch (NoClassDefFoundError thrown) {
            return "not again";
        }
    }

    static class Parent {
        static {
            ORDER.append("parent ");
        }
    }

    static final class Lazy extends Parent {

        static final int CONSTANT = 1;
        static int value;

        static {
            ORDER.append("lazy");
            for (int i = 0; i < 4; i++) {
                value += i;
            }
        }
    }

    static final class Failing {

        static int value;

        static {
            value = Integer.parseInt("7");
            if (value == 7) {
                throw new IllegalStateException("failed");
            }
        }
    }
}
