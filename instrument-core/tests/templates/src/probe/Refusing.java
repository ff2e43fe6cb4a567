package probe;

/** An exception class that only the target's loader sees; templates must name it in {@code requires}. */
public final class Refusing extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Refusing(String message) {
        super(message);
    }
}
