package library.catalogue;

import java.util.List;
import library.NotFoundException;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
@Transactional(readOnly = true)
public class CatalogueService {

    private final AuthorRepository authors;
    private final BookRepository books;

    public CatalogueService(AuthorRepository authors, BookRepository books) {
        this.authors = authors;
        this.books = books;
    }

    public Page<BookView> page(Pageable page) {
        return books.findAll(page).map(BookView::of);
    }

    public BookView find(String isbn) {
        return books.findById(isbn).map(BookView::of).orElseThrow(() -> new NotFoundException("book", isbn));
    }

    public List<BookView> search(String titlePart) {
        return books.findByTitleContainingIgnoreCaseOrderByIsbn(titlePart).stream().map(BookView::of).toList();
    }

    public AuthorView author(long id) {
        return authors.findWithBooksById(id).map(AuthorView::of).orElseThrow(() -> new NotFoundException("author", id));
    }

    public List<AuthorTotal> totals() {
        return books.totalsByAuthor();
    }

    @Transactional
    public BookView add(NewBook added) {
        Author author = authors.findById(added.author()).orElseThrow(() -> new NotFoundException("author", added.author()));
        Book book = new Book(added.isbn(), added.title(), added.year(), added.copies(), author);
        return BookView.of(books.save(book));
    }
}
