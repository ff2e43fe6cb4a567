package percall;

/**
 * The method that is monitored. Each call takes one step of a pseudo-random sequence: it depends on the step before, so
 * the JIT can inline the calls but cannot fold them together. There is no other method here that a peer could time too.
 */
class Monitored {
    long state = System.nanoTime() | 1;

    long call(int depth) {
        long x = state;
        x ^= x << 13;
        x ^= x >>> 7;
        x ^= x << 17;
        state = x;
        return depth == 0 ? x : call(depth - 1) ^ depth;
    }
}
