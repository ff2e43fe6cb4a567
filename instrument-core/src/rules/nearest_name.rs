//! "Did you mean ...?": the known name that is closest to a mistyped one.

/// The candidate nearest to `name`, if one is near enough to be what was meant. Case and `-` against `_` count nothing.
pub fn nearest_name<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = folded(name);
    let limit = (wanted.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &folded(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A sentence with the nearest name, or with the whole choice if it is short.
pub fn suggest(name: &str, candidates: &[&str]) -> Option<String> {
    match nearest_name(name, candidates.iter().copied()) {
        Some(nearest) => Some(format!("did you mean `{nearest}`?")),
        None if candidates.is_empty() || candidates.len() > 16 => None,
        None => Some(format!("known are {}", quoted_list(candidates, "and"))),
    }
}

/// "`a`, `b` and `c`", with a word of choice for the last.
pub fn quoted_list(names: &[&str], word: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [front @ .., last] => format!("{} {word} {last}", front.join(", ")),
    }
}

fn folded(name: &str) -> Vec<char> {
    name.chars().map(|character| if character == '_' { '-' } else { character.to_ascii_lowercase() }).collect()
}

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut previous_from = None;
    for (row, &from_char) in from.iter().enumerate() {
        let mut current = Vec::with_capacity(to.len() + 1);
        current.push(row + 1);
        let mut left = row + 1;
        let mut previous_to = None;
        for (column, &to_char) in to.iter().enumerate() {
            let cell = |line: &[usize], at: usize| line.get(at).copied().unwrap_or(usize::MAX - 1);
            let replaced = cell(&last, column) + usize::from(from_char != to_char);
            let mut best = replaced.min(cell(&last, column + 1) + 1).min(left + 1);
            if previous_from == Some(to_char) && previous_to == Some(from_char) && column > 0 {
                best = best.min(cell(&before_last, column - 1) + 1);
            }
            current.push(best);
            left = best;
            previous_to = Some(to_char);
        }
        before_last = std::mem::replace(&mut last, current);
        previous_from = Some(from_char);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        let count = |from: &str, to: &str| distance(&folded(from), &folded(to));
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("level", "level"), 0);
        assert_eq!(count("levle", "level"), 1);
        assert_eq!(count("lvl", "level"), 2);
        assert_eq!(count("on_error", "on-error"), 0);
        assert_eq!(count("kitten", "sitting"), 3);
    }

    #[test]
    fn suggests_only_what_is_near() {
        let keys = ["class", "extends", "method", "level", "mode"];
        assert_eq!(nearest_name("levl", keys), Some("level"));
        assert_eq!(nearest_name("Methods", keys), Some("method"));
        assert_eq!(nearest_name("clss", keys), Some("class"));
        assert_eq!(nearest_name("colour", keys), None);
        assert_eq!(nearest_name("x", ["y"]), None);
        assert_eq!(nearest_name("", keys), None);
    }
}
