package orders;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** A shop's orders. Searching them by their note reads the whole table. */
@SpringBootApplication
public class OrdersApplication {

    public static void main(String[] arguments) {
        SpringApplication.run(OrdersApplication.class, arguments);
    }
}
