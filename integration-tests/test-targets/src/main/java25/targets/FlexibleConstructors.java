package targets;

/** Statements before super() and this(), as JDK 25 allows. Compiled by the test with the JDK under test. */
public final class FlexibleConstructors {

    private FlexibleConstructors() {}

    public static void main(String[] arguments) {
        for (int n = -1; n < 4; n++) {
            try {
                System.out.println(new Derived(n).text());
            } catch (IllegalArgumentException refused) {
                System.out.println(refused.getMessage());
            }
        }
    }

    static class Base {

        private final String text;

        Base(String text) {
            this.text = text + describe();
        }

        String describe() {
            return "base";
        }

        String text() {
            return text;
        }
    }

    static final class Derived extends Base {

        private final int number;

        Derived(int n) {
            if (n < 0) {
                throw new IllegalArgumentException("refused before super");
            }
            int sum = 0;
            for (int i = 0; i <= n; i++) {
                sum += i;
            }
            String label;
            try {
                label = "at" + 6 / n;
            } catch (ArithmeticException zero) {
                label = "zero";
            }
            number = sum;
            super(label);
            if (n == 3) {
                throw new IllegalArgumentException("refused after super");
            }
        }

        @Override
        String describe() {
            return " derived" + number;
        }
    }
}
