package orders;

import java.util.List;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
public class OrderService {

    private final OrderRepository repository;

    OrderService(OrderRepository repository) {
        this.repository = repository;
    }

    @Transactional(readOnly = true)
    public List<OrderView> search(String by, String value) {
        List<PlacedOrder> found = by.equals("note") ? ofNote(value) : ofCustomer(value);
        return found.stream().map(OrderView::of).toList();
    }

    private List<PlacedOrder> ofCustomer(String value) {
        return repository.findTop20ByCustomerOrderById(Integer.parseInt(value));
    }

    private List<PlacedOrder> ofNote(String value) {
        return repository.findTop20ByNoteContainingOrderByCentsDesc(value);
    }
}
