//! Whether references that a local holds at different times meet once a template stands around the body.
//!
//! Where code is verified by type inference, the template's handler brings together what a local holds anywhere in the body, and
//! its epilog what it holds at each return. For two different classes the verifier loads both to find a common super class, which
//! it never did for the method as it was. One of them may be missing, and then the class cannot be linked any more.

use classfile::descriptor::{Kind, MethodDescriptor};
use classfile::instruction::Instructions;
use classfile::opcode;

use super::local_access::LocalAccess;

/// What is known of a local after a walk through the code.
#[derive(Clone, Copy, Debug, Default)]
struct Local {
    /// The receiver or a parameter that is a reference. In any other local there is nothing when the body begins, and
    /// nothing is what is left of it at the handler, whatever comes later.
    given: bool,
    /// How many instructions store a reference.
    stores: u32,
}

/// Whether two references may meet in any local of a body. What they are is not asked, so the answer may be yes where both are
/// of one class.
pub(crate) fn meet(bytecode: &[u8], descriptor: &MethodDescriptor<'_>, is_static: bool) -> classfile::Result<bool> {
    let mut locals = at_the_start(descriptor, is_static);
    let mut returns = 0;
    for instruction in Instructions::new(bytecode) {
        let instruction = instruction?;
        returns += u32::from((opcode::IRETURN..=opcode::RETURN).contains(&instruction.opcode));
        let access = LocalAccess::of(&instruction);
        let Some(store) = access.filter(|access| access.opcode == opcode::ASTORE) else { continue };
        let slot = usize::from(store.slot);
        if locals.len() <= slot {
            locals.resize(slot + 1, Local::default());
        }
        if let Some(local) = locals.get_mut(slot) {
            local.stores += 1;
        }
    }
    let at_handler = |local: &Local| local.given && local.stores > 0;
    let at_epilog = |local: &Local| returns > 1 && local.stores > 1;
    Ok(locals.iter().any(|local| at_handler(local) || at_epilog(local)))
}

fn at_the_start(descriptor: &MethodDescriptor<'_>, is_static: bool) -> Vec<Local> {
    let local = |given| Local { given, stores: 0 };
    let mut locals = vec![local(true); usize::from(!is_static)];
    for parameter in descriptor.parameters() {
        let kind = parameter.kind();
        locals.push(local(kind == Kind::Reference));
        locals.resize(locals.len() + usize::from(kind.words()) - 1, local(false));
    }
    locals
}

#[cfg(test)]
mod tests {
    use super::*;
    use classfile::opcode::*;

    fn meet(bytecode: &[u8], descriptor: &str, is_static: bool) -> bool {
        super::meet(bytecode, &MethodDescriptor::parse(descriptor.as_bytes()).unwrap(), is_static).unwrap()
    }

    #[test]
    fn at_the_epilog_what_is_stored_twice() {
        let stores =
            [ALOAD_0, ASTORE_1, ALOAD_0, ASTORE, 1, ALOAD_0, ASTORE, 2, WIDE, ASTORE, 0, 3, ISTORE_2, ISTORE, 3];
        assert!(!meet(&[&stores[..], &[RETURN]].concat(), "()V", false), "one return: nothing meets");
        assert!(meet(&[&stores[..], &[RETURN, RETURN]].concat(), "()V", false));
        assert!(!meet(&[&stores[3..], &[RETURN, RETURN]].concat(), "()V", false), "each local is written once");
    }

    #[test]
    fn at_the_handler_what_takes_the_place_of_receiver_and_parameters() {
        let store_3 = [ACONST_NULL, ASTORE_3, RETURN];
        assert!(meet(&store_3, "(IJLjava/lang/String;)V", true));
        assert!(meet(&store_3, "(D[I)V", false));
        assert!(!meet(&store_3, "(JI)V", false));
        assert!(!meet(&store_3, "(IJI)V", true));
        assert!(meet(&[ACONST_NULL, WIDE, ASTORE, 0, 0, RETURN], "()V", false));
        assert!(!meet(&[ACONST_NULL, ASTORE_0, RETURN], "()V", true));
    }

    #[test]
    fn damaged_code_is_an_error() {
        let nothing = MethodDescriptor::parse(b"()V").unwrap();
        assert!(super::meet(&[WIDE, ASTORE], &nothing, true).is_err());
    }
}
