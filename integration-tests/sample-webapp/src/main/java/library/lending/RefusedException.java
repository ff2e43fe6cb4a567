package library.lending;

/** The rules of the library forbid it. */
public class RefusedException extends RuntimeException {

    public RefusedException(String reason) {
        super(reason);
    }
}
