package java.instr;

/**
 * The memory in which {@link Contexts} keeps what a thread is executing: {@code place} in {@code [contexts]} of the configuration.
 *
 * <p>A place is memory outside the heap, so that the agent can see which bits threads still have: an owner, and words of bits (see {@link PlaceTable}).
 * What else may find places, for instance a scoped value or an object of a transaction, has to implement the four methods. They run on the
 * application's threads, also on one that is being attached, and before the end of its stack.
 *
 * <p>The choice is a constant to the JIT: no compiled code tests it, and it has the code of one kind of place only.
 */
final class Places {
    /** Found by the id of the thread. */
    private static final long OFF_HEAP = 0;
    /** Found by a variable of the thread. */
    private static final long THREAD_LOCAL = 1;
    /** No anchor notes anything; each probe has the stack walked. */
    private static final long STACK = 2;

    private static final long CHOSEN = chosen();

    private Places() {}

    private static native long chosen();

    /** Returns the address of the words that the present stack amounts to, which are good until the next walk of the thread; 0 if it cannot be walked. */
    private static native long walked();

    /** Returns the place in which anchors of the present thread note what they begin; 0 if it has none. Throws nothing but errors of the stack. */
    static long held() {
        if (CHOSEN == OFF_HEAP) return PlaceTable.find();
        return CHOSEN == THREAD_LOCAL ? Variable.find() : 0L;
    }

    /** Returns the place that says what the present thread is executing; 0 if it executes nothing that was noted. */
    static long seen() {
        return CHOSEN == STACK ? walked() : held();
    }

    /**
     * Gives the present thread a place whose words are 0, which {@link #held} finds until {@link #giveBack}; returns 0 if there is none. Throws nothing: there
     * is enough of the stack.
     */
    static long take() {
        if (CHOSEN == OFF_HEAP) return PlaceTable.take();
        return CHOSEN == THREAD_LOCAL ? Variable.take() : 0L;
    }

    /** Takes back what {@link #take} gave. */
    static void giveBack(long place) {
        if (CHOSEN == THREAD_LOCAL) Variable.forget();
        PlaceTable.giveBack(place);
    }

    /** What a thread keeps once it has executed an anchor or a probe; between the outermost anchors it says that none is executing. */
    private static final class Variable {
        private static final ThreadLocal<Variable> OF_THREAD = new ThreadLocal<>();

        private long place;

        static long find() {
            try {
                Variable known = OF_THREAD.get();
                return known == null ? 0L : known.place;
            } catch (Throwable noMemory) {
                return 0L;
            }
        }

        static long take() {
            try {
                Variable known = OF_THREAD.get();
                if (known == null) OF_THREAD.set(known = new Variable());
                known.place = PlaceTable.take();
                return known.place;
            } catch (Throwable noMemory) {
                PlaceTable.countWithoutPlace();
                return 0L;
            }
        }

        static void forget() {
            Variable known = OF_THREAD.get();
            if (known != null) known.place = 0L;
        }
    }
}
