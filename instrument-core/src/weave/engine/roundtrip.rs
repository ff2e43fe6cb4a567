//! Lifting and lowering without a template, for tests: the proof that nothing of a method is lost or misread on the way.

use classfile::{ClassFile, ExceptionRow, Member};

use super::{Workspace, target_method};
use crate::weave::body::input::BodyInput;
use crate::weave::merge::node_merge::empty_merge::empty_template;
use crate::weave::merge::node_merge::{MergedBody, MergedTable, NodeMerge};
use crate::weave::refusal::Refusal;
use crate::weave::template::Template;
use crate::weave::template::symbol::{PlacedSymbols, SymbolSink};

/// The parts of a `Code` attribute, lifted and lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// Bytecode.
    pub code: Vec<u8>,
    /// Exception rows.
    pub rows: Vec<ExceptionRow>,
    /// Tables inside `Code`: index of the name, content. The frames come last; tables that merging drops are left out.
    pub tables: Vec<(u16, Vec<u8>)>,
}

/// Lifts and lowers every method of `class` that has code, and passes the method's index and the result, which the engine has
/// checked, to `see`.
pub fn lift_and_lower(
    workspace: &mut Workspace,
    class: &ClassFile<'_>,
    mut see: impl FnMut(usize, Result<Lowered, Refusal>),
) {
    workspace.begin(class);
    let template = empty_template();
    for (index, method) in class.methods().iter().enumerate() {
        match workspace.lower(class, method, &template) {
            Ok(None) => {}
            Ok(Some(lowered)) => see(index, Ok(lowered)),
            Err(reason) => see(index, Err(reason)),
        }
    }
}

impl Workspace {
    fn lower(
        &mut self,
        class: &ClassFile<'_>,
        method: &Member<'_>,
        template: &Template,
    ) -> Result<Option<Lowered>, Refusal> {
        let Some(code) = method.code(class)? else { return Ok(None) };
        let target = target_method(class, method)?;
        let body = BodyInput::of_code(&code, class.constant_pool())?;
        let mut placed = PlacedSymbols::default();
        let (pool, writer, bootstrap) = (class.constant_pool(), &mut self.pool, &mut self.bootstrap);
        let sink = SymbolSink { pool, writer, bootstrap, placed: &mut placed };
        let merge = NodeMerge {
            class,
            method,
            target: &target,
            template,
            captured: None,
            body: &body,
            sites: &[],
            sink,
            probe_constant: None,
        };
        let merged = merge.unchanged(&mut self.memory)?;
        self.methods.clear();
        self.write_checked(class, method, &target, &merged)?;
        let content = |table: &MergedTable| Ok((table.name_index, merged.content(table)?.to_vec()));
        let tables = merged.tables.iter().map(content).collect::<Result<_, Refusal>>()?;
        let MergedBody { code, rows, .. } = merged;
        Ok(Some(Lowered { code, rows, tables }))
    }
}
