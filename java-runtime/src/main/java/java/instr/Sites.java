package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * The probe of call sites: the time that a call spends in chosen calls of its own body. The engine inserts {@link #begin} before and {@link
 * #end} after each of these calls, and {@link #caught} where an exception handler begins that covers one.
 *
 * <p>A diagnosis has a root: a method whose calls are measured as a whole. The call has a frame off heap, with a cell for each place of the
 * tree below it: a method that is measured, or what such a method calls. Which cell that is follows from the cell that is open when a method
 * is entered, and from tables that the agent writes; so a method that is called from elsewhere is not measured. Cells hold the time of this
 * call of the root alone. When it ends, they are added to what slow calls took, or to what fast ones did.
 *
 * <p>Where the descent goes on in tasks that other threads run, such a thread has a frame of its own while it runs the task. There the cell at which the call of the root
 * waits is open from the beginning, and time is that of the call's clock ({@link SharedCall}). What was measured is handed to the call whenever that cell is the open one again.
 *
 * <p>An exception may leave a site open. The next {@code begin} of the same scope, {@code caught}, {@link #exit} or the end of any call around it
 * closes it: handlers that cover themselves, such as that of a {@code synchronized} block, have no {@code caught}. None of these methods throws
 * anything but errors of the stack, where the call that is measured would have done so.
 */
public final class Sites {
    /** The scope of a call that is not measured. Others have, from the right, the cell of the call, its diagnosis, and where its frame is. */
    private static final long NONE = 0L;

    /** What a measured method has: how many places in trees, 0 while it is inert; and these, ... */
    private static final int METHOD_STRIDE = 8;
    private static final int PLACES = 0;
    private static final int FIRST_PLACE = 16;
    private static final int PLACE_STRIDE = 4;
    /** ... each with its diagnosis, 0 while it is nobody's; the last step of the context of a root; the cell around it, or ROOT; and its own cell. */
    private static final int DIAGNOSIS = 0;
    private static final int STEP = 4;
    private static final int PLACE_AROUND = 8;
    private static final int PLACE_CELL = 12;
    private static final int ROOT = -1;

    /** What a diagnosis has: its number of measuring, above which time calls are slow, calls that found no frame or were another one's, ... */
    private static final int DIAGNOSIS_STRIDE = 13;
    private static final int ROUND = 0;
    private static final int SLOWER_THAN = 8;
    private static final int WITHOUT_FRAME = 16;
    private static final int ANOTHER_ONES = 24;
    /** ... at which cell tasks of other threads are measured (0: they are not), ... */
    private static final int TASKS_AT = 40;
    /** ... and, in the place of the diagnosis that there is not, a bit for each diagnosis that goes on in tasks. */
    private static final int WANT_TASKS = 8;
    /** ... and how many calls of the root took how long: eight counters for each power of two. */
    private static final int LENGTHS = 4096;

    /** Log2 of the number of cells of a diagnosis, and of the number of diagnoses. */
    private static final int CELLS = 11;
    private static final int NUMBERS = 3;
    /** The sums of a cell: calls and time in slow calls of the root, the same in fast ones. */
    private static final int SUM_STRIDE = 5;
    private static final int FAST = 16;

    /** A frame: thread and diagnosis, 0 while it is free; number of measuring; the open cell and the last cell that was used; ... */
    private static final int OWNER = 0;
    private static final int FRAME_ROUND = 8;
    private static final long NEVER = -1L;
    private static final int OPEN = 16;
    private static final int LAST = 20;
    /** ... and how many threads whose frame this would be have another one. */
    private static final int DISPLACED = 24;
    private static final int FRAME_DIAGNOSIS = 28;
    /** The number of the frame, and the cell at which the call of another thread waits whose task this is; 0: it is a call itself. */
    private static final int NUMBER = 32;
    private static final int TASK_AT = 36;
    /** Of a task, the number of the frame of that call. */
    private static final int CALL_FRAME = 40;
    private static final int FIRST_CELL = 64;
    private static final int CELL_STRIDE = 5;
    private static final long FRAME_BYTES = FIRST_CELL + (1L << CELLS + CELL_STRIDE);
    private static final int FRAMES = 256;
    private static final int OTHERS = 8;
    private static final int DISTANCE = 37;

    /** A cell of a frame: when it was opened, 0 while it is not; time; calls; the cell around it; the cell that was used before it, or END. */
    private static final int START = 0;
    private static final int TIME = 8;
    private static final int CALLS = 16;
    private static final int AROUND = 20;
    private static final int BEFORE = 24;
    private static final int END = -1;

    /** The bit in the {@link #watched} byte of a cell that is set if texts of statements are wanted there. */
    private static final int TEXTS = 2;

    private static final int STACK_FRAMES = 40;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long METHODS = methods();
    private static final long DIAGNOSES = diagnoses();
    private static final long WATCHED = watched();
    private static final long SUMS = sums();
    private static final long FRAME = frames();

    /** The threads whose calls the frames have; the agent looks at stacks of slow ones. */
    private static final Thread[] threads = new Thread[FRAMES];
    /** What statements within the calls of the frames have executed, where texts are wanted. */
    private static final StatementTexts.InCall[] STATEMENTS = new StatementTexts.InCall[FRAMES];
    /** The calls of frames from which tasks are handed over, and of those that measure such tasks. */
    private static final SharedCall[] SHARED = new SharedCall[FRAMES];

    private Sites() {}

    private static native long methods();

    private static native long diagnoses();

    /** The address of a byte for each cell of each diagnosis: whether calls there are measured, and whether texts are wanted. */
    private static native long watched();

    private static native long sums();

    private static native long frames();

    /** Reports to the agent a text (null: unknown) that a slow call has executed at a cell: how many times, and how long all of them took. */
    private static native void executed(int diagnosis, int cell, String text, int calls, long time);

    /** Reports to the agent that a slow call ends, whose frame this is; it reads the cells. */
    private static native void slowCall(int frame, long now);

    /**
     * Begins a call of a method with sites.
     *
     * @param method the number of the measured method, which the agent puts in the place of {@link Target#id()}
     * @return the scope of the call; 0 if it is not measured
     */
    public static long enter(int method) {
        long of = METHODS + ((long) method << METHOD_STRIDE);
        int places = U.getInt(of + PLACES);
        return places == 0 ? NONE : entered(of + FIRST_PLACE, places);
    }

    /** Several diagnoses may measure the method; a call is measured for one of them. */
    @DontInline
    private static long entered(long first, int places) {
        // A thread that is being attached has no id yet.
        long thread = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        if (thread == 0L) return NONE;
        long scope = NONE;
        int of = 0;
        int frame = END;
        for (int number = 0; number < places; number++) {
            long place = first + ((long) number << PLACE_STRIDE);
            int diagnosis = U.getInt(place + DIAGNOSIS);
            if (diagnosis == 0) continue;
            int around = U.getInt(place + PLACE_AROUND);
            // Most calls of a root end here if it has a context.
            int step = U.getInt(place + STEP);
            if (around == ROOT && step != 0 && !Contexts.isAt(step)) continue;
            if (diagnosis != of) {
                of = diagnosis;
                frame = frameOf(thread << 3 | diagnosis);
            }
            if (around == ROOT) {
                // A call within a call of the root is a part of that.
                if (frame != END) continue;
                if (scope == NONE) {
                    scope = root(diagnosis, thread << 3 | diagnosis);
                } else {
                    U.getAndAddLong(null, DIAGNOSES + ((long) diagnosis << DIAGNOSIS_STRIDE) + ANOTHER_ONES, 1L);
                }
            } else if (frame != END) {
                long at = FRAME + frame * FRAME_BYTES;
                if (U.getInt(at + OPEN) != around) continue;
                if (scope == NONE) {
                    int cell = U.getInt(place + PLACE_CELL);
                    open(at, cell, around);
                    scope = scope(frame, diagnosis, cell);
                    // Now another cell is open: a second place of the same tree is not meant.
                } else if (frameAt(scope) != at) {
                    leaveOut(at, diagnosis);
                }
            }
        }
        return scope;
    }

    /** The call of the root is not measured as a whole, and does not count. */
    private static void leaveOut(long frame, int diagnosis) {
        if (U.getLong(frame + FRAME_ROUND) == NEVER) return;
        U.putLong(frame + FRAME_ROUND, NEVER);
        U.getAndAddLong(null, DIAGNOSES + ((long) diagnosis << DIAGNOSIS_STRIDE) + ANOTHER_ONES, 1L);
    }

    private static long root(int diagnosis, long owner) {
        int frame = takeFrame(owner);
        if (frame == END) {
            U.getAndAddLong(null, DIAGNOSES + ((long) diagnosis << DIAGNOSIS_STRIDE) + WITHOUT_FRAME, 1L);
            return NONE;
        }
        long at = FRAME + frame * FRAME_BYTES;
        begun(at, frame, diagnosis, U.getLong(DIAGNOSES + ((long) diagnosis << DIAGNOSIS_STRIDE) + ROUND));
        open(at, 0, 0);
        return scope(frame, diagnosis, 0);
    }

    /** Takes a frame for a thread and a diagnosis; END if there is none. */
    private static int takeFrame(long owner) {
        haveRoom(STACK_FRAMES);
        int home = home(owner);
        for (int other = 0; other < OTHERS; other++) {
            int frame = home + other * DISTANCE & FRAMES - 1;
            long at = FRAME + frame * FRAME_BYTES;
            if (U.getLong(at + OWNER) == 0L && U.compareAndSetLong(null, at + OWNER, 0L, owner)) {
                if (frame != home) U.getAndAddInt(null, FRAME + home * FRAME_BYTES + DISPLACED, 1);
                return frame;
            }
        }
        return END;
    }

    private static void begun(long at, int frame, int diagnosis, long round) {
        U.putLong(at + FRAME_ROUND, round);
        U.putInt(at + FRAME_DIAGNOSIS, diagnosis);
        U.putInt(at + LAST, END);
        U.putInt(at + NUMBER, frame);
        U.putInt(at + TASK_AT, 0);
        threads[frame] = Thread.currentThread();
        STATEMENTS[frame] = null;
        SHARED[frame] = null;
    }

    /** Overflows the stack now, if there is not enough of it for what follows and for the end of the call: a frame that is taken must be given back. */
    @DontInline
    private static int haveRoom(int frames) {
        return frames == 0 ? 0 : 1 + haveRoom(frames - 1);
    }

    private static int home(long owner) {
        return (int) (owner >>> 3) + (int) (owner & 7L) * DISTANCE & FRAMES - 1;
    }

    private static int frameOf(long owner) {
        int home = home(owner);
        long at = FRAME + home * FRAME_BYTES;
        if (U.getLong(at + OWNER) == owner) return home;
        if (U.getInt(at + DISPLACED) == 0) return END;
        for (int other = 1; other < OTHERS; other++) {
            int frame = home + other * DISTANCE & FRAMES - 1;
            if (U.getLong(FRAME + frame * FRAME_BYTES + OWNER) == owner) return frame;
        }
        return END;
    }

    private static long scope(int frame, int diagnosis, int cell) {
        return frame * FRAME_BYTES << CELLS + NUMBERS | (long) diagnosis << CELLS | cell;
    }

    private static long frameAt(long scope) {
        return FRAME + (scope >>> CELLS + NUMBERS);
    }

    private static int cellOf(long scope) {
        return (int) scope & (1 << CELLS) - 1;
    }

    private static long cellAt(long frame, int cell) {
        return frame + FIRST_CELL + ((long) cell << CELL_STRIDE);
    }

    /**
     * Begins a site.
     *
     * @param scope what {@link #enter} returned
     * @param site the number of the site
     */
    public static void begin(long scope, int site) {
        // Not in a method that is not inlined: loops of short calls pass over millions of sites that are left out. More sites than the agent knows are read beyond
        // the row of the diagnosis, within the same memory.
        if (scope != NONE && U.getByte(WATCHED + (scope & (1L << CELLS + NUMBERS) - 1L) + 1L + site) != 0) began(scope, site);
    }

    @DontInline
    private static void began(long scope, int site) {
        long frame = frameAt(scope);
        int around = cellOf(scope);
        int cell = around + 1 + site;
        if (cell >= 1 << CELLS) return;
        if (U.getInt(frame + OPEN) != around && !closeWithin(frame, around)) return;
        open(frame, cell, around);
    }

    /**
     * Ends a site whose call has returned.
     *
     * @param scope what {@link #enter} returned
     * @param site the number of the site
     */
    public static void end(long scope, int site) {
        if (scope != NONE && U.getInt(frameAt(scope) + OPEN) != cellOf(scope)) ended(frameAt(scope), cellOf(scope) + 1 + site);
    }

    /**
     * Closes the site that an exception has left open, if there is one. Called where an exception handler begins, and also if its first
     * instruction is reached without an exception.
     *
     * @param scope what {@link #enter} returned
     */
    public static void caught(long scope) {
        if (scope == NONE) return;
        long frame = frameAt(scope);
        int around = cellOf(scope);
        if (U.getInt(frame + OPEN) != around) closeWithin(frame, around);
    }

    /**
     * Ends a call that {@link #enter} began, normally or exceptionally, and closes the site that is still open.
     *
     * @param scope what {@link #enter} returned
     * @param method the number of the measured method
     */
    public static void exit(long scope, int method) {
        if (scope == NONE) return;
        long frame = frameAt(scope);
        int cell = cellOf(scope);
        ended(frame, cell);
        if (cell == 0) {
            finish(U.getInt(frame + NUMBER), frame);
        } else if (U.getInt(frame + TASK_AT) != 0) {
            handBack(frame);
        }
    }

    private static void open(long frame, int cell, int around) {
        // First, because it may find the stack too small.
        long now = now(frame);
        long at = cellAt(frame, cell);
        if (U.getInt(at + CALLS) == 0) {
            U.putInt(at + BEFORE, U.getInt(frame + LAST));
            U.putInt(frame + LAST, cell);
        }
        U.putInt(at + CALLS, U.getInt(at + CALLS) + 1);
        U.putInt(at + AROUND, around);
        U.putInt(frame + OPEN, cell);
        U.putLong(at + START, now);
        noteWait(frame, now);
    }

    /** Closes a cell that is open, and all that exceptions have left open within it. */
    @DontInline
    private static void ended(long frame, int cell) {
        // Never, unless a class has other sites than the agent knows.
        if (cell >= 1 << CELLS) return;
        long at = cellAt(frame, cell);
        if (U.getLong(at + START) == 0L) return;
        long now = now(frame);
        if (U.getInt(frame + OPEN) != cell) closeWithin(frame, cell);
        close(frame, cell, now);
    }

    /** Closes what is open within a cell; does nothing, and says so, if that is not open itself. */
    @DontInline
    private static boolean closeWithin(long frame, int cell) {
        if (U.getLong(cellAt(frame, cell) + START) == 0L) return false;
        long now = now(frame);
        for (int open = U.getInt(frame + OPEN); open != cell && open != 0; open = U.getInt(frame + OPEN)) {
            close(frame, open, now);
        }
        return true;
    }

    private static void close(long frame, int cell, long now) {
        long at = cellAt(frame, cell);
        U.putLong(at + TIME, U.getLong(at + TIME) + now - U.getLong(at + START));
        U.putLong(at + START, 0L);
        U.putInt(frame + OPEN, U.getInt(at + AROUND));
        noteWait(frame, now);
    }

    private static int length(long time) {
        int power = 63 - Long.numberOfLeadingZeros(time | 8L);
        return power << 3 | (int) (time >>> power - 3) & 7;
    }

    /** Adds up what the call of the root took, and gives the frame back. */
    private static void finish(int number, long frame) {
        int diagnosis = U.getInt(frame + FRAME_DIAGNOSIS);
        long of = DIAGNOSES + ((long) diagnosis << DIAGNOSIS_STRIDE);
        // What was measured otherwise than calls are now, or for a diagnosis that has ended, does not count.
        long round = U.getLong(frame + FRAME_ROUND);
        boolean counts = round != 0L && round == U.getLong(of + ROUND);
        long time = U.getLong(cellAt(frame, 0) + TIME);
        long slowerThan = U.getLong(of + SLOWER_THAN);
        boolean isSlow = time >= slowerThan;
        // Where all calls count, none has a record of its own.
        if (isSlow && slowerThan > 0L) record(number);
        SharedCall shared = SHARED[number];
        SHARED[number] = null;
        if (counts) U.getAndAddLong(null, of + LENGTHS + ((long) length(time) << 3), 1L);
        long sums = SUMS + ((long) diagnosis << CELLS + SUM_STRIDE) + (isSlow ? 0 : FAST);
        for (int task = shared == null ? 0 : shared.end(); task > 0; task--) {
            if (counts) add(sums, shared.cell(task - 1), shared.calls(task - 1), shared.time(task - 1));
        }
        for (int cell = U.getInt(frame + LAST); cell != END; ) {
            long at = cellAt(frame, cell);
            if (counts) add(sums, cell, U.getInt(at + CALLS), U.getLong(at + TIME));
            U.putLong(at + TIME, 0L);
            U.putLong(at + START, 0L);
            U.putInt(at + CALLS, 0);
            cell = U.getInt(at + BEFORE);
        }
        StatementTexts.InCall statements = STATEMENTS[number];
        giveBack(number, frame);
        if (!isSlow || !counts) return;
        if (statements != null) report(diagnosis, statements.first);
        if (shared != null && shared.texts() != null) report(diagnosis, shared.texts());
    }

    private static void add(long sums, int cell, int calls, long time) {
        long sum = sums + ((long) cell << SUM_STRIDE);
        U.getAndAddLong(null, sum, calls);
        U.getAndAddLong(null, sum + 8, time);
    }

    private static void giveBack(int number, long frame) {
        threads[number] = null;
        STATEMENTS[number] = null;
        SHARED[number] = null;
        int home = home(U.getLong(frame + OWNER));
        if (number != home) U.getAndAddInt(null, FRAME + home * FRAME_BYTES + DISPLACED, -1);
        U.putLongRelease(null, frame + OWNER, 0L);
    }

    /** The time by which a frame measures: that of probes, or that of the call whose task it has. */
    private static long now(long frame) {
        long now = Clock.now();
        if (U.getInt(frame + TASK_AT) == 0) return now;
        // 0 says that a cell is not open.
        return SHARED[U.getInt(frame + NUMBER)].at(now) + 1L;
    }

    /** Another cell is open: a call whose tasks are measured waits in one of them. */
    private static void noteWait(long frame, long now) {
        SharedCall shared = SHARED[U.getInt(frame + NUMBER)];
        if (shared == null || U.getInt(frame + TASK_AT) != 0) return;
        int waits = U.getInt(DIAGNOSES + ((long) shared.diagnosis << DIAGNOSIS_STRIDE) + TASKS_AT);
        shared.waits(waits != 0 && U.getInt(frame + OPEN) == waits, now);
    }

    /** Returns the measured call in which the present thread hands a task over, if a diagnosis goes on in tasks; null if there is none. */
    static SharedCall sharedCall() {
        long thread = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        if (thread == 0L) return null;
        for (long left = U.getLong(DIAGNOSES + WANT_TASKS); left != 0L; left &= left - 1L) {
            int diagnosis = Long.numberOfTrailingZeros(left);
            int frame = frameOf(thread << 3 | diagnosis);
            if (frame == END) continue;
            SharedCall shared = SHARED[frame];
            if (shared != null) return shared;
            long at = FRAME + frame * FRAME_BYTES;
            shared = new SharedCall(frame, diagnosis, U.getLong(at + FRAME_ROUND), U.getLong(cellAt(at, 0) + START));
            SHARED[frame] = shared;
            noteWait(at, Clock.now());
            return shared;
        }
        return null;
    }

    /**
     * The present thread begins a task that was handed over in a measured call.
     *
     * @return the number of its frame; END if the task is not measured
     */
    static int taskBegins(SharedCall shared) {
        int waits = U.getInt(DIAGNOSES + ((long) shared.diagnosis << DIAGNOSIS_STRIDE) + TASKS_AT);
        long thread = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        long owner = thread << 3 | shared.diagnosis;
        if (waits == 0 || thread == 0L || frameOf(owner) != END) return END;
        int frame = takeFrame(owner);
        if (frame == END) {
            U.getAndAddLong(null, DIAGNOSES + ((long) shared.diagnosis << DIAGNOSIS_STRIDE) + WITHOUT_FRAME, 1L);
            return END;
        }
        long at = FRAME + frame * FRAME_BYTES;
        begun(at, frame, shared.diagnosis, shared.round);
        U.putInt(at + CALL_FRAME, shared.frame);
        U.putInt(at + OPEN, waits);
        U.putInt(at + TASK_AT, waits);
        SHARED[frame] = shared;
        // The agent sees how long the call takes that waits.
        U.putLong(cellAt(at, 0) + START, shared.start);
        if (!shared.taskBegins(Clock.now())) {
            endTask(frame, at);
            return END;
        }
        return frame;
    }

    /** Ends a task that {@link #taskBegins} began. */
    static void taskEnds(int frame) {
        long at = FRAME + frame * FRAME_BYTES;
        try {
            SharedCall shared = SHARED[frame];
            StatementTexts.InCall statements = STATEMENTS[frame];
            closeTask(at);
            shared.taskEnds(Clock.now());
            handBack(at);
            if (statements != null) shared.add(statements.first);
        } finally {
            endTask(frame, at);
        }
    }

    /** Closes what errors of the stack have left open. */
    private static void closeTask(long frame) {
        int waits = U.getInt(frame + TASK_AT);
        for (int open = U.getInt(frame + OPEN); open != waits && open != 0; open = U.getInt(frame + OPEN)) {
            close(frame, open, now(frame));
        }
        U.putInt(frame + OPEN, waits);
    }

    private static void endTask(int frame, long at) {
        U.putLong(cellAt(at, 0) + START, 0L);
        giveBack(frame, at);
    }

    /** Hands what was measured in a task to the call, unless more of it is open. */
    private static void handBack(long frame) {
        int waits = U.getInt(frame + TASK_AT);
        if (U.getInt(frame + OPEN) != waits) return;
        SharedCall shared = SHARED[U.getInt(frame + NUMBER)];
        for (int cell = U.getInt(frame + LAST); cell != END; ) {
            long at = cellAt(frame, cell);
            try {
                shared.add(cell, U.getInt(at + CALLS), U.getLong(at + TIME));
            } catch (Throwable noMemoryOrStack) {
                // This part of the task does not count.
            }
            U.putLong(at + TIME, 0L);
            U.putLong(at + START, 0L);
            U.putInt(at + CALLS, 0);
            cell = U.getInt(at + BEFORE);
        }
        U.putInt(frame + LAST, END);
    }

    /** Before the frame is given back, whatever happens here. */
    @DontInline
    private static void record(int frame) {
        try {
            slowCall(frame, Clock.now());
        } catch (Throwable noStack) {
            // There is no record of this call; it counts all the same.
        }
    }

    /** Called last, because it may need more stack than there is: the frame has been given back. */
    @DontInline
    private static void report(int diagnosis, StatementTexts.Executed first) {
        try {
            for (StatementTexts.Executed of = first; of != null; of = of.next) {
                executed(diagnosis, of.cell, of.text, of.calls, of.time);
            }
        } catch (Throwable noStack) {
            // The texts of this call are lost; those of other slow calls are reported.
        }
    }

    /** Returns a bit for each diagnosis that wants texts of statements, in the place of the diagnosis that there is not. */
    static long wantTexts() {
        return U.getLong(DIAGNOSES);
    }

    /**
     * Begins a statement in each call that is measured on this thread and has a cell open where texts are wanted.
     *
     * @return when; 0 if there is no such call
     */
    static long beginStatement() {
        long thread = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        long start = 0L;
        for (long left = wantTexts(); left != 0L && thread != 0L; left &= left - 1L) {
            int diagnosis = Long.numberOfTrailingZeros(left);
            int frame = frameOf(thread << 3 | diagnosis);
            if (frame == END) continue;
            int cell = U.getInt(FRAME + frame * FRAME_BYTES + OPEN);
            if ((U.getByte(WATCHED + ((long) diagnosis << CELLS) + cell) & TEXTS) == 0) continue;
            if (start == 0L) start = Clock.now();
            StatementTexts.InCall statements = STATEMENTS[frame];
            if (statements == null) STATEMENTS[frame] = statements = new StatementTexts.InCall();
            statements.begin(cell, start);
        }
        return start;
    }

    /** Ends a statement in the calls in which {@link #beginStatement} began it; a null text is unknown. */
    static void endStatement(long start, long end, String text) {
        long thread = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        for (long left = wantTexts(); left != 0L && thread != 0L; left &= left - 1L) {
            int frame = frameOf(thread << 3 | Long.numberOfTrailingZeros(left));
            StatementTexts.InCall statements = frame == END ? null : STATEMENTS[frame];
            if (statements != null) statements.end(start, end, text);
        }
    }
}
