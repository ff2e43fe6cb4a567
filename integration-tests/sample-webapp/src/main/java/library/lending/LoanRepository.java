package library.lending;

import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Query;

public interface LoanRepository extends JpaRepository<Loan, Long> {

    @Query("select count(l) from Loan l where l.member = :member and l.returnedDay is null")
    long countOpen(Member member);
}
