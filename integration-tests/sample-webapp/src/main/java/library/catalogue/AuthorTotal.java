package library.catalogue;

/** How much of one author's work the library holds. */
public record AuthorTotal(String author, long books, long copies) {}
