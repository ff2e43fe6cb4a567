package jdk.internal.access;

/** What the runtime uses of the JDK's own interface (the method: JDK 21 and later); only compiled against, never packaged. */
public interface JavaLangAccess {
    Thread currentCarrierThread();
}
