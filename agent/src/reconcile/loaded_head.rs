//! What the JVM knows about a loaded class, written as the head of a class file: most classes that no rule wants are recognised by it, so that they
//! need not be retransformed only to be looked at.

use crate::jvm::{ConstantPool, Jni, Jvmti, LoadedClass};

const UTF8: u8 = 1;
const CLASS: u8 = 7;

/// Names of a loaded class and of its direct super types.
pub(super) struct LoadedHead {
    name: Vec<u8>,
    super_class: Option<Vec<u8>>,
    interfaces: Vec<Vec<u8>>,
}

impl LoadedHead {
    /// Returns what the JVM knows about the class of this name; `None` if it is not linked yet.
    pub(super) fn of(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>, name: &[u8]) -> Option<LoadedHead> {
        if !class.is_prepared(jvmti) {
            return None;
        }
        class.with_super_types(jvmti, jni, |super_class, interfaces| {
            let super_class = super_class.and_then(|class| class.internal_name(jvmti));
            let interfaces = interfaces.iter().map(|class| class.internal_name(jvmti)).collect::<Option<_>>()?;
            Some(LoadedHead { name: name.to_vec(), super_class, interfaces })
        })
    }

    /// The direct super types, the super class first, which is `java/lang/Object` for interfaces.
    pub(super) fn super_types(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let super_class = self.super_class.as_deref().unwrap_or(b"java/lang/Object");
        std::iter::once(super_class).chain(self.interfaces.iter().map(Vec::as_slice))
    }

    /// Returns the beginning of a class file with these constants of the class (JVMS 4.1), up to the interfaces: the names are further constants.
    /// `None` if there is no room for them.
    pub(super) fn bytes(&self, constants: &ConstantPool) -> Option<Vec<u8>> {
        let names: Vec<&[u8]> = std::iter::once(self.name.as_slice()).chain(self.super_types()).collect();
        let mut bytes = [0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 0].to_vec();
        let first = constants.count.max(1);
        let count = u16::try_from(names.len()).ok()?;
        bytes.extend(first.checked_add(count.checked_mul(2)?)?.to_be_bytes());
        bytes.extend(&constants.bytes);
        for (at, name) in (first..).step_by(2).zip(&names) {
            bytes.push(UTF8);
            bytes.extend(u16::try_from(name.len()).ok()?.to_be_bytes());
            bytes.extend(*name);
            bytes.push(CLASS);
            bytes.extend(at.to_be_bytes());
        }
        // Neither is anything decided by the access flags.
        bytes.extend([0, 0]);
        let class_constants = (first + 1..).step_by(2).take(names.len());
        for (at, constant) in class_constants.enumerate() {
            if at == 2 {
                bytes.extend((count - 2).to_be_bytes());
            }
            bytes.extend(constant.to_be_bytes());
        }
        if count == 2 {
            bytes.extend([0, 0]);
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use classfile::{ClassHead, HeadMemory};

    use super::*;

    fn bytes(super_class: Option<&str>, interfaces: &[&str], count: u16, constants: &[u8]) -> Option<Vec<u8>> {
        let name = b"app/Shop".to_vec();
        let super_class = super_class.map(|name| name.as_bytes().to_vec());
        let interfaces = interfaces.iter().map(|name| name.as_bytes().to_vec()).collect();
        LoadedHead { name, super_class, interfaces }.bytes(&ConstantPool { count, bytes: constants.to_vec() })
    }

    /// Names of the class and its super types, and all texts, as they are read again.
    fn read(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
        let mut memory = HeadMemory::default();
        let mut texts = Vec::new();
        let head =
            ClassHead::read(bytes, &mut memory, |text| texts.push(String::from_utf8_lossy(text).into_owned())).unwrap();
        let names = std::iter::once(head.this_class()).chain(head.super_class()).chain(head.interfaces());
        (names.map(|name| name.to_string()).collect(), texts)
    }

    #[test]
    fn it_is_read_as_the_head_of_a_class_file_with_the_constants_of_the_class() {
        // A text, a number of eight bytes, which takes two places, and a text.
        let constants = [&[1, 0, 2][..], b"Lx", &[5, 0, 0, 0, 0, 0, 0, 0, 9], &[1, 0, 1], b"y"].concat();
        let (names, texts) = read(&bytes(Some("app/Base"), &["app/A", "app/B"], 5, &constants).unwrap());
        assert_eq!(names, ["app/Shop", "app/Base", "app/A", "app/B"]);
        assert_eq!(texts, ["Lx", "y", "app/Shop", "app/Base", "app/A", "app/B"]);
    }

    #[test]
    fn an_interface_extends_object() {
        assert_eq!(read(&bytes(None, &[], 1, &[]).unwrap()).0, ["app/Shop", "java/lang/Object"]);
    }

    #[test]
    fn a_class_with_too_many_constants_has_no_head() {
        assert!(bytes(None, &[], u16::MAX - 2, &[]).is_none());
    }
}
