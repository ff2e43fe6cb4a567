package targets.diagnosis;

import java.util.Arrays;

/**
 * One call of a method that is diagnosed, passed down to everything that it calls: says what is to be slow, and keeps the times that the program
 * measures itself, around the same calls as a diagnosis.
 */
public final class RootCall {

    private static final int MOST_NODES = 64;

    /** Which of the program's roots is called. */
    public final int root;
    /** Which of the calling threads this is. */
    public final int lane;
    public final long number;
    /** Whether the slow branch is to be taken. */
    public final boolean slow;

    final long[] nanos;
    final int[] calls;
    private final int[] recursions;
    private int notes;

    RootCall(int root, int lane, long number, boolean slow, int nodes) {
        this(root, lane, number, slow, nodes, new int[MOST_NODES]);
    }

    private RootCall(int root, int lane, long number, boolean slow, int nodes, int[] recursions) {
        this.root = root;
        this.lane = lane;
        this.number = number;
        this.slow = slow;
        this.nanos = new long[nodes];
        this.calls = new int[nodes];
        this.recursions = recursions;
    }

    /** A fast call of the root from within this one. It is a part of this one: what it measures is dropped. */
    public RootCall inner() {
        return new RootCall(root, lane, number, false, nanos.length, recursions);
    }

    /** For a method that has nothing else to do. */
    public void note() {
        notes++;
    }

    /** Notes a call of a node that began at this reading of {@link System#nanoTime}. */
    public void took(int node, long start) {
        nanos[node] += System.nanoTime() - start;
        calls[node]++;
    }

    /** Returns whether a recursive node may call itself: so many times in all of this call, that of {@link #inner} included. */
    public boolean again(int node, int most) {
        return recursions[node]++ < most;
    }

    @Override
    public String toString() {
        return root + "#" + number + (slow ? " slow " : " fast ") + Arrays.toString(nanos);
    }
}
