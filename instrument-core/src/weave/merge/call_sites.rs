//! Call sites of the target: which are inserted, which exception handlers close them, and the code of both.
//!
//! * The node of an invoke instruction becomes `begin`, the instruction, `end`. So a jump to the instruction runs `begin`, and whatever covers
//!   the instruction, an exception handler or a line, covers all three.
//! * A handler that covers a site gets `caught` before its first instruction. A jump that leads there as well runs it, too; nothing is open
//!   then, because `begin` and `end` are never apart.
//! * `caught` is a call, so it may throw `StackOverflowError`. A handler of a `synchronized` block covers itself: it would run `caught` for
//!   ever. So no handler gets it that is itself covered by a row whose handler is not after it, and the error runs through each of them once
//!   at most. What such a handler leaves open is closed by the runtime at the next `begin`, `caught` or the end of the call.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use classfile::{ExceptionRow, ModifiedUtf8, Tag, opcode};

use super::emit::local_bytes;
use crate::weave::body::lift::{Lifted, LiftedSite};
use crate::weave::body::node::{NodeId, NodeKind, NodeList, Source};
use crate::weave::body::stack_depth::StackEffects;
use crate::weave::body::super_call::Stretches;
use crate::weave::call_sites::{CallSite, RefusedSite, SiteRefusal};
use crate::weave::refusal::Refusal;
use crate::weave::template::Scope;
use crate::weave::template::symbol::{Symbol, SymbolSink};

/// Words that `begin` and `end` are called with, which lie above the target's operands: a long and an int.
const SITE_WORDS: u16 = 3;
/// Words at a handler's first instruction: the exception and the long that `caught` is called with.
const CAUGHT_WORDS: u16 = 3;

/// The sites of one method. Memory is kept from method to method.
#[derive(Debug, Default)]
pub(crate) struct SitePlan {
    /// Ascending by offset.
    pub(crate) wanted: Vec<CallSite>,
    /// Original offsets of the handlers that get `caught`, ascending.
    pub(crate) handlers: Vec<u32>,
    pub(crate) refused: Vec<RefusedSite>,
    /// Bytes inserted before an instruction, by its original offset.
    pub(crate) inserted: BTreeMap<u16, u16>,
}

impl SitePlan {
    /// Chooses among the sites of a method; in a constructor only those where its object is `initialised`.
    pub(crate) fn choose(&mut self, sites: &[CallSite], initialised: Option<&Stretches>, rows: &[ExceptionRow]) {
        self.wanted.clear();
        self.handlers.clear();
        self.refused.clear();
        self.inserted.clear();
        for &site in sites {
            let offset = u32::from(site.offset);
            let is_early = initialised.is_some_and(|stretches| !stretches.iter().any(|part| part.contains(&offset)));
            match self.wanted.binary_search_by_key(&site.offset, |wanted| wanted.offset) {
                _ if is_early => self.refuse(site, SiteRefusal::BeforeSuper),
                Ok(_) => self.refuse(site, SiteRefusal::Repeated),
                Err(place) => self.wanted.insert(place, site),
            }
        }
        self.handlers.extend(closing_handlers(&self.wanted, rows));
    }

    fn refuse(&mut self, site: CallSite, reason: SiteRefusal) {
        self.refused.push(RefusedSite { site, reason });
    }

    /// Keeps those that were found in the code and are reached; the others are refused.
    pub(crate) fn keep_found(&mut self, lifted: &mut Lifted) {
        let mut found = std::mem::take(&mut lifted.sites);
        for &site in &self.wanted {
            let known = found.binary_search_by_key(&site.offset, |lifted| lifted.site.offset);
            let reason = match known.ok().and_then(|place| found.get(place)) {
                None => SiteRefusal::NotACall,
                Some(LiftedSite { depth: None, .. }) => SiteRefusal::Unreachable,
                Some(_) => continue,
            };
            self.refused.push(RefusedSite { site, reason });
        }
        found.retain(|site| site.depth.is_some());
        lifted.sites = found;
    }
}

/// Returns the offsets of the handlers that cover a site, ascending, without those through which an exception in them could go in a circle.
fn closing_handlers(sites: &[CallSite], rows: &[ExceptionRow]) -> Vec<u32> {
    let covers_a_site = |row: &&ExceptionRow| {
        let first = sites.partition_point(|site| site.offset < row.start);
        sites.get(first).is_some_and(|site| site.offset < row.end)
    };
    let mut handlers: Vec<u16> = rows.iter().filter(covers_a_site).map(|row| row.handler).collect();
    handlers.sort_unstable();
    handlers.dedup();
    let mut ahead: Vec<&ExceptionRow> = rows.iter().collect();
    ahead.sort_by_key(|row| Reverse(row.start));
    // The rows that begin at or before the present handler, the one with the first handler on top.
    let mut begun = BinaryHeap::new();
    handlers.retain(|&at| {
        while let Some(row) = ahead.pop_if(|row| row.start <= at) {
            begun.push(Reverse((row.handler, row.end)));
        }
        while begun.peek().is_some_and(|Reverse((_, end))| *end <= at) {
            begun.pop();
        }
        begun.peek().is_none_or(|Reverse((handler, _))| *handler > at)
    });
    handlers.into_iter().map(u32::from).collect()
}

/// Writes the code of the sites.
pub(crate) struct SiteWriter<'w, 's, 'a> {
    pub(crate) scope: Scope,
    pub(crate) symbols: &'w [Symbol],
    /// Slot of the scope in the merged method.
    pub(crate) slot: u16,
    pub(crate) sink: &'w mut SymbolSink<'s, 'a>,
    pub(crate) effects: &'w mut StackEffects,
}

impl SiteWriter<'_, '_, '_> {
    /// Fills the nodes of sites and handlers; returns the words that they need on the operand stack.
    pub(crate) fn fill(
        &mut self,
        lifted: &Lifted,
        target_code: &[u8],
        list: &mut NodeList,
        inserted: &mut BTreeMap<u16, u16>,
    ) -> Result<u16, Refusal> {
        if lifted.sites.is_empty() {
            return Ok(0);
        }
        let [begin, end, caught] =
            [self.method(self.scope.begin)?, self.method(self.scope.end)?, self.method(self.scope.caught)?];
        let mut stack = 0;
        for &id in &lifted.entries {
            let start = list.made.len();
            self.load_scope(&mut list.made);
            call(caught, &mut list.made);
            let (original, length) = replace(id, start, list)?;
            note(inserted, original, length)?;
            stack = CAUGHT_WORDS;
        }
        for site in &lifted.sites {
            let fault = || Refusal::SelfCheck("call site");
            let node = *list.get(site.node)?;
            let invoke = target_code.get(node.start as usize..(node.start + node.length) as usize).ok_or_else(fault)?;
            let start = list.made.len();
            self.site_call(begin, site.site.number, &mut list.made)?;
            note(inserted, node.original, list.made.len() - start)?;
            list.made.extend_from_slice(invoke);
            self.site_call(end, site.site.number, &mut list.made)?;
            replace(site.node, start, list)?;
            let depth = site.depth.ok_or_else(fault)?.checked_add(SITE_WORDS);
            stack = stack.max(depth.ok_or(Refusal::SelfCheck("operand stack of a call site"))?);
        }
        Ok(stack)
    }

    fn method(&mut self, symbol: usize) -> Result<u16, Refusal> {
        let placed = self.sink.symbol(self.symbols, symbol)?;
        let (constant, is_new) = placed.ok_or(Refusal::SelfCheck("method of a call site"))?;
        if let Some(descriptor) = self.symbols.get(symbol).filter(|_| is_new).and_then(Symbol::descriptor) {
            self.effects.note(constant, ModifiedUtf8(descriptor));
        }
        Ok(constant)
    }

    fn load_scope(&self, code: &mut Vec<u8>) {
        let (bytes, length) = local_bytes(opcode::LLOAD, self.slot);
        code.extend_from_slice(bytes.get(..length).unwrap_or_default());
    }

    fn site_call(&mut self, method: u16, number: u16, code: &mut Vec<u8>) -> Result<(), Refusal> {
        self.load_scope(code);
        let [high, low] = number.to_be_bytes();
        match number {
            0..=5 => code.push(opcode::ICONST_0 + low),
            6..=0x7F => code.extend([opcode::BIPUSH, low]),
            0x80..=0x7FFF => code.extend([opcode::SIPUSH, high, low]),
            _ => {
                let constant = self.sink.writer.word(self.sink.pool, Tag::Integer, number.into())?;
                let [high, low] = constant.to_be_bytes();
                code.extend([opcode::LDC_W, high, low]);
            }
        }
        call(method, code);
        Ok(())
    }
}

fn call(method: u16, code: &mut Vec<u8>) {
    let [high, low] = method.to_be_bytes();
    code.extend([opcode::INVOKESTATIC, high, low]);
}

/// Lets a node have the bytes that were made from `start` on; returns its original offset and their number.
fn replace(id: NodeId, start: usize, list: &mut NodeList) -> Result<(u32, usize), Refusal> {
    let length = list.made.len() - start;
    let node = list.get_mut(id)?;
    (node.kind, node.start, node.length) = (NodeKind::Straight(Source::Synthesized), start as u32, length as u32);
    Ok((node.original, length))
}

fn note(inserted: &mut BTreeMap<u16, u16>, original: u32, bytes: usize) -> Result<(), Refusal> {
    // At most `caught` and `begin`, ten bytes each.
    let (Ok(original), Ok(bytes)) = (u16::try_from(original), u16::try_from(bytes)) else {
        return Err(Refusal::SelfCheck("call site outside the code"));
    };
    *inserted.entry(original).or_default() += bytes;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(start: u16, end: u16, handler: u16) -> ExceptionRow {
        ExceptionRow { start, end, handler, catch_type: 0 }
    }

    fn closing(sites: &[u16], rows: &[ExceptionRow]) -> Vec<u32> {
        let sites: Vec<_> = sites.iter().map(|&offset| CallSite { offset, number: 0 }).collect();
        closing_handlers(&sites, rows)
    }

    #[test]
    fn handlers_that_cover_a_site_close_it() {
        let rows = [row(0, 10, 40), row(10, 20, 30), row(20, 25, 35)];
        assert_eq!(closing(&[9], &rows), [40]);
        assert_eq!(closing(&[10, 19], &rows), [30]);
        assert_eq!(closing(&[3, 12, 22], &rows), [30, 35, 40]);
        assert_eq!(closing(&[25], &rows), [0; 0]);
    }

    #[test]
    fn handlers_in_a_circle_do_not() {
        // As javac writes a synchronized block: its handler covers itself.
        assert_eq!(closing(&[5], &[row(4, 10, 13), row(13, 16, 13)]), [0; 0]);
        // A catch within it is covered by the handler after it only.
        assert_eq!(closing(&[5], &[row(4, 10, 11), row(4, 20, 21), row(21, 24, 21)]), [11]);
        // Two that cover each other: the first one leads to the second one, and that to nowhere.
        assert_eq!(closing(&[5, 21], &[row(4, 10, 20), row(20, 22, 30), row(30, 32, 20)]), [20]);
        // A row that has ended before the handler counts no more.
        assert_eq!(closing(&[5], &[row(4, 10, 20), row(0, 20, 3)]), [20]);
    }
}
