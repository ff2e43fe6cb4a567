package library.catalogue;

import jakarta.validation.Valid;
import java.util.List;
import org.springframework.data.domain.Pageable;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
public class CatalogueController {

    private final CatalogueService catalogue;

    public CatalogueController(CatalogueService catalogue) {
        this.catalogue = catalogue;
    }

    @GetMapping("/books")
    public List<BookView> books(Pageable page) {
        return catalogue.page(page).getContent();
    }

    @GetMapping("/books/{isbn}")
    public BookView book(@PathVariable String isbn) {
        return catalogue.find(isbn);
    }

    @GetMapping("/books/search")
    public List<BookView> search(@RequestParam String title) {
        return catalogue.search(title);
    }

    @PostMapping("/books")
    @ResponseStatus(HttpStatus.CREATED)
    public BookView add(@Valid @RequestBody NewBook book) {
        return catalogue.add(book);
    }

    @GetMapping("/authors/{id}")
    public AuthorView author(@PathVariable long id) {
        return catalogue.author(id);
    }

    @GetMapping("/statistics")
    public List<AuthorTotal> statistics() {
        return catalogue.totals();
    }
}
