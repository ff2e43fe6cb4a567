package targets.mutation;

import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Ways of damaging a class file. */
enum Mutation {
    FLIPPED_BITS {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            for (int i = random.nextInt(3); i >= 0; i--) {
                bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
            }
            return bytes;
        }
    },
    CHANGED_BODY {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            int from = new ClassMap(bytes).poolEnd;
            bytes[from + random.nextInt(bytes.length - from)] = (byte) random.nextInt();
            return bytes;
        }
    },
    EXTREME_NUMBER {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            int[] extremes = {0, 1, 0xff, 0x7fff, 0x8000, 0xfffe, 0xffff};
            int from = new ClassMap(bytes).poolEnd;
            write(bytes, from + random.nextInt(bytes.length - from - 1), extremes[random.nextInt(extremes.length)]);
            return bytes;
        }
    },
    TRUNCATED {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            return Arrays.copyOf(bytes, random.nextInt(bytes.length));
        }
    },
    TRAILING_BYTES {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            return Arrays.copyOf(bytes, bytes.length + 1 + random.nextInt(10));
        }
    },
    OTHER_CONSTANT {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            int tag = pick(new ClassMap(bytes).constants, random);
            write(bytes, tag + 1 + 2 * random.nextInt(2), random.nextInt(300));
            return bytes;
        }
    },
    OTHER_TAG {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            bytes[pick(new ClassMap(bytes).constants, random)] = (byte) random.nextInt(22);
            return bytes;
        }
    },
    SWAPPED_ATTRIBUTES {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            List<Integer> attributes = new ClassMap(bytes).attributes;
            swapNumbers(bytes, pick(attributes, random), pick(attributes, random));
            return bytes;
        }
    },
    SWAPPED_MEMBERS {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            List<Integer> members = new ClassMap(bytes).members;
            // Flags, name or descriptor.
            int part = 2 * random.nextInt(3);
            swapNumbers(bytes, pick(members, random) + part, pick(members, random) + part);
            return bytes;
        }
    },
    OTHER_LENGTH {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            int length = pick(new ClassMap(bytes).attributes, random) + 4;
            write(bytes, length, random.nextInt(4) == 0 ? random.nextInt(65_536) : bytes[length + 1] + random.nextInt(9) - 4);
            return bytes;
        }
    },
    FOREIGN_POOL {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            int from = new ClassMap(bytes).poolEnd;
            int pool = new ClassMap(other).poolEnd;
            byte[] spliced = Arrays.copyOf(other, pool + bytes.length - from);
            System.arraycopy(bytes, from, spliced, pool, bytes.length - from);
            return spliced;
        }
    },
    OTHER_VERSION {
        @Override
        byte[] apply(byte[] bytes, byte[] other, Random random) {
            write(bytes, 6, 44 + random.nextInt(12));
            return bytes;
        }
    };

    /** Gives a damaged class; the bytes may be changed in place. */
    abstract byte[] apply(byte[] bytes, byte[] other, Random random);

    /** One of these places; the start of the file, the magic number, if there is none. */
    private static int pick(List<Integer> offsets, Random random) {
        return offsets.isEmpty() ? 0 : offsets.get(random.nextInt(offsets.size()));
    }

    private static void write(byte[] bytes, int offset, int number) {
        bytes[offset] = (byte) (number >> 8);
        bytes[offset + 1] = (byte) number;
    }

    private static void swapNumbers(byte[] bytes, int first, int second) {
        for (int i = 0; i < 2; i++) {
            byte kept = bytes[first + i];
            bytes[first + i] = bytes[second + i];
            bytes[second + i] = kept;
        }
    }
}
