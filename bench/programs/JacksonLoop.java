import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A unit writes an order as JSON and reads it again, as objects and as a tree. */
public final class JacksonLoop {

    /** What is written and read. */
    public static final class Order {
        public long number;
        public String customer;
        public double total;
        public Map<String, String> address = new TreeMap<>();
        public List<Line> lines = new ArrayList<>();
    }

    /** A part of it. */
    public static final class Line {
        public String article;
        public int amount;
        public double price;
        public boolean inStock;
        public List<String> labels = new ArrayList<>();
    }

    private JacksonLoop() {}

    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        Measured.run(unit -> {
            Order order = order(unit);
            byte[] json = mapper.writeValueAsBytes(order);
            Order again = mapper.readValue(json, Order.class);
            Map<?, ?> loose = mapper.readValue(json, LinkedHashMap.class);
            int nodes = mapper.readTree(json).size();
            return json.length + again.lines.size() * 31L + loose.size() * 7L + nodes + Double.hashCode(again.total);
        });
    }

    private static Order order(int unit) {
        Order order = new Order();
        order.number = unit * 7919L;
        order.customer = "Customer \"" + unit % 100 + "\"";
        for (String key : List.of("street", "city", "country")) {
            order.address.put(key, key + " " + unit % 17);
        }
        for (int i = 0; i < 12; i++) {
            Line line = new Line();
            line.article = "article-" + (unit + i) % 50;
            line.amount = i + 1;
            line.price = (unit % 1000) / 8.0 + i;
            line.inStock = i % 3 != 0;
            line.labels.add("label " + i);
            order.total += line.amount * line.price;
            order.lines.add(line);
        }
        return order;
    }
}
