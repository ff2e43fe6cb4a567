package orders;

/** Amounts of money as text. */
final class Prices {

    private Prices() {}

    static String text(long cents) {
        return cents / 100 + "." + cents / 10 % 10 + cents % 10;
    }
}
