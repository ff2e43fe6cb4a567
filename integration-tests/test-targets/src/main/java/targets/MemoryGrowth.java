package targets;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How far the process grows while it does the same again and again. What leaks, leaks in every part of a run; what a busy machine
 * adds, it adds in one part or another. So a run is looked at in four parts, and the least growth of the later three counts.
 */
final class MemoryGrowth {

    private static final int PARTS = 4;

    private long last = -1;
    private long least = Long.MAX_VALUE;

    /** Looks at the memory whenever another quarter is done. */
    void done(int number, int of) {
        if ((long) number * PARTS / of != (number - 1L) * PARTS / of) {
            look();
        }
    }

    /** Looks at the memory at the end of a part. */
    void look() {
        long now = residentKilobytes();
        if (last >= 0) {
            least = Math.min(least, now - last);
        }
        last = now;
    }

    /** Least growth from one look to the next. */
    long leastKilobytes() {
        return least;
    }

    static long residentKilobytes() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", ""));
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        throw new IllegalStateException("no VmRSS");
    }
}
