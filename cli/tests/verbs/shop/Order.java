package shop;

import java.util.ArrayList;
import java.util.List;

/** An order with its lines. */
public class Order implements Runnable {
    private final List<Line> lines = new ArrayList<>();

    /** What is ordered, how often. */
    static final class Line {
        final String article;
        final long count;

        Line(String article, long count) {
            if (count < 0) {
                throw new IllegalArgumentException("count " + count);
            }
            this.article = article;
            this.count = count;
        }

        @Override
        public String toString() {
            return count + " x " + article;
        }
    }

    public Order add(String article, long count) {
        lines.add(new Line(article, count));
        return this;
    }

    @Override
    public void run() {
        for (Line line : lines) {
            System.out.println(line);
        }
    }

    public long total() {
        long total = 0;
        for (Line line : lines) {
            total += line.count;
        }
        return total;
    }
}
