package java.instr;

import jdk.internal.misc.CarrierThreadLocal;

/**
 * The ring of each carrier thread (JDK 21 and later). A virtual thread is never unmounted inside a probe, so a ring still
 * has one writer, and ten thousand virtual threads need no more memory than their carriers.
 */
final class CarrierRings extends CarrierThreadLocal<Ring> {
    static {
        Recorder.carrierRings = new CarrierRings();
    }

    @Override
    protected Ring initialValue() {
        return Recorder.openRing();
    }
}
