package library.lending;

import java.util.List;

/** A member as the interface shows it. */
public record MemberView(long id, String name, List<LoanView> loans) {

    static MemberView of(Member member) {
        return new MemberView(member.getId(), member.getName(), member.getLoans().stream().map(LoanView::of).toList());
    }
}
