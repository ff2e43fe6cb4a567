package orders;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Table;

@Entity
@Table(name = "placed_order", indexes = @Index(name = "by_customer", columnList = "customer"))
public class PlacedOrder {

    @Id
    private Long id;
    private int customer;
    private long cents;
    private String note;

    protected PlacedOrder() {}

    public Long getId() {
        return id;
    }

    public int getCustomer() {
        return customer;
    }

    public long getCents() {
        return cents;
    }

    public String getNote() {
        return note;
    }
}
