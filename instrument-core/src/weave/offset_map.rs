//! Where each original instruction went.

/// One stretch of original code that moved as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    original: u32,
    new: u32,
    length: u32,
}

/// Maps original code offsets to new ones. It is monotone and covers every original instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetMap {
    stretches: Vec<Stretch>,
}

impl OffsetMap {
    /// Appends a stretch; stretches come in ascending order.
    pub(crate) fn push(&mut self, original: u32, new: u32, length: u32) {
        if let Some(last) = self.stretches.last_mut()
            && last.original + last.length == original
            && last.new + last.length == new
        {
            last.length += length;
            return;
        }
        self.stretches.push(Stretch { original, new, length });
    }

    pub(crate) fn clear(&mut self) {
        self.stretches.clear();
    }

    fn position(&self, offset: u32, start: impl Fn(&Stretch) -> u32) -> Option<&Stretch> {
        let next = self.stretches.partition_point(|stretch| start(stretch) <= offset);
        self.stretches.get(next.checked_sub(1)?)
    }

    /// New offset of the instruction at an original offset.
    pub fn to_new(&self, original: u32) -> Option<u32> {
        let stretch = self.position(original, |stretch| stretch.original)?;
        let within = original - stretch.original;
        (within < stretch.length).then_some(stretch.new + within)
    }

    /// Original offset of the instruction at a new offset; `None` for the template's code.
    pub fn to_original(&self, new: u32) -> Option<u32> {
        let stretch = self.position(new, |stretch| stretch.new)?;
        let within = new - stretch.new;
        (within < stretch.length).then_some(stretch.original + within)
    }

    /// Original offset, new offset and length of each stretch, in order.
    pub fn stretches(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.stretches.iter().map(|stretch| (stretch.original, stretch.new, stretch.length))
    }

    /// The map that goes through `self` first and `next` then.
    pub(crate) fn then(&self, next: &OffsetMap) -> OffsetMap {
        let mut joined = OffsetMap::default();
        for stretch in &self.stretches {
            let mut done = 0;
            while done < stretch.length {
                let Some(following) = next.position(stretch.new + done, |other| other.original) else { break };
                let within = stretch.new + done - following.original;
                let Some(left) = following.length.checked_sub(within).filter(|left| *left > 0) else { break };
                let length = left.min(stretch.length - done);
                joined.push(stretch.original + done, following.new + within, length);
                done += length;
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_both_ways_and_joins() {
        let mut first = OffsetMap::default();
        first.push(0, 4, 3);
        first.push(3, 7, 2);
        first.push(5, 12, 1);
        assert_eq!(first.stretches().count(), 2, "adjacent stretches become one");
        assert_eq!(first.to_new(4), Some(8));
        assert_eq!(first.to_new(6), None);
        assert_eq!(first.to_original(8), Some(4));
        assert_eq!(first.to_original(10), None);
        let mut second = OffsetMap::default();
        second.push(0, 10, 6);
        second.push(6, 20, 7);
        let joined = first.then(&second);
        assert_eq!((0..6).map(|at| joined.to_new(at)).collect::<Vec<_>>(), [14, 15, 20, 21, 22, 26].map(Some));
    }
}
