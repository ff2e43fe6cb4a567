package targets;

/** Has a method that {@link Submitting} hands to another thread. */
final class HandedJobs {

    private HandedJobs() {}

    static int run() {
        return 3;
    }
}
