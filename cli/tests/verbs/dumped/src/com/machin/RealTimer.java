package com.machin;

/** A timer of the application's own: its constructor stores the time, {@code end} prints what has elapsed. */
public final class RealTimer {
    private final String name;
    private final long start;

    public RealTimer(String name) {
        this.name = name;
        this.start = System.nanoTime();
    }

    public RealTimer(String className, String methodName) {
        this(className + "." + methodName);
    }

    public void end() {
        System.out.println(name + " took " + (System.nanoTime() - start) + " ns");
    }
}
