//! The agent's answer as reports show walks: those of a running JVM and those in a recording look alike.

use super::diagnosis_figures::nanos;
use super::hot_spots::HotSpot;
use super::walk::{Walk, WalkCaller, WalkHooks, WalkLevel};

impl From<&Walk> for trace::Walk {
    fn from(answer: &Walk) -> trace::Walk {
        trace::Walk {
            number: 0,
            state: answer.state.clone(),
            metric: answer.metric.map(|metric| metric.name().to_owned()),
            samples: answer.samples,
            sampler: answer.sampler.clone(),
            bias: answer.bias.clone(),
            hot: answer.hot.iter().map(hot_spot).collect(),
            levels: answer.levels.iter().map(level).collect(),
            hooks: hooks(&answer.hooks),
            end: answer.end.clone(),
            notices: answer.notices.clone(),
            ended_after_nanos: None,
            gauge: Vec::new(),
        }
    }
}

fn hot_spot(spot: &HotSpot) -> trace::HotSpot {
    trace::HotSpot {
        method: spot.method.clone(),
        kind: spot.kind.map(|kind| kind.name().to_owned()),
        share: spot.share,
        margin: spot.margin,
        samples: spot.samples,
    }
}

fn level(level: &WalkLevel) -> trace::WalkLevel {
    let without_caller = level.without_caller.iter();
    trace::WalkLevel {
        level: level.level,
        hot: level.hot.clone(),
        of: level.of.clone(),
        source: level.source.clone(),
        calls: level.calls,
        covered: level.covered,
        share: level.share,
        callers: level.callers.iter().map(caller).collect(),
        without_caller: without_caller
            .map(|of| trace::WithoutCaller { reason: of.reason.clone(), share: of.share })
            .collect(),
        reason: level.reason.clone(),
    }
}

fn caller(caller: &WalkCaller) -> trace::WalkCaller {
    trace::WalkCaller {
        method: caller.method.clone(),
        via: caller.via.clone(),
        calls: caller.calls,
        calls_share: caller.calls_share,
        calls_margin: caller.calls_margin,
        time_nanos: caller.time_ms.and_then(nanos),
        time_share: caller.time_share,
        time_margin: caller.time_margin,
        shortest_nanos: caller.shortest_ms.and_then(nanos),
        longest_nanos: caller.longest_ms.and_then(nanos),
        cpu_share: caller.cpu_share,
        margin: caller.margin,
        followed: caller.followed,
    }
}

fn hooks(hooks: &WalkHooks) -> trace::WalkHooks {
    trace::WalkHooks {
        now: hooks.now as u64,
        most: hooks.most as u64,
        calls: hooks.calls,
        late: hooks.late,
        changes: hooks.changes as u64,
        longest_stop_nanos: nanos(hooks.longest_stop_ms).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn reports_have_the_same_json_as_the_answer() {
        let answer = json!({
            "state": "ended", "samples": 3214, "sampler": "async", "bias": "b",
            "hot": [{"method": "a.A.a()", "kind": "jit", "share": 0.413, "margin": 0.017, "samples": 1327}],
            "levels": [
                {"level": 1, "hot": "a.A.a()", "of": "a.A.a()", "source": "measured", "calls": 18240, "covered": 0.999, "share": 1.0,
                 "callers": [{"method": "b.B.b()", "via": null, "calls": 12549, "calls_share": 0.688, "calls_margin": 0.007,
                              "time_ms": 81.25, "time_share": 0.252, "cpu_share": 0.255, "margin": 0.032, "followed": true}],
                 "without_caller": [{"reason": "r", "share": 0.1}]},
                {"level": 2, "hot": "a.A.a()", "of": "b.B.b()", "source": "samples", "share": 0.5, "reason": "n",
                 "callers": [{"method": "c.C.c()", "via": "v.V.v()", "calls": null, "calls_share": null, "time_ms": null,
                              "time_share": null, "cpu_share": 1.0, "followed": false}]}],
            "hooks": {"now": 0, "most": 5, "calls": 41022, "late": 0, "changes": 9, "longest_stop_ms": 3.5},
            "end": "a.A.a(): root", "notices": ["n"]
        });
        let walk: Walk = serde_json::from_value(answer.clone()).unwrap();
        assert_eq!(serde_json::to_value(&walk).unwrap(), answer);
        let shown: Value = serde_json::to_value(trace::Walk::from(&walk)).unwrap();
        assert_eq!(shown, answer);
    }
}
