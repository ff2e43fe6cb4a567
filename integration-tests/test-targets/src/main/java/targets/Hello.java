package targets;

/** The smallest program with something to instrument. */
public final class Hello {

    private Hello() {}

    public static void main(String[] names) {
        for (int i = 0; i < 3; i++) {
            System.out.println(greet(i, names.length == 0 ? "world" : names[0]));
        }
    }

    static String greet(int number, String name) {
        return number + " hello " + name;
    }
}
