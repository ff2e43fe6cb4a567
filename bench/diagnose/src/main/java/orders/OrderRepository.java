package orders;

import java.util.List;
import org.springframework.data.jpa.repository.JpaRepository;

public interface OrderRepository extends JpaRepository<PlacedOrder, Long> {

    /** By an index. */
    List<PlacedOrder> findTop20ByCustomerOrderById(int customer);

    /** By reading all orders. */
    List<PlacedOrder> findTop20ByNoteContainingOrderByCentsDesc(String text);
}
