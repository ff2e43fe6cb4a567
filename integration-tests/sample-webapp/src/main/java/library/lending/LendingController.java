package library.lending;

import jakarta.validation.Valid;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
public class LendingController {

    private final LendingService lending;

    public LendingController(LendingService lending) {
        this.lending = lending;
    }

    @PostMapping("/members")
    @ResponseStatus(HttpStatus.CREATED)
    public MemberView join(@Valid @RequestBody NewMember member) {
        return lending.join(member);
    }

    @GetMapping("/members/{id}")
    public MemberView member(@PathVariable long id) {
        return lending.member(id);
    }

    @PostMapping("/loans")
    public LoanView lend(@RequestParam long member, @RequestParam String isbn, @RequestParam int day) {
        return lending.lend(member, isbn, day);
    }

    @PostMapping("/loans/{id}/return")
    public LoanView takeBack(@PathVariable long id, @RequestParam int day) {
        return lending.takeBack(id, day);
    }

    @ExceptionHandler
    ProblemDetail refused(RefusedException refused) {
        return ProblemDetail.forStatusAndDetail(HttpStatus.CONFLICT, refused.getMessage());
    }
}
