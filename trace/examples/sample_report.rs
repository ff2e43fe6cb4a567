//! Writes the trace of an invented web shop, prints its report and writes the HTML page, to look at both:
//! `cargo run --example sample_report -- FOLDER`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use trace::recording::HttpRequest;
use trace::report::TerminalOptions;
use trace::{Analysis, AnalysisOptions, MethodInfo, ProcessInfo, Recording, RecordingOptions, report};

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
    shop.recording.finish()?;

    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).map_err(std::io::Error::other)?;
    print!(
        "{}",
        report::terminal(&analysis, &TerminalOptions { width: 132, colours: true, ..TerminalOptions::default() })
    );
    print!("{}", report::method(&analysis, "OrderService", &TerminalOptions::default()));
    std::fs::write(Path::new(&folder).join("shop.html"), report::html(&analysis))
}
