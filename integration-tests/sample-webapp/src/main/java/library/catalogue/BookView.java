package library.catalogue;

/** A book as the interface shows it. */
public record BookView(String isbn, String title, String author, int year, int copies) {

    static BookView of(Book book) {
        return new BookView(book.getIsbn(), book.getTitle(), book.getAuthor().getName(), book.getYear(), book.getCopies());
    }
}
