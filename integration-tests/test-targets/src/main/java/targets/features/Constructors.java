package targets.features;

import targets.Calls;

/** Constructors that throw on either side of {@code super()}, chains, branches before {@code super()}, initialisers. */
final class Constructors {

    private static final String PREFIX = "targets.features.Constructors$";

    private Constructors() {}

    static String run() {
        StringBuilder out = new StringBuilder();
        for (int n = -1; n <= 3; n++) {
            out.append(outcome(n)).append(' ');
        }
        out.append(new Chain().text).append(' ');
        out.append(new Chain(4L).text).append(' ');
        out.append(new Branching(5, null).value).append(new Branching(-5, "x").value).append(' ');
        out.append(new Constructors().new Inner(7).sum()).append(' ');
        out.append(anonymous(3)).append(' ');
        out.append(nested());
        return out.toString();
    }

    private static String outcome(int n) {
        try {
            return "made" + new Derived(n).number;
        } catch (RuntimeException thrown) {
            return thrown.getMessage();
        }
    }

    static class Base {

        final int number;

        Base(int number) {
            Calls.one(PREFIX + "Base.<init>");
            if (number == 1) {
                throw new IllegalArgumentException("in-base");
            }
            this.number = number;
        }
    }

    static final class Derived extends Base {

        private int initialised = 10;

        {
            initialised++;
        }

        Derived(int number) {
            super(check(number));
            Calls.one(PREFIX + "Derived.<init>");
            if (number == 2) {
                throw new IllegalStateException("after-super" + initialised);
            }
            try {
                initialised /= number;
            } catch (ArithmeticException caught) {
                initialised = -1;
            } finally {
                initialised++;
            }
        }

        /** Evaluated before super(). */
        static int check(int number) {
            Calls.one(PREFIX + "Derived.check");
            if (number < 0) {
                throw new IllegalArgumentException("before-super");
            }
            return number;
        }
    }

    static final class Chain {

        private final String text;

        Chain() {
            this(3L);
            Calls.one(PREFIX + "Chain.<init>");
        }

        Chain(long n) {
            this(n, n * 0.5);
            Calls.one(PREFIX + "Chain.<init>");
        }

        Chain(long n, double d) {
            Calls.one(PREFIX + "Chain.<init>");
            this.text = n + "/" + d;
        }
    }

    static final class Branching extends Base {

        private final String value;

        /** Branches, a call and a new object stand before super(), with uninitializedThis in the frames. */
        Branching(int n, String text) {
            super(n > 0 ? Math.abs(n) + 2 : text == null ? -1 : new StringBuilder(text).append(n).length());
            this.value = n > 0 ? "positive" : "negative";
        }
    }

    final class Inner {

        private final int n;

        Inner(int n) {
            this.n = n;
        }

        int sum() {
            return n + outer();
        }
    }

    private int outer() {
        return 100;
    }

    private static int anonymous(int captured) {
        Base base = new Base(captured) {
            private final int doubled = 2 * captured;

            @Override
            public int hashCode() {
                return doubled + number;
            }
        };
        return base.hashCode();
    }

    /** An object is created while another one's arguments are being evaluated, inside a try. */
    private static String nested() {
        try {
            return new Chain(new Derived(new Base(3).number).number, new Derived(2).number).text;
        } catch (IllegalStateException thrown) {
            return "nested-" + thrown.getMessage();
        }
    }
}
