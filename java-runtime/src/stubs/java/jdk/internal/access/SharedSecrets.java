package jdk.internal.access;

/** What the runtime uses of the JDK's own class; only compiled against, never packaged. */
public final class SharedSecrets {
    private SharedSecrets() {}

    public static native JavaLangAccess getJavaLangAccess();
}
