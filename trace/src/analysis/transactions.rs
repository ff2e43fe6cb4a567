//! What an outermost call has caused, on whatever threads: a call tree in which a task is a child of the call that handed it over.
//!
//! The recording is read three times: for the hand-overs, for the calls in which they happened, and for the calls of the
//! tasks. Memory grows with hand-overs and call paths, not with calls.

use rustc_hash::{FxHashMap, FxHashSet};

use super::task_links::{Context, LinkId, TaskLinks};
use super::transaction_tree::{TransactionNode, TransactionTree};
use super::{Analysis, AnalysisOptions, Frame, FrameId, Slice, SliceVisitor};
use crate::TraceReader;
use crate::reader::Thread;

/// Where paths begin.
const START: usize = 0;

/// The transactions of a recording.
#[derive(Debug, Default)]
pub struct Transactions {
    /// The tree: node 0 is the root, above all transactions; parents precede their children.
    pub nodes: Vec<TransactionNode>,
    /// The methods.
    pub frames: Vec<Frame>,
    /// Tasks and threads whose calls are children of the call that gave them away.
    pub joined: u64,
    /// Tasks that could be those of several transactions, because the same object was handed over more than once at a time.
    pub ambiguous: u64,
    /// What the reader should know about the quality of the figures.
    pub warnings: Vec<String>,
}

impl Transactions {
    /// Reads the transactions of a recording. Each outermost call begins one, and each call of a method for which
    /// `begins` says so.
    pub fn of_reader(
        reader: &mut TraceReader,
        options: AnalysisOptions,
        begins: &dyn Fn(&Frame) -> bool,
    ) -> Transactions {
        let links = TaskLinks::read(reader);
        let mut givers = Givers {
            waiting: links.by_thread(),
            places: vec![None; links.hand_overs.len()],
            paths: vec![(START, FrameId(0))],
            known: FxHashMap::default(),
            walk: Walk::new(&links, begins),
        };
        Analysis::with_slices(reader, options, &mut givers);
        let (places, paths) = (givers.places, givers.paths);
        let mut takers = Takers {
            places,
            paths,
            resolved: FxHashMap::default(),
            tree: TransactionTree::default(),
            walk: Walk::new(&links, begins),
        };
        let mut analysis = Analysis::with_slices(reader, options, &mut takers);
        if links.left_out > 0 {
            let steps = links.left_out;
            analysis.warnings.push(format!("{steps} steps of tasks were left out: there are too many for memory"));
        }
        Transactions {
            nodes: takers.tree.finish(),
            frames: analysis.frames,
            joined: links.joined(),
            ambiguous: links.ambiguous,
            warnings: analysis.warnings,
        }
    }

    /// The method of a node; `None` for the root.
    #[must_use]
    pub fn frame(&self, node: &TransactionNode) -> Option<&Frame> {
        self.frames.get(node.frame?.index())
    }
}

/// A call that may have others inside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) context: Context,
    /// Its place: a path, a node, or the number of a call.
    pub(super) place: usize,
    /// Its transaction begins on this thread, in this context.
    pub(super) is_rooted: bool,
}

/// Where the calls of a thread belong, found out while they come by.
pub(super) struct Walk<'l> {
    links: &'l TaskLinks,
    begins: &'l dyn Fn(&Frame) -> bool,
    /// Methods that begin a transaction, as far as they have been seen.
    roots: FxHashMap<FrameId, bool>,
    open: FxHashMap<u64, Vec<Open>>,
}

/// What is around a call.
pub(super) enum Around {
    /// Nothing: it begins a transaction.
    Nothing,
    /// It begins a transaction of its own within this call, if any.
    Begins(Option<Open>),
    /// A call of the same thread on the same behalf.
    Call(Open),
    /// Nothing on this thread; it belongs to who handed this over.
    Giver(LinkId),
}

impl<'l> Walk<'l> {
    pub(super) fn new(links: &'l TaskLinks, begins: &'l dyn Fn(&Frame) -> bool) -> Walk<'l> {
        Walk { links, begins, roots: FxHashMap::default(), open: FxHashMap::default() }
    }

    pub(super) fn around(&mut self, slice: &Slice<'_>) -> (Around, Context) {
        let context = self.links.context(slice.thread, slice.end);
        let open = self.open.entry(slice.thread).or_default();
        open.truncate(slice.depth);
        let begins = self.begins;
        if *self.roots.entry(slice.frame_id).or_insert_with(|| begins(slice.frame)) {
            return (Around::Begins(open.last().copied()), context);
        }
        let around = match (open.last().filter(|around| around.context == context), context) {
            (Some(around), _) => Around::Call(*around),
            (None, Context::Task(link)) => Around::Giver(link),
            (None, Context::Own | Context::Unknown) => Around::Nothing,
        };
        (around, context)
    }

    pub(super) fn enter(&mut self, thread: u64, call: Open) {
        self.open.entry(thread).or_default().push(call);
    }
}

/// The innermost call around a hand-over.
#[derive(Debug, Clone, Copy)]
struct Place {
    path: usize,
    is_rooted: bool,
    start: u64,
    end: u64,
}

/// The first look: in which calls hand-overs happened.
struct Givers<'l> {
    waiting: FxHashMap<u64, Vec<(u64, LinkId)>>,
    places: Vec<Option<Place>>,
    /// Paths from the outermost call of a thread on one behalf: the path around, and the method.
    paths: Vec<(usize, FrameId)>,
    known: FxHashMap<(usize, FrameId), usize>,
    walk: Walk<'l>,
}

impl SliceVisitor for Givers<'_> {
    fn thread(&mut self, _thread: &Thread) {}

    fn slice(&mut self, slice: &Slice<'_>) {
        // Only threads that hand something over are of interest.
        if !self.waiting.contains_key(&slice.thread) {
            return;
        }
        let (around, context) = self.walk.around(slice);
        let (above, is_rooted) = match around {
            Around::Call(open) => (open.place, open.is_rooted),
            Around::Nothing | Around::Begins(_) => (START, true),
            Around::Giver(_) => (START, false),
        };
        let next = self.paths.len();
        let path = *self.known.entry((above, slice.frame_id)).or_insert(next);
        if path == next {
            self.paths.push((above, slice.frame_id));
        }
        self.walk.enter(slice.thread, Open { context, place: path, is_rooted });
        let Some(hand_overs) = self.waiting.get(&slice.thread) else { return };
        let first = hand_overs.partition_point(|(at, _)| *at < slice.start);
        let inside = hand_overs.iter().skip(first).take_while(|(at, _)| *at <= slice.end);
        // Callers come first: what is written last is the innermost call.
        for (_, link) in inside.filter(|(at, _)| self.walk.links.context(slice.thread, *at) == context) {
            if let Some(place) = self.places.get_mut(link.index()) {
                *place = Some(Place { path, is_rooted, start: slice.start, end: slice.end });
            }
        }
    }
}

/// The call that handed something over: its node, and when it ran.
#[derive(Debug, Clone, Copy)]
struct Giver {
    node: usize,
    start: u64,
    end: u64,
}

impl Giver {
    const NOBODY: Giver = Giver { node: TransactionTree::ROOT, start: 0, end: 0 };
}

/// The second look: builds the tree.
struct Takers<'l> {
    places: Vec<Option<Place>>,
    paths: Vec<(usize, FrameId)>,
    resolved: FxHashMap<LinkId, Giver>,
    tree: TransactionTree,
    walk: Walk<'l>,
}

impl Takers<'_> {
    /// The innermost call around a hand-over, on this thread or the one that had handed over what this one was doing.
    fn giver(&mut self, link: LinkId) -> Giver {
        // A task handed over inside of a task, and so on: from the innermost to the first.
        let (mut chain, mut at, mut seen) = (Vec::new(), Some(link), FxHashSet::default());
        let mut giver = Giver::NOBODY;
        while let Some(link) = at {
            if let Some(known) = self.resolved.get(&link) {
                giver = *known;
                break;
            }
            // The same twice cannot be, in a sound file.
            if !seen.insert(link) {
                break;
            }
            chain.push(link);
            let place = self.places.get(link.index()).copied().flatten();
            let Some(hand_over) = self.walk.links.hand_over_of(link) else { break };
            at = match self.walk.links.context(hand_over.thread, hand_over.at) {
                Context::Task(before) if !place.is_some_and(|place| place.is_rooted) => Some(before),
                _ => None,
            };
        }
        for link in chain.into_iter().rev() {
            if let Some(place) = self.places.get(link.index()).copied().flatten() {
                giver = self.below(giver, &place);
            }
            self.resolved.insert(link, giver);
        }
        giver
    }

    /// The call at a place, in the transaction of another.
    fn below(&mut self, giver: Giver, place: &Place) -> Giver {
        let mut node = if place.is_rooted { TransactionTree::ROOT } else { giver.node };
        let mut is_elsewhere = node != TransactionTree::ROOT;
        for frame in self.frames_of(place.path) {
            node = self.tree.child(node, frame, is_elsewhere);
            is_elsewhere = false;
        }
        Giver { node, start: place.start, end: place.end }
    }

    /// The methods of a path, the outermost first.
    fn frames_of(&self, path: usize) -> Vec<FrameId> {
        let mut frames = Vec::new();
        let mut at = path;
        while at != START {
            let Some((above, frame)) = self.paths.get(at) else { break };
            frames.push(*frame);
            at = *above;
        }
        frames.reverse();
        frames
    }
}

impl SliceVisitor for Takers<'_> {
    fn thread(&mut self, _thread: &Thread) {}

    fn slice(&mut self, slice: &Slice<'_>) {
        let (around, context) = self.walk.around(slice);
        let (above, is_elsewhere, beside) = match around {
            Around::Nothing | Around::Begins(None) => (TransactionTree::ROOT, false, 0),
            Around::Begins(Some(open)) => {
                self.tree.leave_to_another(open.place, slice.duration);
                (TransactionTree::ROOT, false, 0)
            }
            Around::Call(open) => (open.place, false, 0),
            Around::Giver(link) => {
                let Giver { node, start, end } = self.giver(link);
                (node, node != TransactionTree::ROOT, slice.end.min(end).saturating_sub(slice.start.max(start)))
            }
        };
        let node = self.tree.child(above, slice.frame_id, is_elsewhere);
        self.tree.add(node, slice.duration, beside, slice.exact);
        self.walk.enter(slice.thread, Open { context, place: node, is_rooted: false });
    }
}
