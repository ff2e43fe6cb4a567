package greeter;

/** In a named module that is exported to one other only. */
public final class Greeter {

    private Greeter() {}

    public static String greet(String name) {
        return Hidden.decorate(name);
    }

    private static final class Hidden {

        private Hidden() {}

        static String decorate(String name) {
            return "hello " + name + " from " + Hidden.class.getModule();
        }
    }
}
