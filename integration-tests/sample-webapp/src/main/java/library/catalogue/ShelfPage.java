package library.catalogue;

import java.util.stream.Collectors;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.util.HtmlUtils;

/** The one page for people: the books on the shelf. */
@RestController
public class ShelfPage {

    private static final int ROWS = 25;

    private final CatalogueService catalogue;

    public ShelfPage(CatalogueService catalogue) {
        this.catalogue = catalogue;
    }

    @GetMapping(value = "/shelf.html", produces = MediaType.TEXT_HTML_VALUE)
    public String show() {
        return catalogue.page(PageRequest.of(0, ROWS, Sort.by("isbn"))).stream()
                .map(ShelfPage::row)
                .collect(Collectors.joining("\n", "<!doctype html><title>Shelf</title><table>\n", "\n</table>"));
    }

    private static String row(BookView book) {
        return "<tr><td>%s<td>%s<td>%s<td>%d"
                .formatted(book.isbn(), HtmlUtils.htmlEscape(book.title()), HtmlUtils.htmlEscape(book.author()), book.copies());
    }
}
