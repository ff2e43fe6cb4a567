package targets;

import java.util.ArrayList;
import java.util.List;

/**
 * Pairs of methods: one as anybody writes it, and one with the template already in it, as one would have to write it for javac to
 * lay it out as the merge does. Javac's frames for the second are what the merge has to make out of those of the first. The
 * second declares the locals of the first at once, so that they get the same slots, and then the result's.
 */
final class ByHand {
    private int field;

    private ByHand() {}

    static int sign(int n) {
        if (n > 0) {
            return 1;
        }
        if (n < 0) {
            return -1;
        }
        return 0;
    }

    static int sign$clock(int n) {
        int result;
        long start = System.nanoTime();
        try {
            target: {
                if (n > 0) {
                    result = 1;
                    break target;
                }
                if (n < 0) {
                    result = -1;
                    break target;
                }
                result = 0;
            }
        } finally {
            Math.abs(System.nanoTime() - start);
        }
        return result;
    }

    static int sign$loops(int n) {
        int result;
        int before = 0;
        while (before < 2) {
            before++;
        }
        target: {
            if (n > 0) {
                result = 1;
                break target;
            }
            if (n < 0) {
                result = -1;
                break target;
            }
            result = 0;
        }
        do {
            before--;
        } while (before > 0);
        probe.Log.note("left" + before);
        return result;
    }

    static long sum(int n, long[] values) {
        long sum = 0;
        int i = 0;
        while (i < n) {
            if (values[i] < 0) {
                return -1;
            }
            int weight = i % 3;
            sum += values[i] * weight;
            i++;
        }
        return sum;
    }

    static long sum$clock(int n, long[] values) {
        long sum;
        int i;
        int weight;
        long result;
        long start = System.nanoTime();
        try {
            target: {
                sum = 0;
                i = 0;
                while (i < n) {
                    if (values[i] < 0) {
                        result = -1;
                        break target;
                    }
                    weight = i % 3;
                    sum += values[i] * weight;
                    i++;
                }
                result = sum;
            }
        } finally {
            Math.abs(System.nanoTime() - start);
        }
        return result;
    }

    /** Types meet that have only an interface in common; the stack is not empty at a jump's target. */
    static Object pick(int n, List<String> names) {
        Comparable<?> one = n > 3 ? "text" : Integer.valueOf(n);
        Object two = names;
        if (n == 7) {
            two = new ArrayList<>(n > 8 ? names : new ArrayList<String>());
        }
        if (two == one) {
            return one;
        }
        return two;
    }

    static Object pick$clock(int n, List<String> names) {
        Comparable<?> one;
        Object two;
        Object result;
        long start = System.nanoTime();
        try {
            target: {
                one = n > 3 ? "text" : Integer.valueOf(n);
                two = names;
                if (n == 7) {
                    two = new ArrayList<>(n > 8 ? names : new ArrayList<String>());
                }
                if (two == one) {
                    result = one;
                    break target;
                }
                result = two;
            }
        } finally {
            Math.abs(System.nanoTime() - start);
        }
        return result;
    }

    void choose(int n) {
        switch (n) {
            case 1:
                field = 2;
                return;
            case 2:
                field = n > 0 ? 4 : 5;
                break;
            case 1000:
                for (field = 0; field < 9; field++) {
                    if (field == n) {
                        return;
                    }
                }
                break;
            default:
                field++;
        }
        field--;
    }

    void choose$clock(int n) {
        long start = System.nanoTime();
        try {
            target: {
                switch (n) {
                    case 1:
                        field = 2;
                        break target;
                    case 2:
                        field = n > 0 ? 4 : 5;
                        break;
                    case 1000:
                        for (field = 0; field < 9; field++) {
                            if (field == n) {
                                break target;
                            }
                        }
                        break;
                    default:
                        field++;
                }
                field--;
            }
        } finally {
            Math.abs(System.nanoTime() - start);
        }
    }

    double[] fill(double[] values, float by, String name) {
        double[] filled = values;
        int i;
        int k;
        for (i = 0; i < filled.length; i++) {
            for (k = i; k > 0; k--) {
                filled[k] += by;
            }
        }
        if (name == null) {
            return null;
        }
        return filled;
    }

    double[] fill$loops(double[] values, float by, String name) {
        double[] filled;
        int i;
        int k;
        double[] result;
        int before = 0;
        while (before < 2) {
            before++;
        }
        target: {
            filled = values;
            for (i = 0; i < filled.length; i++) {
                for (k = i; k > 0; k--) {
                    filled[k] += by;
                }
            }
            if (name == null) {
                result = null;
                break target;
            }
            result = filled;
        }
        do {
            before--;
        } while (before > 0);
        probe.Log.note("left" + before);
        return result;
    }
}
