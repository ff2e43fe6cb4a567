package orders;

record OrderView(long id, int customer, String price, String note) {

    static OrderView of(PlacedOrder order) {
        return new OrderView(order.getId(), order.getCustomer(), Prices.text(order.getCents()), order.getNote());
    }
}
