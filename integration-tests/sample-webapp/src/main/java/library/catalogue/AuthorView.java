package library.catalogue;

import java.util.List;

/** An author as the interface shows it. */
public record AuthorView(long id, String name, List<BookView> books) {

    static AuthorView of(Author author) {
        return new AuthorView(author.getId(), author.getName(), author.getBooks().stream().map(BookView::of).toList());
    }
}
