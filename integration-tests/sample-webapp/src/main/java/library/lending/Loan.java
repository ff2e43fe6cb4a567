package library.lending;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import library.catalogue.Book;

/** One copy of a book in a member's hands. Days are numbers, given by the client. */
@Entity
public class Loan {

    static final int DAYS = 14;

    @Id
    @GeneratedValue
    private Long id;

    @ManyToOne(fetch = FetchType.LAZY, optional = false)
    private Member member;

    @ManyToOne(fetch = FetchType.LAZY, optional = false)
    private Book book;

    private int dueDay;

    private Integer returnedDay;

    protected Loan() {}

    public Loan(Member member, Book book, int day) {
        this.member = member;
        this.book = book;
        this.dueDay = day + DAYS;
    }

    public void end(int day) {
        returnedDay = day;
        book.putBack();
    }

    public boolean isOpen() {
        return returnedDay == null;
    }

    /** Returns how many days late the book was returned; 0 if in time. */
    public int daysLate() {
        return returnedDay == null ? 0 : Math.max(0, returnedDay - dueDay);
    }

    public Long getId() {
        return id;
    }

    public Member getMember() {
        return member;
    }

    public Book getBook() {
        return book;
    }

    public int getDueDay() {
        return dueDay;
    }
}
