package orders;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

@Entity
public class Product {

    @Id
    private Long id;
    private String name;
    private long cents;

    protected Product() {}

    public Long getId() {
        return id;
    }

    public String getName() {
        return name;
    }

    public long getCents() {
        return cents;
    }
}
