package library.lending;

import library.NotFoundException;
import library.catalogue.Book;
import library.catalogue.BookRepository;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
@Transactional
public class LendingService {

    private static final int LOANS_AT_A_TIME = 9;

    private final MemberRepository members;
    private final LoanRepository loans;
    private final BookRepository books;

    public LendingService(MemberRepository members, LoanRepository loans, BookRepository books) {
        this.members = members;
        this.loans = loans;
        this.books = books;
    }

    public MemberView join(NewMember member) {
        return MemberView.of(members.save(new Member(member.name())));
    }

    @Transactional(readOnly = true)
    public MemberView member(long id) {
        return MemberView.of(find(id));
    }

    public LoanView lend(long memberId, String isbn, int day) {
        Member member = find(memberId);
        Book book = books.findById(isbn).orElseThrow(() -> new NotFoundException("book", isbn));
        if (loans.countOpen(member) >= LOANS_AT_A_TIME) {
            throw new RefusedException(member.getName() + " has too many books");
        }
        if (!book.take()) {
            throw new RefusedException("no copy of " + isbn + " is left");
        }
        return LoanView.of(loans.save(new Loan(member, book, day)));
    }

    public LoanView takeBack(long loanId, int day) {
        Loan loan = loans.findById(loanId).orElseThrow(() -> new NotFoundException("loan", loanId));
        if (!loan.isOpen()) {
            throw new RefusedException("loan " + loanId + " has ended");
        }
        loan.end(day);
        return LoanView.of(loan);
    }

    private Member find(long id) {
        return members.findById(id).orElseThrow(() -> new NotFoundException("member", id));
    }
}
