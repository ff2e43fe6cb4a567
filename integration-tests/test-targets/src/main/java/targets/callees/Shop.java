package targets.callees;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/** A known graph of calls. Answers each line with the sum of what it has sold. */
public final class Shop {

    private static final List<Integer> SOLD = new ArrayList<>();

    private Shop() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        Class<?> hidden = new HidingLoader().define("targets.callees.Parts");
        Store generated = Stores.generated();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            int article = Integer.parseInt(line);
            long sum = sell(article, "it") + generated.load(article) + Parts.count(article);
            hidden.getMethod("count", int.class).invoke(null, article);
            System.out.println(sum);
        }
    }

    /** 0xb6, the opcode of invokevirtual, is an operand here. */
    static long sell(int article, String name) {
        long sum = price(article + 0xb6);
        if (article < -1_000_000) {
            recall(article);
        }
        Store store = Stores.of(article);
        sum += store.load(article);
        sum += discount(article);
        IntUnaryOperator tax = price -> tax(price, article);
        sum += tax.applyAsInt(1);
        SOLD.add(article);
        return sum + (name + article).length();
    }

    static long sell(String article) {
        return sell(Integer.parseInt(article), article);
    }

    private static long price(int article) {
        return base(article) + 1;
    }

    private static long discount(int article) {
        return base(-article);
    }

    private static long base(int article) {
        return rate(article) * 2;
    }

    private static long rate(int article) {
        return Math.abs(article) + System.nanoTime() % 1;
    }

    private static int tax(int price, int article) {
        return price + article;
    }

    private static void recall(int article) {
        throw new IllegalStateException("article " + article);
    }
}
