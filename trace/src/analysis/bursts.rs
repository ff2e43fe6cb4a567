//! The windows of level burst: how much of the time the figures of its methods cover.

use super::Frame;
use crate::IN_BURSTS;

/// All windows of a recording.
#[derive(Debug, Default)]
pub(super) struct BurstWindows {
    count: u64,
    open_nanos: u64,
    /// Start of the first and end of the last.
    span: Option<(u64, u64)>,
}

impl BurstWindows {
    pub(super) fn add(&mut self, start: u64, duration: u64) {
        self.count += 1;
        self.open_nanos = self.open_nanos.saturating_add(duration);
        let end = start.saturating_add(duration);
        let (first, last) = self.span.unwrap_or((start, end));
        self.span = Some((first.min(start), last.max(end)));
    }

    /// What people must know who read the figures of these methods.
    pub(super) fn warning(&self, frames: &[Frame]) -> Option<String> {
        let methods = frames.iter().filter(|frame| frame.is_in_bursts() && frame.calls > 0).count();
        if methods == 0 {
            return None;
        }
        let whose = if methods == 1 { "1 method was".to_owned() } else { format!("{methods} methods were") };
        let (first, last) = self.span.unwrap_or_default();
        let millis = |nanos: u64| nanos as f64 / 1e6;
        let share = 100.0 * self.open_nanos as f64 / (last - first).max(1) as f64;
        Some(format!(
            "{whose} recorded in bursts (template `...{IN_BURSTS}`): {} windows, {:.1} ms of the {:.1} ms from the first to the \
             last ({share:.1} %); their calls and times are those of the windows, nothing is scaled",
            self.count,
            millis(self.open_nanos),
            millis(last.saturating_sub(first)),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_time_is_that_of_the_windows_in_any_order() {
        let mut windows = BurstWindows::default();
        let frame = |template: &str, calls| Frame { template: template.to_owned(), calls, ..Frame::default() };
        assert_eq!(windows.warning(&[frame("timed", 5), frame("timed in bursts", 0)]), None);
        for start in [200_000_000, 0, 100_000_000] {
            windows.add(start, 1_000_000);
        }
        let warning = windows.warning(&[frame("timed", 5), frame("timed in bursts", 3)]).unwrap();
        assert!(warning.starts_with("1 method was recorded in bursts"), "{warning}");
        assert!(warning.contains("3 windows, 3.0 ms of the 201.0 ms from the first to the last (1.5 %)"), "{warning}");
    }
}
