/** A program that asks a database which instr does not know. */
public class Shop {
    public static void main(String[] arguments) throws InterruptedException {
        for (int order = 0; order < 40; order++) {
            query("SELECT total FROM orders WHERE id = ?");
            if (order % 4 == 0) query("UPDATE stock SET pieces = pieces - 1");
        }
    }

    static void query(String text) throws InterruptedException {
        Thread.sleep(text.length() / 10);
    }
}
