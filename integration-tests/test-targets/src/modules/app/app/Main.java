package app;

import greeter.Greeter;

/** The main class of a named module that exports nothing. */
public final class Main {

    private Main() {}

    public static void main(String[] arguments) {
        for (int i = 0; i < 3; i++) {
            System.out.println(line(i));
        }
        System.out.println(Main.class.getModule().getDescriptor().requires().size());
    }

    static String line(int number) {
        return Greeter.greet("reader " + number);
    }
}
