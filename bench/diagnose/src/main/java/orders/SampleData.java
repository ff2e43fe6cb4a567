package orders;

import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;

@Component
class SampleData implements ApplicationRunner {

    private static final int ORDERS = 200_000;
    private static final int CUSTOMERS = 5_000;
    private static final int PRODUCTS = 200;

    private final JdbcTemplate jdbc;

    SampleData(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    @Override
    public void run(ApplicationArguments arguments) {
        jdbc.update("insert into product (id, name, cents) select x, 'product ' || mod(x * 37, " + PRODUCTS + "), mod(x * 7919, 100000)"
                + " from system_range(1, " + PRODUCTS + ")");
        jdbc.update("insert into placed_order (id, customer, cents, note) select x, mod(x, " + CUSTOMERS + "), mod(x * 7919, 100000),"
                + " 'leave at door ' || mod(x * 31, 997) || ' and ring twice' from system_range(1, " + ORDERS + ")");
    }
}
