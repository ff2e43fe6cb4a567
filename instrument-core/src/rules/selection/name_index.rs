//! Finds the class patterns that match a name without trying all of them.

use crate::rules::patterns::name_glob::NameGlob;

/// The class patterns of all rules, ordered by the literal text they begin with.
///
/// The texts are sorted. All texts with which a name begins lie on one chain: the last text not greater than the name,
/// then the longest other text with which that one begins, and so on. So one binary search finds them all.
#[derive(Debug, Default)]
pub(super) struct NameIndex {
    /// The [`head`] of each node's text. They lie side by side and tell most names apart without a look at the texts, each of
    /// which lies somewhere else: the index is asked once for each class that is loaded, when none of it is in a cache.
    heads: Vec<u64>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    prefix: Box<[u8]>,
    /// The node with the longest shorter text with which this one begins.
    parent: Option<usize>,
    patterns: Vec<(usize, NameGlob)>,
}

impl NameIndex {
    /// An index over patterns, each with the number of its rule.
    pub(super) fn new(mut patterns: Vec<(usize, NameGlob)>) -> NameIndex {
        patterns.sort_by(|(_, one), (_, other)| one.literal_prefix().cmp(other.literal_prefix()));
        let mut nodes: Vec<Node> = Vec::new();
        for (rule, glob) in patterns {
            match nodes.last_mut() {
                Some(last) if *last.prefix == *glob.literal_prefix() => last.patterns.push((rule, glob)),
                _ => {
                    let prefix: Box<[u8]> = glob.literal_prefix().into();
                    let parent = chain(&nodes, nodes.len().checked_sub(1))
                        .find(|(_, node)| prefix.starts_with(&node.prefix))
                        .map(|(at, _)| at);
                    nodes.push(Node { prefix, parent, patterns: vec![(rule, glob)] });
                }
            }
        }
        NameIndex { heads: nodes.iter().map(|node| head(&node.prefix)).collect(), nodes }
    }

    /// Numbers of the rules with a pattern that matches, in no order, a rule once for each of its patterns.
    pub(super) fn rules<'i>(&'i self, name: &'i [u8]) -> impl Iterator<Item = usize> + 'i {
        chain(&self.nodes, self.last_not_greater(name))
            .flat_map(|(_, node)| &node.patterns)
            .filter(move |(_, glob)| glob.matches(name))
            .map(|(rule, _)| *rule)
    }

    /// The literal texts that names must begin with to match a pattern.
    pub(super) fn beginnings(&self) -> impl Iterator<Item = &[u8]> {
        self.nodes.iter().map(|node| &*node.prefix)
    }

    /// The last node whose text is not greater than the name.
    fn last_not_greater(&self, name: &[u8]) -> Option<usize> {
        let head = head(name);
        let smaller = self.heads.partition_point(|other| *other < head);
        let equal = self.heads.get(smaller..)?.partition_point(|other| *other == head);
        let nodes = self.nodes.get(smaller..smaller + equal)?;
        (smaller + nodes.partition_point(|node| *node.prefix <= *name)).checked_sub(1)
    }
}

/// The first eight bytes as a number that has the order of the texts, as far as they go.
fn head(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => text.iter().zip((0..8u32).rev()).map(|(byte, place)| u64::from(*byte) << (8 * place)).sum(),
    }
}

fn chain(nodes: &[Node], from: Option<usize>) -> impl Iterator<Item = (usize, &Node)> {
    let node = move |at: usize| nodes.get(at).map(|node| (at, node));
    std::iter::successors(from.and_then(node), move |(_, last)| last.parent.and_then(node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_same_as_trying_all() {
        let globs = [
            "com.acme.**",
            "com.acme.web.*",
            "com.acme.Shop",
            "com.**.Shop",
            "**",
            "*",
            "c*",
            "com.acme.*Service",
            "org.**",
            "com.acme",
            "com.acme.web.Page",
            "com.acm",
            "com.acme.**",
            "**Shop",
            "z",
            "com.acme2",
            "com.acme.x",
            "com.acm*2",
        ];
        let patterns: Vec<_> = globs.iter().map(|glob| NameGlob::class(glob).unwrap()).enumerate().collect();
        let index = NameIndex::new(patterns.clone());
        for name in [
            "com/acme/Shop",
            "com/acme/web/Page",
            "com/acme/UserService",
            "com/acme",
            "com/acm",
            "com/x/Shop",
            "Shop",
            "c",
            "",
            "a",
            "zz",
            "z",
            "org/a/B",
            "com/acmf",
            "com/acme/web",
            "com/acme/web/",
            "\u{7f}",
        ] {
            let mut found: Vec<usize> = index.rules(name.as_bytes()).collect();
            found.sort_unstable();
            let expected: Vec<usize> =
                patterns.iter().filter(|(_, glob)| glob.matches(name.as_bytes())).map(|(rule, _)| *rule).collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn nothing_matches_an_empty_index() {
        assert_eq!(NameIndex::new(Vec::new()).rules(b"a/B").count(), 0);
    }
}
