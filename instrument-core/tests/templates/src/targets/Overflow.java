package targets;

/** Recursion without an end. However deep it gets, it must end, do the same and leave no lock. */
public final class Overflow {
    private static final Object LOCK = new Object();

    private Overflow() {}

    static int plain(int number) {
        return plain(number + 1) + 1;
    }

    static int locked(int number) {
        synchronized (LOCK) {
            return locked(number + 1) + 1;
        }
    }

    static int cleaned(int number) {
        try {
            return cleaned(number + 1) + 1;
        } catch (IllegalStateException e) {
            return 7;
        } finally {
            synchronized (LOCK) {
                number++;
            }
        }
    }

    static String ends(int number) {
        String text = "";
        for (int way = 0; way < 3; way++) {
            try {
                text += way == 0 ? plain(number) : way == 1 ? locked(number) : cleaned(number);
            } catch (StackOverflowError e) {
                text += "overflow" + Thread.holdsLock(LOCK);
            }
        }
        return text;
    }
}
