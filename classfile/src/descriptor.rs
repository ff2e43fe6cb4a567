//! Descriptors (JVMS 4.3): parameter and return types, slots.

use crate::{Error, ErrorKind, Result};

/// What the JVM computes with: the kind of a value on the stack or in a local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// boolean, byte, char, short or int
    Int,
    /// long: two words
    Long,
    /// float
    Float,
    /// double: two words
    Double,
    /// a class, interface or array
    Reference,
}

impl Kind {
    /// Words on the operand stack and slots in the locals.
    #[inline]
    pub fn words(self) -> u16 {
        match self {
            Kind::Long | Kind::Double => 2,
            Kind::Int | Kind::Float | Kind::Reference => 1,
        }
    }
}

/// A field type as its descriptor, e.g. `I`, `[J` or `Ljava/lang/String;`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldType<'a>(pub &'a [u8]);

impl<'a> FieldType<'a> {
    /// Reads the field type at the start of `bytes`; gives it and what follows.
    pub fn take(bytes: &'a [u8]) -> Option<(FieldType<'a>, &'a [u8])> {
        let dimensions = bytes.iter().take_while(|&&byte| byte == b'[').count();
        let length = match bytes.get(dimensions)? {
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => dimensions + 1,
            b'L' => dimensions + end_of_name(bytes.get(dimensions..)?)?,
            _ => return None,
        };
        Some((FieldType(bytes.get(..length)?), bytes.get(length..)?))
    }

    /// The computational kind.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.0.first() {
            Some(b'J') => Kind::Long,
            Some(b'D') => Kind::Double,
            Some(b'F') => Kind::Float,
            Some(b'L' | b'[') => Kind::Reference,
            _ => Kind::Int,
        }
    }

    /// Name for a `CONSTANT_Class` of a reference type: the internal name of a class, the descriptor of an array.
    pub fn class_name(self) -> Option<&'a [u8]> {
        match self.0 {
            [b'L', name @ .., b';'] => Some(name),
            [b'[', ..] => Some(self.0),
            _ => None,
        }
    }
}

/// Length of what ends with the first `;`, which is counted. Eight bytes at a time: names are most of a descriptor.
#[inline]
pub fn end_of_name(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        // A byte of it is zero where there is a semicolon.
        let differs = u64::from_le_bytes(*word) ^ (ONES * b';' as u64);
        let zeros = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
        if zeros != 0 {
            return Some(number * 8 + zeros.trailing_zeros() as usize / 8 + 1);
        }
    }
    rest.iter().position(|&byte| byte == b';').map(|place| words.len() * 8 + place + 1)
}

/// A method descriptor, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodDescriptor<'a> {
    parameters: &'a [u8],
    return_type: Option<FieldType<'a>>,
    parameter_words: u16,
}

impl<'a> MethodDescriptor<'a> {
    /// Reads e.g. `(D[ILcom/acme/Thing;)I`.
    pub fn parse(descriptor: &'a [u8]) -> Result<MethodDescriptor<'a>> {
        MethodDescriptor::read(descriptor).ok_or(Error::new(ErrorKind::BadDescriptor, 0, "method descriptor"))
    }

    fn read(descriptor: &'a [u8]) -> Option<MethodDescriptor<'a>> {
        let inner = descriptor.strip_prefix(b"(")?;
        let mut rest = inner;
        let mut words = 0u16;
        while *rest.first()? != b')' {
            let (parameter, after) = FieldType::take(rest)?;
            words = words.checked_add(parameter.kind().words())?;
            rest = after;
        }
        let parameters = inner.get(..inner.len() - rest.len())?;
        let return_type = match rest.get(1..)? {
            b"V" => None,
            result => match FieldType::take(result)? {
                (result, []) => Some(result),
                _ => return None,
            },
        };
        Some(MethodDescriptor { parameters, return_type, parameter_words: words })
    }

    /// Parameter types in order, without the receiver.
    pub fn parameters(&self) -> impl Iterator<Item = FieldType<'a>> + use<'a> {
        let mut rest = self.parameters;
        std::iter::from_fn(move || {
            let (parameter, after) = FieldType::take(rest)?;
            rest = after;
            Some(parameter)
        })
    }

    /// Return type; `None` for void.
    pub fn return_type(&self) -> Option<FieldType<'a>> {
        self.return_type
    }

    /// Words of all parameters, without the receiver.
    pub fn parameter_words(&self) -> u16 {
        self.parameter_words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_end_of_a_name_wherever_it_is() {
        for length in 0..40 {
            let text = [vec![b'L'; length], vec![b';', b':', b';', 0xBB]].concat();
            assert_eq!(end_of_name(&text), Some(length + 1));
            assert_eq!(end_of_name(&text[..length]), None);
        }
    }

    #[test]
    fn walks_signatures() {
        let descriptor = MethodDescriptor::parse(b"(D[ILcom/machin/Bidule;)I").unwrap();
        let parameters: Vec<_> = descriptor.parameters().map(|p| String::from_utf8_lossy(p.0).into_owned()).collect();
        assert_eq!(parameters, ["D", "[I", "Lcom/machin/Bidule;"]);
        assert_eq!(descriptor.parameter_words(), 4);
        assert_eq!(descriptor.return_type(), Some(FieldType(b"I")));
        let all = MethodDescriptor::parse(b"(BCDFIJSZ[[JLa;)V").unwrap();
        assert_eq!(all.parameter_words(), 12);
        assert_eq!(all.return_type(), None);
    }

    #[test]
    fn every_type_has_its_kind_its_words_and_its_class() {
        let rows: [(&str, Kind, u16, Option<&str>); 15] = [
            ("B", Kind::Int, 1, None),
            ("C", Kind::Int, 1, None),
            ("I", Kind::Int, 1, None),
            ("S", Kind::Int, 1, None),
            ("Z", Kind::Int, 1, None),
            ("F", Kind::Float, 1, None),
            ("D", Kind::Double, 2, None),
            ("J", Kind::Long, 2, None),
            ("La;", Kind::Reference, 1, Some("a")),
            ("Ljava/lang/String;", Kind::Reference, 1, Some("java/lang/String")),
            ("[I", Kind::Reference, 1, Some("[I")),
            ("[J", Kind::Reference, 1, Some("[J")),
            ("[[D", Kind::Reference, 1, Some("[[D")),
            ("[La;", Kind::Reference, 1, Some("[La;")),
            ("[[[Ljava/lang/String;", Kind::Reference, 1, Some("[[[Ljava/lang/String;")),
        ];
        for (text, kind, words, class) in rows {
            // Alone, as the only parameter, between others, and as the return type.
            let (alone, rest) = FieldType::take(text.as_bytes()).unwrap();
            assert_eq!((alone.kind(), alone.kind().words(), rest), (kind, words, &b""[..]), "{text}");
            assert_eq!(alone.class_name(), class.map(str::as_bytes), "{text}");
            let descriptor = format!("(J{text}[[Z{text}Lx;){text}");
            let method = MethodDescriptor::parse(descriptor.as_bytes()).unwrap();
            let parameters: Vec<_> = method.parameters().map(|parameter| parameter.0).collect();
            assert_eq!(parameters, [b"J", text.as_bytes(), b"[[Z", text.as_bytes(), b"Lx;"], "{descriptor}");
            assert_eq!(method.parameter_words(), 2 + words + 1 + words + 1, "{descriptor}");
            assert_eq!(method.return_type(), Some(alone), "{descriptor}");
        }
        assert_eq!(MethodDescriptor::parse(b"()V").unwrap().return_type(), None);
    }

    #[test]
    fn refuses_what_is_no_descriptor() {
        for bad in ["", "()", "(", "(V)V", "(La)V", "()La", "()VV", "([)V", "I", "(I"] {
            assert!(MethodDescriptor::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
