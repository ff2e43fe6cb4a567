package java.instr;

import java.util.concurrent.ForkJoinWorkerThread;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * What a task takes along from the thread that hands it over to the thread that runs it: in which contexts the call was that handed it over, as far as these
 * contexts reach across threads, in which call of a diagnosed method, and for caller finders, who that was. A started thread is a task, too. Tasks stay what they are: what they take along is remembered for them until
 * they begin, and the thread that runs them has its own words back at the end.
 *
 * <p>None of these methods throws anything: without memory or stack a task takes nothing along.
 */
public final class Handover {
    /** The steps of contexts that reach across threads, by word; ... */
    private static final int MASKS = 0;
    /** ... how often steps have been given to a context; ... */
    private static final int EPOCH = 32;
    /** ... how many of these steps are armed, how many diagnoses go on in tasks, and how many caller finders: if there is none, nothing is taken along; ... */
    private static final int WANTED = 40;
    /** ... how many tasks run with what they have taken along; ... */
    private static final int RUNNING = 48;
    /** ... from which number on it is known who has handed a task over, as long as caller finders ask for that, 0 otherwise; ... */
    private static final int KNOWN_FROM = 56;
    /** ... and for each step, when it was given to its context. */
    private static final int SINCE = 64;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long TABLE = table();

    private static final Remembered<Luggage> PENDING = new Remembered<>();
    private static final Luggage NOTHING = new Luggage(new long[PlaceTable.WORDS], 0L, null, 0);

    /** Of each place, what its thread had before the task that it runs, if nothing else ends with that; made for the first one. */
    private static Before[] onThreads;

    private Handover() {}

    /** The address of what the agent writes. */
    private static native long table();

    /**
     * Has a task take along what the present thread has.
     *
     * @param task the task
     */
    public static void handedOver(Object task) {
        if (U.getLong(TABLE + WANTED) != 0L && task != null) handOver(task, false);
    }

    /**
     * Does the same for a task that the present one forks.
     *
     * @param task the task
     */
    public static void forks(Object task) {
        if (U.getLong(TABLE + WANTED) != 0L) handOver(task, true);
    }

    /**
     * Does the same for a task of a fork-join pool.
     *
     * @param pool the pool
     * @param task the task
     */
    public static void forked(Object pool, Object task) {
        if (!Tasks.runsVirtualThreads(pool)) handedOver(task);
    }

    /**
     * Does the same for a thread that the present one starts. Threads of the JDK's own classes work for everybody, and so do workers of fork-join pools, whatever
     * their class.
     *
     * @param thread the thread
     */
    public static void started(Object thread) {
        if (U.getLong(TABLE + WANTED) == 0L || thread instanceof ForkJoinWorkerThread) return;
        if (!isOfJdk(thread)) handOver(thread, false);
    }

    private static boolean isOfJdk(Object thread) {
        Class<?> type = thread.getClass();
        if (type == Thread.class) return false;
        String name = type.getName();
        return name.startsWith("java.") || name.startsWith("jdk.") || name.startsWith("sun.");
    }

    @DontInline
    private static void handOver(Object task, boolean isPart) {
        try {
            Luggage luggage = Luggage.ofThread(isPart);
            if (luggage == null && PENDING.isEmpty()) return;
            Luggage before = PENDING.remove(task);
            if (before != null) luggage = before.and(luggage);
            if (luggage != null) PENDING.put(task, luggage);
        } catch (Throwable noMemoryOrStack) {
            // See above.
        }
    }

    /**
     * A task that was handed over is not run by another thread.
     *
     * @param task the task
     */
    public static void rejected(Object task) {
        take(task);
    }

    private static Luggage take(Object task) {
        try {
            Luggage luggage = PENDING.isEmpty() ? null : PENDING.remove(task);
            if (luggage != null && --luggage.handedOver > 0) PENDING.put(task, luggage);
            return luggage;
        } catch (Throwable noMemoryOrStack) {
            return null;
        }
    }

    /**
     * Begins a task of a fork-join pool. While a thread helps other tasks in order not to wait, those without luggage have nothing.
     *
     * @param task the task
     * @return what {@link #ends} needs
     */
    public static Object forkedBegins(Object task) {
        if (U.getLong(TABLE + WANTED) == 0L || Tasks.isCarrier()) return null;
        Luggage luggage = take(task);
        return luggage == null && PlaceTable.helps(Places.held()) ? begin(NOTHING) : begin(luggage);
    }

    /** Begins what the present thread, a virtual one, was made for, until it ends or turns out to be the worker of a pool. */
    public static void threadRuns() {
        threadBegins();
    }

    /** By whom the task was handed over that the present thread runs, as {@link CallerFinder} numbers that; 0: by nobody who is known. */
    static int handedOverBy() {
        return PlaceTable.handedOverBy(Places.held());
    }

    /**
     * Ends a task.
     *
     * @param before what the method returned that began it
     */
    public static void ends(Object before) {
        if (before != null) ((Before) before).end();
    }

    /** The present thread has been started. Called by the agent, but of virtual threads. */
    static void threadBegins() {
        if (U.getLong(TABLE + WANTED) != 0L) beginOnThread(take(Thread.currentThread()));
    }

    /** The present thread ends. Called by the agent. */
    static void threadEnds() {
        fetches();
    }

    /**
     * The worker of a pool begins, perhaps with a task in its field {@code firstTask}. It works for everybody, and not for the thread that started it.
     *
     * @param worker the worker
     */
    public static void workerBegins(Object worker) {
        fetches();
        if (U.getLong(TABLE + WANTED) != 0L) begins(Tasks.firstTask(worker));
    }

    /**
     * The present thread is about to run a task, until it fetches the next one.
     *
     * @param task the task
     */
    public static void begins(Object task) {
        if (U.getLong(TABLE + WANTED) != 0L) beginOnThread(take(task));
    }

    /**
     * Does the same if the present thread has begun nothing since it has fetched a task: it may have fetched this one before its methods were changed.
     *
     * @param task the task
     */
    public static void isAboutToRun(Object task) {
        if (U.getLong(TABLE + WANTED) != 0L && beforeOf(Places.held()) == null) beginOnThread(take(task));
    }

    /** What the present thread began by {@link #begins} is over, if it began anything. */
    public static void fetches() {
        if (U.getLong(TABLE + RUNNING) != 0L) endOnThread();
    }

    private static void beginOnThread(Luggage luggage) {
        if (luggage == null) return;
        endOnThread();
        try {
            Before[] all = onThreads();
            Before before = begin(luggage);
            if (before == null) return;
            int number = PlaceTable.number(before.place);
            // Of a thread that gave the place back before the end of its task.
            if (all[number] != null) U.getAndAddLong(null, TABLE + RUNNING, -1L);
            all[number] = before;
        } catch (Throwable noMemoryOrStack) {
            // See above. There is room for the last step if there was for those before.
        }
    }

    @DontInline
    private static void endOnThread() {
        long place = Places.held();
        Before before = beforeOf(place);
        if (before == null) return;
        onThreads[PlaceTable.number(place)] = null;
        before.end();
    }

    /** What the present thread began that is not over, in its place. */
    private static Before beforeOf(long place) {
        if (place == 0L || onThreads == null) return null;
        Before before = onThreads[PlaceTable.number(place)];
        return before != null && before.thread == Thread.currentThread() ? before : null;
    }

    private static synchronized Before[] onThreads() {
        if (onThreads == null) onThreads = new Before[PlaceTable.number(PlaceTable.END)];
        return onThreads;
    }

    /** Gives the present thread what a task has taken along. */
    @DontInline
    private static Before begin(Luggage luggage) {
        if (luggage == null) return null;
        try {
            // Nothing between here and the return is to overflow the stack.
            Contexts.haveRoom(Contexts.FRAMES);
            Before before = new Before();
            if (!before.takePlace()) return null;
            U.getAndAddLong(null, TABLE + RUNNING, 1L);
            before.take(luggage);
            return before;
        } catch (Throwable noMemoryOrStack) {
            return null;
        }
    }

    /** The bits of the thread that hands a task over. */
    private static final class Luggage {
        private final long[] words;
        private final long epoch;
        /** The measured call in which the task was handed over; null if there was none. */
        final SharedCall call;
        /** Who hands the task over; 0: it is not known. */
        final int by;
        /** How often the task has been handed over and has not begun. */
        int handedOver = 1;

        Luggage(long[] words, long epoch, SharedCall call, int by) {
            this.words = words;
            this.epoch = epoch;
            this.call = call;
            this.by = by;
        }

        /** Null if the present thread is in no context that reaches across threads, in no measured call, and nobody asks who hands tasks over. */
        static Luggage ofThread(boolean isPart) {
            SharedCall call = Sites.sharedCall();
            long place = Places.held();
            long knownFrom = U.getLong(TABLE + KNOWN_FROM);
            int by = knownFrom == 0L ? 0 : by(place, isPart, knownFrom);
            if (place == 0L) return call == null && by == 0 ? null : new Luggage(NOTHING.words, 0L, call, by);
            // First: a step that is given again meanwhile is newer than this.
            long epoch = U.getLong(TABLE + EPOCH);
            U.loadFence();
            long any = 0L;
            long[] words = new long[PlaceTable.WORDS];
            for (int word = 0; word < PlaceTable.WORDS; word++) {
                words[word] = U.getLong(place + PlaceTable.BITS + (word << 3)) & U.getLong(TABLE + MASKS + (word << 3));
                any |= words[word];
            }
            return any == 0L && call == null && by == 0 ? null : new Luggage(words, epoch, call, by);
        }

        /**
         * Parts of a task of a fork-join pool were handed over by the same method as the whole, so a fork needs no look at the stack; the same holds for what a pool
         * hands over by itself.
         */
        private static int by(long place, boolean isPart, long knownFrom) {
            int before = PlaceTable.handedOverBy(place);
            int ofWhole = before < knownFrom ? 0 : before;
            if (isPart && ofWhole != 0 && Thread.currentThread() instanceof ForkJoinWorkerThread) return ofWhole;
            int seen = CallerFinder.handsOver();
            return seen == CallerFinder.BY_ITSELF ? ofWhole : seen;
        }

        /**
         * What a task has that is handed over once more before it has begun. If its luggage differs nobody knows which of them begins first: then it has nothing.
         */
        Luggage and(Luggage other) {
            boolean isSame = other != null && other.epoch == epoch && other.call == call;
            for (int word = 0; isSame && word < PlaceTable.WORDS; word++) isSame = other.words[word] == words[word];
            int byBoth = other != null && other.by == by ? by : 0;
            Luggage both = isSame ? new Luggage(words, epoch, call, byBoth) : new Luggage(NOTHING.words, epoch, null, byBoth);
            both.handedOver = handedOver + 1;
            return both;
        }

        /** Replaces the bits of a place. */
        void unpack(long place) {
            long[] masks = new long[PlaceTable.WORDS];
            for (int word = 0; word < PlaceTable.WORDS; word++) masks[word] = U.getLong(TABLE + MASKS + (word << 3));
            U.loadFence();
            // Last: a step that the masks have and that was given since is newer than the luggage.
            boolean isOlder = U.getLong(TABLE + EPOCH) != epoch;
            for (int word = 0; word < PlaceTable.WORDS; word++) {
                long bits = words[word] & masks[word];
                if (isOlder) bits = stillMeant(word, bits);
                long at = place + PlaceTable.BITS + (word << 3);
                U.putLong(at, U.getLong(at) & ~masks[word] | bits);
            }
        }

        private long stillMeant(int word, long bits) {
            long meant = bits;
            for (long left = bits; left != 0L; left &= left - 1L) {
                long step = word << 6 | Long.numberOfTrailingZeros(left);
                if (U.getLong(TABLE + SINCE + (step << 3)) > epoch) meant &= ~(left & -left);
            }
            return meant;
        }
    }

    /** What a thread had before it began a task. */
    private static final class Before {
        final Thread thread = Thread.currentThread();
        long place;
        private boolean tookPlace;
        private boolean helped;
        private int handedOverBy;
        /** The number of the frame in which the task is measured, from 1; 0: it is not. */
        int frame;
        private final long[] words = new long[PlaceTable.WORDS];

        /** Returns false if the thread has no place and there is none for it. */
        boolean takePlace() {
            place = Places.held();
            if (place == 0L) {
                place = Contexts.takePlace();
                tookPlace = true;
                return place != 0L;
            }
            for (int word = 0; word < PlaceTable.WORDS; word++) words[word] = U.getLong(place + PlaceTable.BITS + (word << 3));
            helped = PlaceTable.setHelps(place, false);
            handedOverBy = PlaceTable.handedOverBy(place);
            return true;
        }

        /** What cannot be taken without memory or stack is not; all else is put back in any case. */
        void take(Luggage luggage) {
            try {
                luggage.unpack(place);
                PlaceTable.setHandedOverBy(place, luggage.by);
                if (luggage.call != null) frame = Sites.taskBegins(luggage.call) + 1;
            } catch (Throwable noMemoryOrStack) {
                // See above.
            }
        }

        void end() {
            try {
                if (frame != 0) Sites.taskEnds(frame - 1);
            } catch (Throwable noMemoryOrStack) {
                // What was measured in the task does not count.
            }
            U.getAndAddLong(null, TABLE + RUNNING, -1L);
            if (Places.held() != place) return;
            if (tookPlace) {
                Places.giveBack(place);
                return;
            }
            for (int word = 0; word < PlaceTable.WORDS; word++) U.putLong(place + PlaceTable.BITS + (word << 3), words[word]);
            PlaceTable.setHelps(place, helped);
            PlaceTable.setHandedOverBy(place, handedOverBy);
        }
    }
}
