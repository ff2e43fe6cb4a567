package java.instr;

/** The ring of each thread, on JDKs without virtual threads. */
final class ThreadRings extends ThreadLocal<Ring> {
    @Override
    protected Ring initialValue() {
        return Recorder.openRing();
    }
}
