package shop;

/** Makes an order and prints it. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        Order order = new Order().add("tea", 2).add("bread", 1);
        order.run();
        System.out.println("TOTAL " + order.total());
        try {
            order.add("nothing", -1);
        } catch (IllegalArgumentException refused) {
            System.out.println("REFUSED " + refused.getMessage());
        }
    }
}
