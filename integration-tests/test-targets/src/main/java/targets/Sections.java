package targets;

import io.instr.api.Section;
import io.instr.api.Traced;

/** Hooks in the source, used well and badly. */
public final class Sections {

    private static int sum;

    private Sections() {}

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 100; i++) {
            traced(i);
        }
        for (int i = 0; i < 10; i++) {
            try {
                throwing();
            } catch (IllegalStateException expected) {
                sum++;
            }
        }
        badly();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(Sections::shared);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        manyNames();
        System.out.println("sum " + sum);
    }

    @Traced
    static void traced(int number) {
        try (Section outer = Section.begin("outer")) {
            Section inner = Section.begin("inner; ü");
            sum += number;
            inner.end();
        }
    }

    static void throwing() {
        try (Section section = Section.begin("throwing")) {
            sum++;
            throw new IllegalStateException("expected");
        }
    }

    private static void badly() throws InterruptedException {
        Section twice = Section.begin("twice");
        twice.end();
        twice.end();
        twice.close();
        Section.begin("never ended");
        Section first = Section.begin("overlapping");
        Section second = Section.begin("overlapping");
        first.end();
        second.end();
        Section elsewhere = Section.begin("ended elsewhere");
        Thread other = new Thread(elsewhere::end);
        other.start();
        other.join();
        Section.begin(null).end();
    }

    private static void manyNames() {
        for (int i = 0; i < 20_000; i++) {
            Section.begin("name " + i).end();
        }
    }

    private static void shared() {
        for (int i = 0; i < 1_000; i++) {
            Section.begin("shared").end();
        }
    }
}
