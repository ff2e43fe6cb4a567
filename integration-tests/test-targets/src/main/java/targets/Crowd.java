package targets;

import java.util.ArrayList;
import java.util.List;

/** 64 threads that recurse at the same time; a fifth of the descents ends with an exception from the bottom. */
public final class Crowd {

    static final int THREADS = 64;
    static final int DESCENTS = 50;
    static final int DEPTH = 20;

    private Crowd() {}

    public static void main(String[] arguments) throws InterruptedException {
        List<Member> members = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            members.add(new Member());
        }
        for (Member member : members) {
            member.start();
        }
        long checksum = 0;
        for (Member member : members) {
            member.join();
            checksum = checksum * 31 + member.checksum;
        }
        Calls.print();
        System.out.println("checksum " + checksum);
    }

    /** One thread. */
    static final class Member extends Thread {

        private final Work work = new Work();
        private long checksum;

        @Override
        public void run() {
            for (int i = 0; i < DESCENTS; i++) {
                checksum += work.tryToDescend(i);
            }
            Calls.add("targets.Crowd$Work.tryToDescend", work.attempts);
            Calls.add("targets.Crowd$Work.descend", work.steps);
        }
    }

    /** The instrumented class. */
    static final class Work {

        private long attempts;
        private long steps;

        long tryToDescend(int i) {
            attempts++;
            try {
                return descend(DEPTH, i);
            } catch (ArithmeticException expected) {
                return i;
            }
        }

        long descend(int depth, int i) {
            steps++;
            return depth == 0 ? 100 / (i % 5) : descend(depth - 1, i) + depth;
        }
    }
}
