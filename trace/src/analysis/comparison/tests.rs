use super::*;
use crate::analysis::AnalysisOptions;
use crate::{MethodInfo, ProcessInfo, Recording, RecordingOptions};

const EPOCH: u64 = 1_700_000_000_000_000_000;
const CALLS: usize = 2_000;

/// Repeatable chance.
struct Random(u64);

impl Random {
    /// A number from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normally distributed, with variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// The analysis of a recording of the calls of `m`, one after the other, with a pause of the same length after each.
fn recorded(times: impl IntoIterator<Item = f64>) -> Analysis {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jfr");
    let options = RecordingOptions::new(EPOCH, 0, ProcessInfo::default());
    let mut recording = Recording::create(&file, options).unwrap();
    let (class, name, descriptor) = (&b"C"[..], &b"m"[..], &b"()V"[..]);
    let method = MethodInfo { class, name, descriptor, access_flags: 1, exact: true, template: "timed" };
    recording.define_method(1, method);
    recording.set_thread(1);
    let mut now = 1_000;
    for time in times {
        recording.call(1, now, time as u64);
        now += 2 * time as u64;
    }
    recording.finish().unwrap();
    let options = AnalysisOptions { in_blocks: true, ..AnalysisOptions::default() };
    Analysis::of_file(&file, options).unwrap()
}

/// A program whose speed drifts by about 10 %, back and forth over a tenth of its calls; each run is at another point of that.
fn drifting(seed: u64, mean: f64) -> Vec<f64> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..100).for_each(|_| _ = random.next());
    let keeps = 1.0 - 10.0 / CALLS as f64;
    let mut drift = random.normal();
    let time = |_| {
        drift = keeps * drift + (1.0 - keeps * keeps).sqrt() * random.normal();
        mean * (1.0 + 0.1 * drift + 0.02 * random.normal()).max(0.1)
    };
    (0..CALLS).map(time).collect()
}

/// The margin of the mean if calls are taken for independent of each other.
fn independent_margin(times: &[f64]) -> f64 {
    let calls = times.len() as f64;
    let mean = times.iter().sum::<f64>() / calls;
    let variance = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / calls;
    1.96 * (variance / calls).sqrt()
}

#[test]
fn runs_of_one_program_that_drifts_do_not_differ() {
    let runs = 60;
    let (mut found, mut found_by_calls) = (0, 0);
    for run in 0..runs {
        let (before, after) = (drifting(2 * run + 1, 10_000.0), drifting(2 * run + 2, 10_000.0));
        let by_calls = independent_margin(&before).hypot(independent_margin(&after));
        let comparison = Comparison::of(&recorded(before), &recorded(after));
        let method = &comparison.methods[0];
        found += u32::from(method.is_noise(Measure::Average) == Some(false));
        found_by_calls += u32::from((method.difference(Measure::Average) as f64).abs() > by_calls);
    }
    assert!(found_by_calls > 30, "the drift would pass as a difference: {found_by_calls} of {runs}");
    assert!(found <= 5, "{found} of {runs}");
}

#[test]
fn a_true_difference_is_found_in_spite_of_the_drift() {
    for run in 0..10 {
        let comparison =
            Comparison::of(&recorded(drifting(100 + run, 10_000.0)), &recorded(drifting(200 + run, 13_000.0)));
        for measure in [Measure::Own, Measure::Total, Measure::Average] {
            let method = &comparison.methods[0];
            assert_eq!(method.is_noise(measure), Some(false), "{run} {measure:?} {:?}", method.noise_percent(measure));
        }
        assert_eq!(comparison.worse_by(Measure::Own, 5.0, 1.0).len(), 1);
        assert!(comparison.worse_by(Measure::Own, 60.0, 1.0).is_empty());
        assert!(!comparison.sees_runs());
    }
}

#[test]
fn what_differs_between_the_runs_of_a_side_is_no_difference_of_the_sides() {
    // Each run is steady, and another 15 % off.
    let run = |mean: f64| recorded((0..100).map(move |call| mean + (call % 3) as f64));
    let before = [8_500.0, 10_000.0, 11_500.0].map(run);
    let after = [9_700.0, 11_400.0, 12_600.0].map(run);
    let alone = Comparison::of(&before[0], &after[1]);
    assert_eq!(alone.methods[0].is_noise(Measure::Average), Some(false), "one recording cannot see that");
    let together = Comparison::of_several(&before, &after);
    assert!(together.sees_runs());
    let method = &together.methods[0];
    assert_eq!((method.before.unwrap().calls, method.before.unwrap().average), (100, Some(10_000)));
    for measure in [Measure::Own, Measure::Total, Measure::Average] {
        assert_eq!(method.is_noise(measure), Some(true), "{measure:?} {:?}", method.noise_percent(measure));
    }
    assert!(together.worse_by(Measure::Average, 5.0, 0.0).is_empty());
    let slower = Comparison::of_several(&before, &[15_500.0, 17_000.0, 18_200.0].map(run));
    assert_eq!(slower.methods[0].is_noise(Measure::Average), Some(false));
    assert_eq!(slower.worse_by(Measure::Average, 10.0, 0.0).len(), 1);
    // One side may have a single recording: its runs are taken to differ as much as those of the other.
    assert_eq!(Comparison::of_several(&before, &after[2..]).methods[0].is_noise(Measure::Average), Some(true));
}

#[test]
fn more_calls_are_a_difference_only_beyond_what_their_rate_varies() {
    let steady = |calls: usize| recorded((0..calls).map(|_| 1_000.0));
    let comparison = Comparison::of(&steady(1_000), &steady(1_300));
    assert_eq!(comparison.methods[0].is_noise(Measure::Own), Some(false));
    assert_eq!(comparison.methods[0].is_noise(Measure::Calls), Some(false));
    // Calls in bursts, with pauses of other methods between them.
    let bursts = |calls: usize| {
        let mut random = Random((calls as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut analysis = recorded((0..calls).map(|_| 1_000.0));
        let blocks = analysis.frames[0].blocks.as_mut().unwrap();
        for block in 0..20 {
            let of_block = (calls as f64 / 10.0 * random.next()) as u64;
            *blocks.get_mut(block).unwrap() =
                Block { calls: of_block, sum: of_block * 1_000, total: of_block * 1_000, own: of_block as i64 * 1_000 };
        }
        analysis
    };
    let comparison = Comparison::of(&bursts(1_000), &bursts(1_200));
    assert_eq!(comparison.methods[0].is_noise(Measure::Own), Some(true), "{:?}", comparison.methods[0]);
    assert_eq!(comparison.methods[0].is_noise(Measure::Average), Some(true));
}

#[test]
fn new_gone_and_changed_methods_the_largest_difference_first() {
    let analysis = |methods: &[(&str, u64)]| {
        let frame = |(method, own): &(&str, u64)| {
            let mut frame = Frame { method: (*method).to_owned(), own: *own, ..Frame::default() };
            frame.add(*own, true, true);
            frame
        };
        Analysis { frames: methods.iter().map(frame).collect(), ..Analysis::default() }
    };
    let before = analysis(&[("same", 100), ("gone", 50), ("slower", 1_000)]);
    let after = analysis(&[("same", 100), ("new", 70), ("slower", 1_500)]);
    let comparison = Comparison::of(&before, &after);
    let rows: Vec<_> = comparison
        .by_difference(Measure::Own)
        .into_iter()
        .map(|method| (method.name.as_str(), method.difference(Measure::Own), method.percent(Measure::Own)))
        .collect();
    let expected =
        [("slower", 500, Some(50.0)), ("new", 70, None), ("gone", -50, Some(-100.0)), ("same", 0, Some(0.0))];
    assert_eq!(rows, expected);
    let slower = comparison.by_difference(Measure::Own)[0];
    assert_eq!((slower.is_noise(Measure::Own), slower.noise_percent(Measure::Own)), (None, None), "called once");
    assert!(comparison.worse_by(Measure::Own, 10.0, 0.0).is_empty());
    let unjudged = comparison.unjudged_above(Measure::Own, 10.0, 0.0);
    assert_eq!(unjudged.iter().map(|method| method.name.as_str()).collect::<Vec<_>>(), ["slower"]);
}
