package library.catalogue;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.Version;

@Entity
public class Book {

    @Id
    private String isbn;

    private String title;

    @Column(name = "published")
    private int year;

    private int copies;

    @ManyToOne(fetch = FetchType.LAZY, optional = false)
    private Author author;

    @Version
    private int version;

    protected Book() {}

    public Book(String isbn, String title, int year, int copies, Author author) {
        this.isbn = isbn;
        this.title = title;
        this.year = year;
        this.copies = copies;
        this.author = author;
    }

    /** Takes one copy from the shelf; false if none is left. */
    public boolean take() {
        if (copies == 0) {
            return false;
        }
        copies--;
        return true;
    }

    public void putBack() {
        copies++;
    }

    public String getIsbn() {
        return isbn;
    }

    public String getTitle() {
        return title;
    }

    public int getYear() {
        return year;
    }

    public int getCopies() {
        return copies;
    }

    public Author getAuthor() {
        return author;
    }
}
