package targets.library;

import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.CountDownLatch;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Features that are newer than Java 11. Found by name. */
public final class ModernTopics implements Runnable {

    record Point(int x, long y, List<String> names) implements Comparable<Point>, java.io.Serializable {
        Point {
            if (x < 0) {
                throw new IllegalArgumentException("x " + x);
            }
        }

        @Override
        public int compareTo(Point other) {
            return Integer.compare(x, other.x);
        }
    }

    sealed interface Shape permits Circle, Square {}

    record Circle(double radius) implements Shape {}

    record Square(double side) implements Shape {}

    @Override
    public void run() {
        LibraryTour.show("records", () -> {
            Point point = new Point(1, 2, List.of("n"));
            return point + " " + point.equals(new Point(1, 2, List.of("n"))) + point.hashCode() + Point.class.getRecordComponents()[1];
        });
        LibraryTour.show("refused record", () -> new Point(-1, 0, List.of()));
        LibraryTour.show("sealed", () -> area(new Circle(1)) + area(new Square(2)) + Shape.class.getPermittedSubclasses().length);
        LibraryTour.show("text block", () -> """
                two
                  lines\
                """.translateEscapes().formatted());
        LibraryTour.show("hex", () -> HexFormat.ofDelimiter(":").formatHex(new byte[] {1, (byte) 0xff}));
        LibraryTour.show("generators", () -> {
            RandomGenerator generator = RandomGeneratorFactory.of("L64X128MixRandom").create(42);
            return generator.nextLong() + " " + generator.nextDouble();
        });
        LibraryTour.show("newer streams", () -> Stream.of(1, 2, 3).<Integer>mapMulti((n, sink) -> {
            sink.accept(n);
            sink.accept(-n);
        }).toList() + Stream.of(1, 2).collect(Collectors.teeing(Collectors.counting(), Collectors.summingInt(n -> n), (a, b) -> a
                + "/" + b)));
        LibraryTour.show("flow", ModernTopics::flow);
    }

    private static double area(Shape shape) {
        if (shape instanceof Circle circle) {
            return Math.PI * circle.radius() * circle.radius();
        }
        return shape instanceof Square square ? square.side() * square.side() : 0;
    }

    private static Object flow() throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        StringBuffer seen = new StringBuffer();
        try (SubmissionPublisher<Integer> publisher = new SubmissionPublisher<>()) {
            publisher.subscribe(new Flow.Subscriber<>() {
                @Override
                public void onSubscribe(Flow.Subscription subscription) {
                    subscription.request(Long.MAX_VALUE);
                }

                @Override
                public void onNext(Integer item) {
                    seen.append(item);
                }

                @Override
                public void onError(Throwable thrown) {
                    done.countDown();
                }

                @Override
                public void onComplete() {
                    done.countDown();
                }
            });
            List.of(1, 2, 3).forEach(publisher::submit);
        }
        done.await();
        return seen;
    }
}
