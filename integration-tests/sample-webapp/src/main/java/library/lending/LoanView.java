package library.lending;

/** A loan as the interface shows it. */
public record LoanView(long id, String member, String title, int dueDay, boolean open, int daysLate) {

    static LoanView of(Loan loan) {
        return new LoanView(loan.getId(), loan.getMember().getName(), loan.getBook().getTitle(), loan.getDueDay(), loan.isOpen(),
                loan.daysLate());
    }
}
