package library.catalogue;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Positive;

/** What a client sends to add a book. */
public record NewBook(
        @NotBlank String isbn, @NotBlank String title, long author, @Min(0) @Max(2100) int year, @Positive int copies) {}
