package targets.features;

import targets.Calls;

/** Switches by table, by search, by string, inside each other and inside loops. */
final class Switches {

    private static final String PREFIX = "targets.features.Switches.";

    private Switches() {}

    static String run() {
        StringBuilder out = new StringBuilder();
        for (int i = -1; i < 7; i++) {
            out.append(table(i));
        }
        for (int key : new int[] {Integer.MIN_VALUE, -5, 0, 1_000, 99_999, Integer.MAX_VALUE}) {
            out.append(' ').append(search(key));
        }
        // Two strings with one hash code.
        return out.append(' ').append(string("Aa")).append(string("BB")).append(string("C")).append(nested(2, 3)).toString();
    }

    static char table(int n) {
        Calls.one(PREFIX + "table");
        switch (n) {
            case 0:
                return 'a';
            case 1:
                n++;
            case 2:
                return (char) ('b' + n);
            case 3:
            case 5:
                return 'o';
            default:
                return '?';
        }
    }

    static String search(int key) {
        Calls.one(PREFIX + "search");
        switch (key) {
            case Integer.MIN_VALUE:
                return "min";
            case -5:
                return "minus";
            case 1_000:
                return "thousand";
            case Integer.MAX_VALUE:
                return "max";
            default:
                return "other" + key;
        }
    }

    static int string(String text) {
        Calls.one(PREFIX + "string");
        switch (text) {
            case "Aa":
                return 1;
            case "BB":
                return 2;
            default:
                return 3;
        }
    }

    static int nested(int a, int b) {
        Calls.one(PREFIX + "nested");
        int sum = 0;
        for (int i = 0; i < 4; i++) {
            switch (a + i) {
                case 2:
                    switch (b) {
                        case 3:
                            sum += 5;
                            break;
                        default:
                            continue;
                    }
                    break;
                case 4:
                    sum += 100;
                    continue;
                default:
                    sum++;
            }
            sum *= 2;
        }
        return sum;
    }
}
