package orders;

import java.util.List;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.http.HttpStatus;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The requests that nobody complains about. */
@RestController
public class ProductController {

    record ProductView(long id, String name, String price) {

        static ProductView of(Product product) {
            return new ProductView(product.getId(), product.getName(), Prices.text(product.getCents()));
        }
    }

    private final ProductRepository products;

    ProductController(ProductRepository products) {
        this.products = products;
    }

    @GetMapping("/products/{id}")
    @Transactional(readOnly = true)
    public ProductView one(@PathVariable("id") long id) {
        return products.findById(id).map(ProductView::of).orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
    }

    @GetMapping("/products")
    @Transactional(readOnly = true)
    public List<ProductView> page(@RequestParam(name = "page", defaultValue = "0") int page) {
        return products.findAll(PageRequest.of(page, 10, Sort.by("name"))).map(ProductView::of).getContent();
    }
}
