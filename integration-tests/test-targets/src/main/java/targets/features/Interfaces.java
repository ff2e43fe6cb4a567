package targets.features;

import targets.Calls;

/** Methods with a body in interfaces: default, static, private, private static. */
final class Interfaces {

    private static final String PREFIX = "targets.features.Interfaces$Greeter.";

    private Interfaces() {}

    static String run() {
        Greeter plain = () -> "plain";
        return plain.greet(2) + " " + new Polite().greet(1) + " " + Greeter.of("made").greet(3) + " " + new Both().greet(1);
    }

    interface Greeter {

        String name();

        default String greet(int times) {
            Calls.one(PREFIX + "greet");
            return repeat(name(), times) + decorate();
        }

        static Greeter of(String name) {
            Calls.one(PREFIX + "of");
            return () -> name;
        }

        private String decorate() {
            Calls.one(PREFIX + "decorate");
            return "!" + name().length();
        }

        private static String repeat(String text, int times) {
            Calls.one(PREFIX + "repeat");
            return text.repeat(times);
        }
    }

    interface Loud extends Greeter {

        @Override
        default String greet(int times) {
            return Greeter.super.greet(times).toUpperCase();
        }
    }

    static final class Polite implements Greeter {

        @Override
        public String name() {
            return "polite";
        }
    }

    static final class Both implements Loud, Greeter {

        @Override
        public String name() {
            return "both";
        }
    }
}
