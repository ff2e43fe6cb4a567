package library;

import java.util.ArrayList;
import java.util.List;
import library.catalogue.Author;
import library.catalogue.AuthorRepository;
import library.catalogue.Book;
import library.catalogue.BookRepository;
import library.lending.Member;
import library.lending.MemberRepository;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/** Fills the empty database, always with the same rows under the same keys. */
@Component
class SampleData implements ApplicationRunner {

    private static final String[] SUBJECTS = {"Light", "Clocks", "the Sea", "Bread", "the Moor", "Iron", "Small Rivers", "Salt"};
    private static final String[] KINDS = {"A History of", "The Last of the", "Letters on", "The Colour of", "Maps of"};

    private final AuthorRepository authors;
    private final BookRepository books;
    private final MemberRepository members;

    SampleData(AuthorRepository authors, BookRepository books, MemberRepository members) {
        this.authors = authors;
        this.books = books;
        this.members = members;
    }

    @Override
    @Transactional
    public void run(ApplicationArguments arguments) {
        List<Book> shelf = new ArrayList<>();
        for (int a = 0; a < SUBJECTS.length; a++) {
            Author author = authors.save(new Author("Author " + (char) ('A' + a)));
            for (int kind = 0; kind < KINDS.length; kind++) {
                int number = a * KINDS.length + kind + 1;
                String title = KINDS[kind] + " " + SUBJECTS[(a + kind) % SUBJECTS.length];
                shelf.add(new Book("isbn-" + number, title, 1900 + number * 3, 2 + number % 4, author));
            }
        }
        books.saveAll(shelf);
        for (String name : List.of("Ada", "Blaise", "Carl", "Emmy", "Kurt")) {
            members.save(new Member(name));
        }
    }
}
