//! One entry of a rule's `method`: `name`, `name(type, *)` or `name(type, ..) return`.

use classfile::descriptor::MethodDescriptor;

use super::name_glob::NameGlob;
use super::pattern_error::PatternError;
use super::type_pattern::TypePattern;

/// A pattern over the methods of a class. `*` in the parameter list is one type, `..` any number of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodPattern {
    /// True for `!pattern`, which takes methods away again.
    pub negated: bool,
    text: String,
    name: NameGlob,
    parameters: Option<Parameters>,
    result: Option<TypePattern>,
}

/// Types before and after the one `..` that may stand in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Parameters {
    front: Vec<TypePattern>,
    open: bool,
    back: Vec<TypePattern>,
}

impl MethodPattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<MethodPattern, PatternError> {
        let positive = text.strip_prefix('!').unwrap_or(text);
        let offset = text.len() - positive.len();
        let read = parse_positive(positive).map_err(|error| error.shifted(offset))?;
        Ok(MethodPattern { negated: offset > 0, text: text.to_owned(), ..read })
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if it matches every method.
    pub fn is_everything(&self) -> bool {
        self.name.text() == "*"
            && self.parameters.as_ref().is_none_or(|p| *p == Parameters::any())
            && self.result.is_none()
    }

    /// The name, if the pattern has no wildcard in it: the user then means this method and no other.
    pub fn literal_name(&self) -> Option<&[u8]> {
        self.name.exact()
    }

    /// Does it match this method (`!` not considered)?
    pub fn matches(&self, name: &[u8], descriptor: &[u8]) -> bool {
        self.name.matches(name) && self.matches_types(descriptor)
    }

    fn matches_types(&self, descriptor: &[u8]) -> bool {
        if self.parameters.is_none() && self.result.is_none() {
            return true;
        }
        let Ok(descriptor) = MethodDescriptor::parse(descriptor) else { return false };
        self.parameters.as_ref().is_none_or(|parameters| parameters.match_all_of(&descriptor))
            && self.result.as_ref().is_none_or(|result| result.matches(descriptor.return_type()))
    }
}

impl Parameters {
    fn any() -> Parameters {
        Parameters { open: true, ..Parameters::default() }
    }

    fn match_all_of(&self, descriptor: &MethodDescriptor<'_>) -> bool {
        let count = descriptor.parameters().count();
        let listed = self.front.len() + self.back.len();
        if count < listed || (count > listed && !self.open) {
            return false;
        }
        let fits = |(pattern, actual): (&TypePattern, _)| pattern.matches(Some(actual));
        self.front.iter().zip(descriptor.parameters()).all(fits)
            && self.back.iter().zip(descriptor.parameters().skip(count - self.back.len())).all(fits)
    }
}

fn parse_positive(text: &str) -> Result<MethodPattern, PatternError> {
    let (name, rest) = text.split_at(text.find('(').unwrap_or(text.len()));
    let (name, name_offset) = trimmed(name);
    check_name(name).map_err(|error| error.shifted(name_offset))?;
    let mut pattern = MethodPattern {
        negated: false,
        text: text.to_owned(),
        name: NameGlob::member(name),
        parameters: None,
        result: None,
    };
    let Some(list) = rest.strip_prefix('(') else { return Ok(pattern) };
    let list_offset = text.len() - list.len();
    let Some((list, result)) = list.split_once(')') else {
        return Err(PatternError::new(list_offset - 1..text.len(), "the parameter list is not closed")
            .suggest("write `name(type, type)`, with `*` for one type and `..` for any number"));
    };
    pattern.parameters = Some(parse_parameters(list).map_err(|error| error.shifted(list_offset))?);
    let (result, blank) = trimmed(result);
    if !result.is_empty() {
        let offset = list_offset + list.len() + 1 + blank;
        pattern.result = Some(TypePattern::result(result).map_err(|error| error.shifted(offset))?);
    }
    Ok(pattern)
}

fn parse_parameters(list: &str) -> Result<Parameters, PatternError> {
    let mut parameters = Parameters::default();
    if list.trim().is_empty() {
        return Ok(parameters);
    }
    let mut offset = 0;
    for item in list.split(',') {
        let (text, blank) = trimmed(item);
        let at = offset + blank;
        offset += item.len() + 1;
        if text == ".." {
            if parameters.open {
                return Err(PatternError::new(at..at + 2, "`..` can stand only once in a parameter list"));
            }
            parameters.open = true;
            continue;
        }
        let parameter = TypePattern::parameter(text).map_err(|error| error.shifted(at))?;
        if parameters.open { parameters.back.push(parameter) } else { parameters.front.push(parameter) }
    }
    Ok(parameters)
}

/// The text without blanks around it, and the number of bytes cut off in front.
fn trimmed(text: &str) -> (&str, usize) {
    let without_front = text.trim_start();
    (without_front.trim_end(), text.len() - without_front.len())
}

fn check_name(name: &str) -> Result<(), PatternError> {
    if name.is_empty() {
        return Err(PatternError::new(0..0, "the method name is missing").suggest("`*` matches every method"));
    }
    if name == "<init>" || name == "<clinit>" {
        return Ok(());
    }
    if let Some(at) = name.find("**") {
        return Err(PatternError::new(at..at + 2, "`**` is a wildcard for packages").suggest("write `*`"));
    }
    if let Some(at) = name.find(char::is_whitespace) {
        return Err(PatternError::new(at..at + 1, "a method pattern begins with the method's name")
            .suggest("the return type is written last: `name(type, *) return`"));
    }
    let illegal = |character: char| character.is_control() || ".;[]/<>?!#:,){}\\\"'".contains(character);
    let Some((at, character)) = name.char_indices().find(|(_, character)| illegal(*character)) else { return Ok(()) };
    let span = at..at + character.len_utf8();
    let error = PatternError::new(span, format!("`{}` cannot stand in a method name", character.escape_default()));
    Err(match character {
        '.' | '#' | ':' | '/' => error.suggest("the class is chosen with the key `class`"),
        '<' | '>' => error.suggest("a constructor is called `<init>`"),
        '?' | '{' | '}' => error.suggest("`*` is the only wildcard"),
        '!' => error.suggest("`!` is allowed only at the beginning of a pattern"),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str, descriptor: &str) -> bool {
        MethodPattern::parse(pattern)
            .unwrap_or_else(|error| panic!("{pattern}: {error:?}"))
            .matches(name.as_bytes(), descriptor.as_bytes())
    }

    #[test]
    fn by_name_alone_any_signature_matches() {
        assert!(matches("do*", "doGet", "(I)V"));
        assert!(matches("*", "<init>", "()V"));
        assert!(!matches("do*", "undo", "()V"));
        assert!(matches("<init>", "<init>", "()V"));
        assert!(matches("get*Name", "getFirstName", "()V"));
    }

    #[test]
    fn parameter_lists() {
        assert!(matches("f()", "f", "()V") && !matches("f()", "f", "(I)V"));
        assert!(matches("f( )", "f", "()V"));
        assert!(matches("f(*)", "f", "(I)V") && !matches("f(*)", "f", "()V") && !matches("f(*)", "f", "(II)V"));
        assert!(matches("f(..)", "f", "()V") && matches("f(..)", "f", "(IJ[Z)V"));
        assert!(matches("f(int, ..)", "f", "(I)V") && matches("f(int, ..)", "f", "(IJ)V"));
        assert!(!matches("f(int, ..)", "f", "(J)V"));
        assert!(matches("f(.., int)", "f", "(JI)V") && matches("f(.., int)", "f", "(I)V"));
        assert!(!matches("f(.., int)", "f", "(IJ)V"));
        assert!(matches("f(int, .., long)", "f", "(IJ)V") && !matches("f(int, .., int)", "f", "(I)V"));
        assert!(matches("f(byte[], int, int)", "f", "([BII)V") && !matches("f(byte[], int, int)", "f", "([[BII)V"));
        assert!(matches(
            "service(jakarta.servlet.ServletRequest, *)",
            "service",
            "(Ljakarta/servlet/ServletRequest;Ljakarta/servlet/ServletResponse;)V"
        ));
    }

    #[test]
    fn return_types() {
        assert!(matches("f(..) int", "f", "(J)I") && !matches("f(..) int", "f", "(J)V"));
        assert!(matches("f() void", "f", "()V") && !matches("f() void", "f", "()I"));
        assert!(matches("f()  java.util.List", "f", "()Ljava/util/List;"));
        assert!(matches("f() *", "f", "()V"));
        assert!(matches("f() String[]", "f", "()[Ljava/lang/String;"));
    }

    #[test]
    fn broken_descriptors_match_no_list() {
        for broken in ["", "(", "(V)V", "()", "(Lx)V"] {
            assert!(!matches("f(..)", "f", broken), "{broken}");
        }
        assert!(matches("f", "f", "broken"));
    }

    #[test]
    fn wildcards_and_literals_are_distinguished() {
        let parse = |text: &str| MethodPattern::parse(text).unwrap();
        assert_eq!(parse("get").literal_name(), Some(&b"get"[..]));
        assert_eq!(parse("get(*)").literal_name(), Some(&b"get"[..]));
        assert_eq!(parse("get*").literal_name(), None);
        assert!(parse("*").is_everything() && parse("*(..)").is_everything());
        assert!(!parse("*()").is_everything() && !parse("* (..) int").is_everything());
        assert!(parse("!get*").negated && !parse("get*").negated);
        assert!(matches("caf\u{e9}*", "caf\u{e9}s", "()V"));
        assert!(parse("\u{1F600}").matches(b"\xED\xA0\xBD\xED\xB8\x80", b"()V"));
    }

    #[test]
    fn bad_patterns_say_where() {
        for (text, span) in [
            ("", 0..0),
            ("!", 1..1),
            ("(int)", 0..0),
            ("a.b", 1..2),
            ("f(int", 1..5),
            ("f(intt)", 2..6),
            ("f(int, strin)", 7..12),
            ("!f(int, strin)", 8..13),
            ("f(.., ..)", 6..8),
            ("f(int,)", 6..6),
            ("f(int) strng", 7..12),
            ("int f()", 3..4),
            ("do**", 2..4),
            ("<ini>", 0..1),
            ("f?", 1..2),
            ("f)", 1..2),
        ] {
            let error = MethodPattern::parse(text).expect_err(text);
            assert_eq!(error.span, span, "{text}: {}", error.message);
        }
    }
}
