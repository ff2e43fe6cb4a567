package library;

import org.springframework.http.HttpStatus;
import org.springframework.web.server.ResponseStatusException;

/** Answers 404. */
public class NotFoundException extends ResponseStatusException {

    public NotFoundException(String what, Object key) {
        super(HttpStatus.NOT_FOUND, "no " + what + " " + key);
    }
}
