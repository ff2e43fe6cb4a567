//! Checks a template before anything is merged, and computes what the merge needs to know of it.
//!
//! Rules: exactly one sentinel, on an empty operand stack; no jump around or back over it; what it throws is thrown on; no
//! value of `Target` that is not there yet; no reference that the target's loader may not see (anything outside `java.*`
//! that `requires` does not name, and the template's own class), nor one that this version of the Java runtime does not have; no jsr, ret
//! or lambda.

use classfile::opcode;

use super::intrinsic::{Intrinsic, TARGET_CLASS};
use super::read::Place;
use super::symbol::{MemberSymbol, Symbol};
use super::{Needs, Operation, OperationKind, Template, TemplateProblem, Use, runtime_members, scope, type_walk};

pub(super) const CONSTANT_INDEX: &str = "Target.arg needs a constant index, e.g. Target.arg(0)";

/// Returns the bytecode offset of an operation, for messages.
type OffsetOf<'o> = &'o dyn Fn(usize) -> u32;

/// Checks the template and fills in its sentinel, needs, live locals and depths.
pub(super) fn complete(
    template: &mut Template,
    offset_of: OffsetOf<'_>,
    place: &Place<'_>,
) -> Result<(), Vec<TemplateProblem>> {
    template.sentinel = find_sentinel(&template.operations, offset_of, place).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let mut report = |operation: usize, message: String| {
        let problem = place.problem(offset_of(operation), message);
        // The compiler copies a finally block for each way out.
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    };
    check_references(template, place, &mut report);
    check_jumps(template, &mut report);
    check_chosen_arguments(template, &mut report);
    mark_reachable(template);
    check_exits(template, &mut report);
    template.needs = needs(template);
    check_uses(template, &mut report);
    declare_scope(template, place, &mut report);
    template.minimum_version = minimum_version(template);
    let walked = type_walk::walk(&mut template.operations, &template.frames, &mut template.symbols, template.sentinel);
    match walked {
        Ok(state) => {
            if template.operations.get(template.sentinel).is_some_and(|sentinel| sentinel.depth != 0) {
                report(
                    template.sentinel,
                    "Target.proceed() must stand alone, with nothing on the operand stack".to_owned(),
                );
            }
            check_scope_is_set(template, &state.locals, &mut report);
            template.live_locals = live_locals(template, &state.locals);
        }
        Err((operation, message)) => report(operation, message),
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn is_sentinel(operation: &Operation) -> bool {
    operation.kind == OperationKind::Intrinsic(Intrinsic::Proceed)
}

fn find_sentinel(
    operations: &[Operation],
    offset_of: OffsetOf<'_>,
    place: &Place<'_>,
) -> Result<usize, TemplateProblem> {
    let mut found = operations.iter().enumerate().filter(|(_, operation)| is_sentinel(operation)).map(|(at, _)| at);
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => {
            Err(place.problem(0, "does not call Target.proceed(): the target's own code would never run; call it once"))
        }
        (Some(_), Some(second)) => Err(place.problem(
            offset_of(second),
            "calls Target.proceed() more than once (a finally block around it is copied by javac); call it exactly once",
        )),
    }
}

pub(super) fn successors(operation: usize, operations: &[Operation], mut visit: impl FnMut(usize)) {
    match operations.get(operation).map(|operation| &operation.kind) {
        Some(OperationKind::Branch { opcode, target }) => {
            visit(*target);
            if *opcode != opcode::GOTO {
                visit(operation + 1);
            }
        }
        Some(OperationKind::Switch { default, cases, .. }) => {
            visit(*default);
            cases.iter().for_each(|(_, target)| visit(*target));
        }
        Some(OperationKind::Return) | None => {}
        Some(OperationKind::Plain(bytes)) if bytes.first() == Some(&opcode::ATHROW) => {}
        Some(_) => visit(operation + 1),
    }
}

/// Prolog and epilog are two separate pieces of code: only the sentinel leads from one to the other.
fn check_jumps(template: &Template, report: &mut dyn FnMut(usize, String)) {
    let sentinel = template.sentinel;
    for at in 0..template.operations.len() {
        successors(at, &template.operations, |target| {
            let crosses = (at < sentinel && target > sentinel) || (at > sentinel && target <= sentinel);
            if crosses {
                report(at, "jumps around or back over Target.proceed(); the target must run exactly once".to_owned());
            }
        });
        let returns = template.operations.get(at).is_some_and(|operation| operation.kind == OperationKind::Return);
        if returns && at < sentinel {
            report(at, "returns before Target.proceed(); the target must run exactly once".to_owned());
        }
    }
    for row in template.handlers.iter().filter(|row| row.covers(sentinel) && row.handler <= sentinel) {
        report(
            row.handler,
            "catches what Target.proceed() throws before it; the target must run exactly once".to_owned(),
        );
    }
}

/// `Target.arg(i)` was read with the constant right before it; a jump to the call would bring another one.
fn check_chosen_arguments(template: &Template, report: &mut dyn FnMut(usize, String)) {
    for at in 0..template.operations.len() {
        successors(at, &template.operations, |target| {
            let kind = template.operations.get(target).map(|operation| &operation.kind);
            if target != at + 1 && matches!(kind, Some(OperationKind::Intrinsic(Intrinsic::Argument(_)))) {
                report(target, CONSTANT_INDEX.to_owned());
            }
        });
    }
}

fn mark_reachable(template: &mut Template) {
    let sentinel = template.sentinel;
    let operations = &template.operations;
    let normal = reach(operations, &template.handlers, vec![sentinel + 1], sentinel);
    let entries = template.handlers.iter().filter(|row| row.covers(sentinel)).map(|row| row.handler).collect();
    let exceptional = reach(operations, &template.handlers, entries, sentinel);
    for (at, operation) in template.operations.iter_mut().enumerate() {
        operation.normal = normal.get(at).copied().unwrap_or(false);
        operation.exceptional = exceptional.get(at).copied().unwrap_or(false);
    }
}

/// Operations that can be reached from the given ones, through jumps and the handlers of what is passed.
fn reach(
    operations: &[Operation],
    handlers: &[super::TemplateHandler],
    mut pending: Vec<usize>,
    sentinel: usize,
) -> Vec<bool> {
    let mut reached = vec![false; operations.len()];
    while let Some(at) = pending.pop() {
        match reached.get_mut(at) {
            Some(seen) if !*seen && at != sentinel => *seen = true,
            _ => continue,
        }
        successors(at, operations, |target| pending.push(target));
        pending.extend(handlers.iter().filter(|row| row.covers(at) && !row.covers(sentinel)).map(|row| row.handler));
    }
    reached
}

fn check_exits(template: &Template, report: &mut dyn FnMut(usize, String)) {
    for (at, operation) in template.operations.iter().enumerate() {
        if operation.exceptional && operation.kind == OperationKind::Return {
            let message = "swallows what the target throws: a catch around Target.proceed() must throw it on";
            report(at, message.to_owned());
            return;
        }
    }
}

fn needs(template: &Template) -> Needs {
    let mut needs = Needs::default();
    for (at, operation) in template.operations.iter().enumerate() {
        let place = if at < template.sentinel { Use::Prolog } else { Use::Epilog };
        let OperationKind::Intrinsic(intrinsic) = operation.kind else { continue };
        match intrinsic {
            Intrinsic::ProbeId => needs.probe_id = true,
            Intrinsic::Result => needs.result = true,
            Intrinsic::Thrown => needs.thrown = true,
            Intrinsic::Receiver => needs.receiver = needs.receiver.max(place),
            Intrinsic::AllArguments => needs.all_arguments = needs.all_arguments.max(place),
            Intrinsic::Captured => needs.captured = needs.captured.max(place),
            Intrinsic::Argument(index) => needs.use_argument(index, place),
            Intrinsic::Proceed
            | Intrinsic::ClassName
            | Intrinsic::MethodName
            | Intrinsic::MethodDescriptor
            | Intrinsic::QualifiedName
            | Intrinsic::CaptureForm
            | Intrinsic::Scope => {}
        }
    }
    needs
}

fn check_uses(template: &Template, report: &mut dyn FnMut(usize, String)) {
    for (at, operation) in template.operations.iter().enumerate().take(template.sentinel) {
        match operation.kind {
            OperationKind::Intrinsic(Intrinsic::Result) => {
                report(at, "uses Target.result() before Target.proceed(), where there is none".to_owned());
            }
            OperationKind::Intrinsic(Intrinsic::Thrown) => {
                report(at, "uses Target.thrown() before Target.proceed(), where there is none".to_owned());
            }
            _ => {}
        }
    }
}

/// Reads which scope the template declares, and checks what would be called with it.
fn declare_scope(template: &mut Template, place: &Place<'_>, report: &mut dyn FnMut(usize, String)) {
    match scope::find(template) {
        Ok(found) => template.scope = found,
        Err((operation, message)) => return report(operation, message),
    }
    let Some(scope) = template.scope else { return };
    for symbol in [scope.begin, scope.end, scope.caught] {
        let problem = template.symbols.get(symbol).and_then(|symbol| runtime_members::problem(symbol, place.runtime));
        if let Some(message) = problem {
            report(template.sentinel, message);
        }
    }
}

/// Call sites read the scope wherever the target runs, so every way to the target must have set it.
fn check_scope_is_set(template: &Template, at_sentinel: &[super::TemplateType], report: &mut dyn FnMut(usize, String)) {
    let is_set = |slot: u16| at_sentinel.get(usize::from(slot)) == Some(&super::TemplateType::Long);
    if template.scope.is_some_and(|scope| !is_set(scope.slot)) {
        report(template.sentinel, "Target.proceed() can be reached without Target.scope()".to_owned());
    }
}

/// Returns the oldest class-file version that has the template's instructions: `invokedynamic` since 51, dynamic constants since 55, class
/// constants since 49.
fn minimum_version(template: &Template) -> u16 {
    let of_symbol = |symbol: &Symbol| match symbol {
        Symbol::Dynamic(dynamic) if dynamic.is_constant => 55,
        Symbol::Dynamic(_) | Symbol::MethodHandle(..) | Symbol::MethodType(_) => 51,
        _ => 0,
    };
    let of_operation = |operation: &Operation| match &operation.kind {
        OperationKind::Constant { opcode, symbol, .. } => match (*opcode, template.symbols.get(*symbol)) {
            (opcode::LDC, Some(Symbol::Class(_))) => 49,
            (opcode::INVOKESTATIC | opcode::INVOKESPECIAL, Some(Symbol::Member(member)))
                if member.tag == classfile::Tag::InterfaceMethodref as u8 =>
            {
                52
            }
            (_, symbol) => symbol.map_or(0, of_symbol),
        },
        _ => 0,
    };
    template.operations.iter().map(of_operation).max().unwrap_or(0)
}

fn live_locals(template: &Template, at_sentinel: &[super::TemplateType]) -> Vec<(u16, super::TemplateType)> {
    let used = |slot: u16| {
        if template.scope.is_some_and(|scope| scope.slot == slot) {
            return true;
        }
        let epilog = || template.operations.iter().skip(template.sentinel + 1);
        epilog().any(|operation| match operation.kind {
            OperationKind::Local { slot: other, .. } | OperationKind::Increment { slot: other, .. } => other == slot,
            _ => false,
        }) || template.frames.iter().any(|frame| frame.operation > template.sentinel && names_slot(&frame.locals, slot))
    };
    let mut live = Vec::new();
    for (slot, &local) in at_sentinel.iter().enumerate() {
        let slot = slot as u16;
        if local != super::TemplateType::Top && used(slot) {
            live.push((slot, local));
        }
    }
    live
}

fn names_slot(locals: &[super::TemplateType], wanted: u16) -> bool {
    let mut slot = 0;
    locals.iter().any(|&local| {
        let here = slot == wanted && local != super::TemplateType::Top;
        slot += type_walk::words(local);
        here
    })
}

fn check_references(template: &Template, place: &Place<'_>, report: &mut dyn FnMut(usize, String)) {
    for (at, operation) in template.operations.iter().enumerate() {
        let OperationKind::Constant { symbol, .. } = &operation.kind else { continue };
        if let Some(symbol) = template.symbols.get(*symbol) {
            let own = place.class.this_class().as_bytes();
            let problem = reference_problem(symbol, own, &template.requires);
            if let Some(message) = problem.or_else(|| runtime_members::problem(symbol, place.runtime)) {
                report(at, message);
            }
        }
    }
    for handler in &template.handlers {
        if let Some(Symbol::Class(name)) = handler.catch_type.and_then(|symbol| template.symbols.get(symbol))
            && let Some(message) = class_problem(name, place.class.this_class().as_bytes(), &template.requires)
        {
            report(handler.handler, message);
        }
    }
}

fn reference_problem(symbol: &Symbol, own: &[u8], requires: &[String]) -> Option<String> {
    match symbol {
        Symbol::Class(name) => class_problem(name, own, requires),
        Symbol::Member(member) | Symbol::MethodHandle(_, member) => member_problem(member, own, requires),
        Symbol::Dynamic(dynamic) => {
            let arguments = dynamic.arguments.iter().find_map(|argument| reference_problem(argument, own, requires));
            let lambda = dynamic.bootstrap.1.owner == b"java/lang/invoke/LambdaMetafactory";
            let lambda = lambda.then(|| "uses a lambda or method reference; write the code out".to_owned());
            lambda.or(arguments).or_else(|| member_problem(&dynamic.bootstrap.1, own, requires))
        }
        _ => None,
    }
}

fn member_problem(member: &MemberSymbol, own: &[u8], requires: &[String]) -> Option<String> {
    if member.owner == own {
        let name = String::from_utf8_lossy(&member.name).into_owned();
        return Some(format!(
            "uses {name} of its own class, which is not there where the template is merged; write the code out or use java.instr"
        ));
    }
    class_problem(&member.owner, own, requires)
}

fn class_problem(name: &[u8], own: &[u8], requires: &[String]) -> Option<String> {
    let element = name.iter().position(|&byte| byte != b'[').unwrap_or(0);
    let name = match name.get(element..) {
        Some([b'L', inner @ .., b';']) if element > 0 => inner,
        Some([_]) if element > 0 => return None,
        other => other.unwrap_or(name),
    };
    let required = requires.iter().any(|required| required.as_bytes() == name);
    if (name.starts_with(b"java/") && name != TARGET_CLASS) || required {
        return None;
    }
    let shown = String::from_utf8_lossy(name).replace('/', ".");
    Some(if name == own {
        "uses its own class, which is not there where the template is merged".to_owned()
    } else {
        format!(
            "uses {shown}, which not every class loader sees; name it in @Template(requires = ...) if every target does"
        )
    })
}
