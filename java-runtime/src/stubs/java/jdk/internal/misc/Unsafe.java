package jdk.internal.misc;

/** What the runtime uses of the JDK's own class; only compiled against, never packaged. */
public final class Unsafe {
    private Unsafe() {}

    public static native Unsafe getUnsafe();

    public native long objectFieldOffset(Class<?> type, String field);

    public native long getLong(Object object, long offset);

    public native byte getByte(long address);

    public native short getShort(long address);

    public native int getInt(Object object, long offset);

    public native Object getReference(Object object, long offset);

    /** The name of {@link #getReference} before JDK 12. */
    public native Object getObject(Object object, long offset);

    public native void putReference(Object object, long offset, Object value);

    /** The name of {@link #putReference} before JDK 12. */
    public native void putObject(Object object, long offset, Object value);

    public native int getInt(long address);

    public native void putInt(long address, int value);

    public native int getAndAddInt(Object object, long offset, int delta);

    public native long getLong(long address);

    public native void putLong(long address, long value);

    public native void putByte(long address, byte value);

    public native boolean compareAndSetLong(Object object, long offset, long expected, long value);

    public native long getAndAddLong(Object object, long offset, long delta);

    public native void ensureClassInitialized(Class<?> type);

    public native long allocateMemory(long bytes);

    public native void freeMemory(long address);

    public native void loadFence();

    public native void putLongRelease(Object object, long offset, long value);
}
