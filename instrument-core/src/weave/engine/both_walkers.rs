//! The comparison of the two walkers, for tests, the fuzzer and the corpus run.

use classfile::ClassFile;

use super::own_check::Checked;
use super::{Engine, Workspace};
use crate::weave::outcome::{MethodPlan, Outcome};

/// Returns what [`Engine::instrument`] gives, or a description of the difference if the merge by way of nodes alone gives something
/// else: the two must write the same bytes, list the same probes and refuse for the same reasons. Every method is checked.
#[doc(hidden)]
pub fn instrument_by_both(
    engine: &Engine,
    workspace: &mut Workspace,
    class: &ClassFile<'_>,
    plan: &[MethodPlan],
) -> Result<Outcome, String> {
    let usual = Engine { checked: Checked::EveryMethod, ..engine.clone() };
    let by_nodes = Engine { has_single_pass: false, ..usual.clone() };
    let outcome = usual.instrument(workspace, class, plan);
    let other = by_nodes.instrument(workspace, class, plan);
    if outcome == other { Ok(outcome) } else { Err(difference(&outcome, &other)) }
}

/// Describes where two outcomes part.
fn difference(usual: &Outcome, by_nodes: &Outcome) -> String {
    let (Outcome::Rewritten(usual), Outcome::Rewritten(by_nodes)) = (usual, by_nodes) else {
        let refused = |outcome: &Outcome| match outcome {
            Outcome::Rewritten(_) => "rewritten".to_owned(),
            Outcome::Unchanged { refused } => format!("{refused:?}"),
        };
        return format!("{}; by way of nodes {}", refused(usual), refused(by_nodes));
    };
    if usual.refused != by_nodes.refused {
        return format!("refused {:?}; by way of nodes {:?}", usual.refused, by_nodes.refused);
    }
    let same = usual.bytes.iter().zip(&by_nodes.bytes).take_while(|(usual, by_nodes)| usual == by_nodes).count();
    format!("{} bytes; by way of nodes {}, alike up to {same}", usual.bytes.len(), by_nodes.bytes.len())
}
