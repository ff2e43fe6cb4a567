package java.instr;

import jdk.internal.access.JavaLangAccess;
import jdk.internal.access.SharedSecrets;

/**
 * The thread that carries the present virtual thread (JDK 21 and later). A virtual thread is never unmounted inside a probe,
 * so a ring of the carrier still has one writer, and ten thousand virtual threads need no more memory than their carriers.
 */
final class Carrier {
    private static final JavaLangAccess ACCESS = SharedSecrets.getJavaLangAccess();

    private Carrier() {}

    static Thread current() {
        return ACCESS.currentCarrierThread();
    }
}
