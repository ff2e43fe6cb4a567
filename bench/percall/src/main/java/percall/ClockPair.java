package percall;

/** The same method with two clock readings written by hand: what exact times cost at least. */
final class ClockPair extends Monitored {
    private long spent;

    @Override
    long call(int depth) {
        long start = System.nanoTime();
        try {
            long x = state;
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            state = x;
            return depth == 0 ? x : call(depth - 1) ^ depth;
        } finally {
            spent += System.nanoTime() - start;
        }
    }

    long spent() {
        return spent;
    }
}
