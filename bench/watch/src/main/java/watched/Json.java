package watched;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Parses and writes documents with Jackson. */
public final class Json {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        String text = document(400);
        long sum = 0;
        for (int round = 0; round < rounds; round++) {
            sum += tree(text);
            if (round % 4 == 0) sum += maps(text);
        }
        System.out.println("RESULT " + sum);
    }

    static String document(int orders) throws Exception {
        List<Map<String, Object>> list = new ArrayList<>();
        for (int i = 0; i < orders; i++) {
            list.add(Map.of(
                    "id", i,
                    "customer", Map.of("name", "customer \u00fc " + i, "city", "Town " + i % 17),
                    "prices", List.of(i * 1.25, i * 7L, -i),
                    "note", "a \"quoted\" line\nand another " + "x".repeat(i % 60)));
        }
        return MAPPER.writeValueAsString(list);
    }

    private static long tree(String text) throws Exception {
        JsonNode tree = MAPPER.readTree(text);
        long sum = 0;
        for (JsonNode order : tree) sum += order.get("id").asLong() + order.get("prices").size();
        return sum + MAPPER.writeValueAsString(tree).length();
    }

    private static long maps(String text) throws Exception {
        List<?> list = MAPPER.readValue(text, List.class);
        return MAPPER.writeValueAsBytes(list).length + list.size();
    }
}
