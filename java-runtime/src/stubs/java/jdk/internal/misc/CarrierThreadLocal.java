package jdk.internal.misc;

/** A thread-local of the carrier (JDK 21 and later); only compiled against, never packaged. */
public class CarrierThreadLocal<T> extends ThreadLocal<T> {}
