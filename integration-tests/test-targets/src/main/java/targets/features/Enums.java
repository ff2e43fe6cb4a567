package targets.features;

import java.util.EnumMap;
import java.util.Map;
import targets.Calls;

/** Enums with bodies, fields and interfaces. */
final class Enums {

    private Enums() {}

    static String run() {
        Map<Operation, Integer> results = new EnumMap<>(Operation.class);
        for (Operation operation : Operation.values()) {
            results.put(operation, operation.apply(7, 3));
        }
        String unknown;
        try {
            unknown = Operation.valueOf("DIVIDE").name();
        } catch (IllegalArgumentException thrown) {
            unknown = "unknown";
        }
        return results + " " + unknown + " " + name(Operation.TIMES) + " " + Operation.MINUS.getDeclaringClass().getSimpleName();
    }

    private static String name(Operation operation) {
        switch (operation) {
            case PLUS:
                return "sum";
            case TIMES:
                return "product";
            default:
                return operation.symbol;
        }
    }

    enum Operation {
        PLUS("+") {
            @Override
            int apply(int a, int b) {
                return counted(a + b);
            }
        },
        MINUS("-") {
            @Override
            int apply(int a, int b) {
                return counted(a - b);
            }
        },
        TIMES("*") {
            @Override
            int apply(int a, int b) {
                return counted(a * b);
            }
        };

        final String symbol;

        Operation(String symbol) {
            this.symbol = symbol;
        }

        abstract int apply(int a, int b);

        static int counted(int result) {
            Calls.one("targets.features.Enums$Operation.counted");
            return result;
        }
    }
}
