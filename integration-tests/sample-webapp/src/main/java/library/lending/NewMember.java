package library.lending;

import jakarta.validation.constraints.NotBlank;

/** What a client sends to join. */
public record NewMember(@NotBlank String name) {}
