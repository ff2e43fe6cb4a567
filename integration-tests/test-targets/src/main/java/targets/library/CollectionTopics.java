package targets.library;

import static targets.library.LibraryTour.show;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Collections, streams, random numbers. */
final class CollectionTopics {

    private CollectionTopics() {}

    private enum Colour { RED, GREEN, BLUE }

    static void visitAll() {
        show("maps", CollectionTopics::maps);
        show("colliding keys", CollectionTopics::collidingKeys);
        show("lists", CollectionTopics::lists);
        show("sorting", CollectionTopics::sorting);
        show("navigation", CollectionTopics::navigation);
        show("streams", CollectionTopics::streams);
        show("parallel streams", () -> LongStream.rangeClosed(1, 5_000).parallel().map(n -> n * n % 7).sum());
        show("immutable", CollectionTopics::immutable);
        show("fail fast", CollectionTopics::failFast);
        show("random", () -> new Random(42).ints(5).boxed().collect(Collectors.toList()));
        show("bits", CollectionTopics::bits);
    }

    private static Object maps() {
        Map<Integer, String> hash = new HashMap<>();
        Map<Integer, String> linked = new LinkedHashMap<>(16, 0.75f, true);
        Map<Object, String> identity = new IdentityHashMap<>();
        Map<Object, String> weak = new WeakHashMap<>();
        Map<Colour, Integer> colours = new EnumMap<>(Colour.class);
        for (int i = 0; i < 3_000; i++) {
            hash.put(i * 31, "v" + i);
            linked.put(i % 100, "v" + i);
            identity.put("k" + i, "v");
            colours.merge(Colour.values()[i % 3], i, Integer::sum);
        }
        weak.put(Colour.RED, "red");
        hash.keySet().removeIf(key -> key % 2 == 0);
        hash.replaceAll((key, value) -> value + key);
        linked.get(3);
        return hash.hashCode() + " " + hash.size() + " " + linked.keySet().hashCode() + " " + identity.size() + " " + weak + colours;
    }

    /** All in one bin, which becomes a tree and a list again. */
    private static Object collidingKeys() {
        Map<Colliding, Integer> map = new HashMap<>();
        for (int i = 0; i < 200; i++) {
            map.put(new Colliding(i), i);
        }
        int before = map.get(new Colliding(123));
        map.keySet().removeIf(key -> key.number > 2);
        return before + " " + map.values();
    }

    private static Object lists() {
        List<Integer> array = new ArrayList<>(List.of(5, 3, 8));
        array.addAll(1, List.of(7, 9));
        LinkedList<Integer> linked = new LinkedList<>(array);
        linked.addFirst(0);
        ArrayDeque<Integer> deque = new ArrayDeque<>(linked);
        deque.offerLast(deque.pollFirst());
        Collections.rotate(array, 2);
        Collections.shuffle(array, new Random(1));
        return array + " " + linked.subList(1, 3) + " " + deque + " " + Collections.frequency(array, 7)
                + Arrays.asList(1, 2).hashCode();
    }

    private static Object sorting() {
        int[] numbers = new Random(7).ints(3_000, 0, 1_000_000).toArray();
        int[] copy = numbers.clone();
        Arrays.sort(copy);
        Integer[] boxed = IntStream.of(numbers).boxed().toArray(Integer[]::new);
        Arrays.sort(boxed, Collections.reverseOrder());
        Arrays.parallelPrefix(numbers, Integer::sum);
        PriorityQueue<String> queue = new PriorityQueue<>((a, b) -> b.compareTo(a));
        Collections.addAll(queue, "b", "c", "a");
        return Arrays.hashCode(copy) + " " + Arrays.hashCode(boxed) + " " + numbers[999] + " " + Arrays.binarySearch(copy, copy[500])
                + queue.poll() + queue.poll();
    }

    private static Object navigation() {
        TreeMap<String, Integer> map = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        for (String word : "the quick brown fox jumps over The lazy dog".split(" ")) {
            map.merge(word, 1, Integer::sum);
        }
        TreeSet<Integer> set = IntStream.range(0, 100).boxed().collect(Collectors.toCollection(TreeSet::new));
        return map.headMap("m", true) + " " + map.ceilingKey("g") + " " + map.descendingMap()
                + set.subSet(10, true, 15, false).descendingSet();
    }

    private static Object streams() {
        Map<Integer, Long> lengths = Stream.of("a", "bb", "cc", "ddd")
                .collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.counting()));
        String joined = IntStream.iterate(1, n -> n * 3).limit(10).mapToObj(Integer::toHexString)
                .collect(Collectors.joining(",", "<", ">"));
        double average = IntStream.rangeClosed(1, 9).asDoubleStream().map(Math::sqrt).average().orElse(0);
        List<String> flat = Stream.of(List.of("x", "y"), List.of("z")).flatMap(List::stream).sorted(Collections.reverseOrder())
                .collect(Collectors.toList());
        Iterator<Integer> iterator = Stream.of(1, 2, 3, 4).takeWhile(n -> n < 4).dropWhile(n -> n < 2).iterator();
        return lengths + joined + average + flat + iterator.next() + Stream.of(1, 1, 2).distinct().count();
    }

    private static Object immutable() {
        List<Object> seen = new ArrayList<>(List.of(Map.of("k", 1), List.copyOf(List.of(1, 2)), Collections.nCopies(2, "n")));
        try {
            Collections.unmodifiableList(seen).add("more");
        } catch (UnsupportedOperationException expected) {
            seen.add(expected.getMessage());
        }
        return seen;
    }

    private static Object failFast() {
        List<Integer> list = new ArrayList<>(List.of(1, 2, 3));
        for (Integer number : list) {
            list.remove(number);
        }
        return list;
    }

    private static Object bits() {
        BitSet bits = new BitSet();
        bits.set(3, 70);
        bits.flip(5);
        return bits.cardinality() + " " + bits.nextClearBit(3) + " " + Long.bitCount(0xF0F0L) + Integer.reverse(77)
                + UUID.nameUUIDFromBytes(new byte[] {1, 2, 3}) + Math.floorMod(-7, 3) + Long.toUnsignedString(-1)
                + Double.toHexString(0.1);
    }

    private static final class Colliding implements Comparable<Colliding> {

        private final int number;

        Colliding(int number) {
            this.number = number;
        }

        @Override
        public int hashCode() {
            return 1;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Colliding && ((Colliding) other).number == number;
        }

        @Override
        public int compareTo(Colliding other) {
            return Integer.compare(number, other.number);
        }
    }
}
