//! Decides whether references that a local holds at different times are merged once a template surrounds the body.
//!
//! Where code is verified by type inference, the template's handler brings together what a local holds anywhere in the body, and
//! its epilog what it holds at each return. For two different classes the verifier loads both to find a common super class, which
//! it never did for the method as it was. One of them may be missing, and then the class cannot be linked any more.

use classfile::descriptor::MethodDescriptor;
use classfile::instruction::Instructions;
use classfile::{ConstantPool, ExceptionRow, ModifiedUtf8, opcode};

use super::local_access::LocalAccess;
use super::stored_types::{Held, StoredTypes};

/// The method whose locals are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder<'h, 'a> {
    pub(crate) class: ModifiedUtf8<'a>,
    pub(crate) descriptor: &'h MethodDescriptor<'a>,
    pub(crate) is_static: bool,
    /// A constructor is protected only from `super()` on, where a local may hold what was stored before.
    pub(crate) is_constructor: bool,
}

/// What is known of a local after a walk through the code.
#[derive(Clone, Copy, Debug, Default)]
struct Local<'a> {
    /// The receiver or a parameter that is a reference. Any other local is unset when the body begins, so it is
    /// unset at the handler, whatever is stored later.
    given: Option<Held<'a>>,
    /// What was stored first besides null.
    stored: Option<Held<'a>>,
    /// Two of the references that are stored ask for classes.
    stores_meet: bool,
    /// One that is stored asks for classes together with the one that is given.
    given_meets: bool,
}

impl<'a> Local<'a> {
    fn store(&mut self, held: Held<'a>) {
        let meets = |other: Option<Held<'a>>| other.is_some_and(|other| held.asks_for_classes(other));
        self.given_meets |= meets(self.given);
        self.stores_meet |= meets(self.stored);
        if held != Held::Null && held != Held::Class(b"java/lang/Object") {
            self.stored = self.stored.or(Some(held));
        }
    }
}

/// Whether two references may meet in any local of a body. Of which class they are is not always known, so the answer may be yes
/// where both are of one class.
pub(crate) fn merges_distinct_references<'a>(
    bytecode: &[u8],
    rows: &[ExceptionRow],
    holder: &Holder<'_, 'a>,
    pool: &ConstantPool<'a>,
) -> classfile::Result<bool> {
    let mut locals = at_the_start(holder);
    let mut returns = 0;
    let mut types = None;
    let mut before = [None, None];
    for instruction in Instructions::new(bytecode) {
        let instruction = instruction?;
        returns += u32::from((opcode::IRETURN..=opcode::RETURN).contains(&instruction.opcode));
        let access = LocalAccess::of(&instruction);
        if let Some(store) = access.filter(|access| access.opcode == opcode::ASTORE) {
            let types = match &types {
                Some(types) => types,
                None => types.insert(StoredTypes::new(bytecode, rows, pool)?),
            };
            let slot = usize::from(store.slot);
            if locals.len() <= slot {
                locals.resize(slot + 1, Local::default());
            }
            if let Some(local) = locals.get_mut(slot) {
                local.store(types.of(&instruction, before));
            }
        }
        before = [Some(instruction), before[0]];
    }
    let at_handler = |local: &Local<'_>| local.given_meets || (local.given.is_some() && local.stores_meet);
    let at_both = |local: &Local<'_>| local.stores_meet && (returns > 1 || holder.is_constructor);
    Ok(locals.iter().any(|local| at_handler(local) || at_both(local)))
}

fn at_the_start<'a>(holder: &Holder<'_, 'a>) -> Vec<Local<'a>> {
    let local = |given| Local { given, ..Local::default() };
    let receiver = local(Some(Held::Class(holder.class.as_bytes())));
    let mut locals = vec![receiver; usize::from(!holder.is_static)];
    for parameter in holder.descriptor.parameters() {
        locals.push(local(parameter.class_name().map(Held::Class)));
        locals.resize(locals.len() + usize::from(parameter.kind().words()) - 1, local(None));
    }
    locals
}

#[cfg(test)]
mod tests {
    use super::*;
    use classfile::ClassFile;
    use classfile::opcode::*;

    /// Nothing is known of what the code stores: it is read from an array.
    const STORED: [u8; 3] = [ALOAD_0, ICONST_0, AALOAD];

    fn meet_in(bytecode: &[u8], descriptor: &str, is_static: bool, is_constructor: bool) -> bool {
        let class = ClassFile::parse(include_bytes!("../../../../classfile/tests/classes/Empty.class")).unwrap();
        let descriptor = MethodDescriptor::parse(descriptor.as_bytes()).unwrap();
        let holder = Holder { class: class.this_class(), descriptor: &descriptor, is_static, is_constructor };
        super::merges_distinct_references(bytecode, &[], &holder, class.constant_pool()).unwrap()
    }

    fn meet(bytecode: &[u8], descriptor: &str, is_static: bool) -> bool {
        meet_in(bytecode, descriptor, is_static, false)
    }

    #[test]
    fn at_the_epilog_what_is_stored_twice() {
        let stores =
            [&STORED[..], &[ASTORE_1], &STORED, &[ASTORE, 1], &STORED, &[ASTORE, 2, ISTORE_2, ISTORE, 3]].concat();
        assert!(!meet(&[&stores[..], &[RETURN]].concat(), "()V", true), "one return: nothing meets");
        assert!(meet(&[&stores[..], &[RETURN, RETURN]].concat(), "()V", true));
        assert!(!meet(&[&stores[4..], &[RETURN, RETURN]].concat(), "()V", true), "each local is written once");
        assert!(meet_in(&[&stores[..], &[RETURN]].concat(), "()V", true, true), "before and after super()");
    }

    #[test]
    fn at_the_handler_what_takes_the_place_of_receiver_and_parameters() {
        let store_3 = [&STORED[..], &[ASTORE_3, RETURN]].concat();
        assert!(meet(&store_3, "(IJLjava/lang/String;)V", true));
        assert!(meet(&store_3, "(D[I)V", false));
        assert!(!meet(&store_3, "(JI)V", false));
        assert!(!meet(&store_3, "(IJI)V", true));
        assert!(meet(&[&STORED[..], &[WIDE, ASTORE, 0, 0, RETURN]].concat(), "()V", false));
        assert!(!meet(&[&STORED[..], &[ASTORE_0, RETURN]].concat(), "()V", true));
    }

    #[test]
    fn null_and_object_and_the_same_class_need_no_other() {
        assert!(!meet(&[ACONST_NULL, ASTORE_0, RETURN], "(Ljava/lang/String;)V", true));
        assert!(!meet(&[&STORED[..], &[ASTORE_0, RETURN]].concat(), "(Ljava/lang/Object;)V", true));
        let unknown_twice = [&STORED[..], &[ASTORE_0], &STORED, &[ASTORE_0, RETURN]].concat();
        assert!(meet(&unknown_twice, "(Ljava/lang/Object;)V", true), "the two that are stored");
    }

    #[test]
    fn damaged_code_is_an_error() {
        let class = ClassFile::parse(include_bytes!("../../../../classfile/tests/classes/Empty.class")).unwrap();
        let descriptor = MethodDescriptor::parse(b"()V").unwrap();
        let name = class.this_class();
        let holder = Holder { class: name, descriptor: &descriptor, is_static: true, is_constructor: false };
        assert!(super::merges_distinct_references(&[WIDE, ASTORE], &[], &holder, class.constant_pool()).is_err());
    }
}
