//! Writes the trace of an invented web shop, prints its report and writes the HTML page, to look at both:
//! `cargo run --example sample_report -- FOLDER`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use trace::recording::HttpRequest;
use trace::report::TerminalOptions;
use trace::{
    Analysis, AnalysisOptions, Diagnosis, DiagnosisCost, DiagnosisNode, MethodInfo, ProcessInfo, Recording,
    RecordingOptions, report,
};

/// Class, method, level time?, own time, callees.
type Invented = (&'static str, &'static str, bool, u64, &'static [usize]);

const METHODS: &[Invented] = &[
    ("org.apache.catalina.core.StandardWrapperValve", "invoke", true, 9_000, &[1]),
    ("org.springframework.web.servlet.DispatcherServlet", "doDispatch", true, 21_000, &[2, 3]),
    ("com.acme.shop.web.OrderController", "list", true, 15_000, &[4, 4, 7]),
    ("com.acme.shop.web.CatalogController", "show", true, 30_000, &[5, 7, 7, 7]),
    ("com.acme.shop.orders.OrderService", "ordersOf", true, 12_000, &[6, 8]),
    ("com.acme.shop.catalog.CatalogService", "search", false, 50_000, &[6, 8, 9]),
    ("org.hibernate.internal.SessionImpl", "find", true, 18_000, &[8, 8]),
    ("com.fasterxml.jackson.databind.ObjectMapper", "writeValue", true, 60_000, &[9, 9]),
    ("org.h2.jdbc.JdbcPreparedStatement", "executeQuery", true, 140_000, &[10]),
    ("com.acme.shop.text.Highlighter", "mark", true, 9_000, &[9]),
    ("java.net.Socket$SocketOutputStream", "write", true, 90_000, &[]),
];

struct Shop {
    recording: Recording,
    random: u64,
    now: u64,
}

impl Shop {
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit.max(1)
    }

    fn call(&mut self, index: usize, depth: u32) {
        let Some((_, _, _, own, callees)) = METHODS.get(index) else { return };
        let start = self.now;
        self.now += own / 4 + self.below(*own);
        for callee in callees.iter().filter(|_| depth < 9) {
            if self.below(4) > 0 {
                self.call(*callee, depth + 1);
            }
        }
        self.now += self.below(own / 2);
        let duration = self.now - start;
        let probe = index as u32 + 1;
        match index {
            0 => {
                let status = [200, 200, 200, 200, 404, 500][self.below(6) as usize];
                let path = ["/orders", "/catalog/search", "/catalog/<script>alert(1)</script>"][self.below(3) as usize];
                self.recording.http_request(
                    probe,
                    start,
                    duration,
                    &HttpRequest { http_method: "GET", path, route: "", status },
                );
            }
            8 => {
                let sql = ["select * from orders where customer = ?", "select id, name from item where name like ?"];
                let sql = sql[self.below(2) as usize];
                self.recording.statement(probe, start, duration, sql);
            }
            10 => self.recording.socket_transfer(probe, start, duration, "10.0.0.7:5432", 800),
            _ => self.recording.call(probe, start, duration),
        }
    }
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let file = Path::new(&folder).join("shop.jfr");
    let process = ProcessInfo {
        pid: 4711,
        command_line: "com.acme.shop.Application --server.port=8080".to_owned(),
        jvm_name: "OpenJDK 64-Bit Server VM".to_owned(),
        jvm_version: "25.0.3+9".to_owned(),
        config_text: "[[rule]]\nclass = \"com.acme.**\"\ntemplate = \"timed\"\nlevel = \"time\"\n".to_owned(),
        ..ProcessInfo::default()
    };
    let recording = Recording::create(&file, RecordingOptions::new(1_763_715_792_000_000_000, 0, process))?;
    let mut shop = Shop { recording, random: 4_711, now: 0 };
    for (probe, (class, name, exact, _, _)) in (1..).zip(METHODS) {
        let class = class.replace('.', "/");
        let template = if *exact { "timed" } else { "timed-watch" };
        let method = MethodInfo {
            class: class.as_bytes(),
            name: name.as_bytes(),
            descriptor: b"()V",
            access_flags: 1,
            exact: *exact,
            template,
        };
        shop.recording.define_method(probe, method);
    }
    for thread in 0..8 {
        let is_virtual = thread == 7;
        shop.recording.define_thread(40 + thread, &format!("http-nio-8080-exec-{thread}"), 900 + thread, is_virtual);
        shop.recording.set_thread(40 + thread);
        shop.now = thread * 1_000;
        (0..400).for_each(|_| shop.call(0, 0));
    }
    shop.recording.start_up_done(30_000_000);
    shop.recording.note(90_000_000, "demoted", "com.acme.shop.catalog.CatalogService.search is at level watch now");
    shop.recording.diagnosis(95_000_000, &diagnosis());
    let ended = Diagnosis {
        state: "ended".to_owned(),
        reason: Some("the time is up".to_owned()),
        method: "com.acme.shop.web.OrderController.list()".to_owned(),
        ..Diagnosis::default()
    };
    shop.recording.diagnosis(99_000_000, &ended);
    shop.recording.finish()?;

    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).map_err(std::io::Error::other)?;
    print!(
        "{}",
        report::terminal(&analysis, &TerminalOptions { width: 132, colours: true, ..TerminalOptions::default() })
    );
    print!("{}", report::method(&analysis, "OrderService", &TerminalOptions::default()));
    std::fs::write(Path::new(&folder).join("shop.html"), report::html(&analysis))
}

/// Which branch makes slow requests slow.
fn diagnosis() -> Diagnosis {
    const MILLI: u64 = 1_000_000;
    let node = |parent: Option<usize>, level, method: &str, kind: &str, share: Option<f64>| DiagnosisNode {
        parent,
        level,
        method: method.to_owned(),
        kind: kind.to_owned(),
        calls: share.map(|_| 3_200),
        slow_calls: share.map(|_| 41),
        total_nanos: share.map(|_| 9_000 * MILLI),
        slow_nanos: share.map(|share| (7_500.0 * share) as u64 * MILLI),
        share,
        followed: share.is_some_and(|share| share > 0.5),
        ..DiagnosisNode::default()
    };
    let read = DiagnosisNode {
        running: Some(0.0),
        waiting: Some(1.0),
        reason: Some("socket read".to_owned()),
        lines: vec![77, 81],
        ..node(Some(3), 4, "java.net.Socket$SocketInputStream.read(byte[], int, int)", "native", Some(0.823))
    };
    let short = (0..40)
        .map(|at| node(Some(2), 3, &format!("com.acme.shop.text.Words.part{at}(String)"), "call-site", Some(0.001)));
    let mut nodes = vec![
        node(None, 0, "com.acme.shop.web.CatalogController.show(Request)", "method", Some(1.0)),
        node(Some(0), 1, "com.acme.shop.catalog.CatalogService.search(String, int)", "method", Some(0.9)),
        node(Some(1), 2, "org.hibernate.internal.SessionImpl.find(Class, Object)", "method", Some(0.86)),
        node(Some(2), 3, "org.h2.jdbc.JdbcPreparedStatement.executeQuery()", "method", Some(0.85)),
        read,
        node(Some(1), 2, "com.acme.shop.text.Highlighter.mark(<script>alert(1)</script>)", "call-site", None),
        node(Some(0), 1, "com.acme.shop.web.CatalogController.show(Request)", "own-code", Some(0.001)),
    ];
    nodes.extend(short);
    Diagnosis {
        claim: 4,
        method: "com.acme.shop.web.CatalogController.show(Request)".to_owned(),
        state: "done".to_owned(),
        slower_than_nanos: Some(480 * MILLI),
        learnt: true,
        calls: 3_200,
        slow: 41,
        explained: Some(0.823),
        sentence: Some(
            "82 % of the slow calls of CatalogController.show is CatalogService.search -> SessionImpl.find -> JdbcPreparedStatement.executeQuery -> socket read"
                .to_owned(),
        ),
        nodes,
        cost: DiagnosisCost { classes: 4, retransforms: 6, longest_stop_nanos: 12 * MILLI, cpu_nanos: 40 * MILLI },
        notices: vec!["2 calls were not measured: too many threads are inside such calls".to_owned()],
        ..Diagnosis::default()
    }
}
