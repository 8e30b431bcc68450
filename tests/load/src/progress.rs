//! Progress on standard error while something runs: a bar on a terminal, else
//! a line every few seconds.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::record::{Recorder, Samples};

const BAR_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(3);
const BAR: &str = "{prefix:>12} {wide_bar} {pos} of {len} {msg}";
/// Where nobody knows how many there will be.
const COUNT: &str = "{prefix:>12} {pos} {msg}";

/// Runs `work`, which sends `total` requests, if anybody knows how many, and
/// shows how far it is.
pub(crate) async fn show<T>(
    name: &'static str,
    total: impl Into<Option<u64>>,
    recorder: &Recorder,
    work: impl Future<Output = T>,
) -> T {
    let total = total.into();
    let watch = async {
        if std::io::stderr().is_terminal() {
            bar(name, total, recorder).await;
        } else {
            lines(name, total, recorder).await;
        }
    };
    tokio::select! {
        done = work => done,
        () = watch => unreachable!("a watch has no end"),
    }
}

/// Says what goes on where there is nothing to count.
pub(crate) fn say(text: &str) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

async fn bar(name: &'static str, total: Option<u64>, recorder: &Recorder) {
    let template = if total.is_some() { BAR } else { COUNT };
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let bar = bar.with_style(style).with_prefix(name);
    // Gone with this future, so that it leaves no half line behind.
    let bar = Cleared(bar);
    let started = Instant::now();
    loop {
        let samples = recorder.samples();
        bar.0.set_position(samples.answered());
        bar.0.set_message(summary(&samples, started));
        tokio::time::sleep(BAR_EVERY).await;
    }
}

async fn lines(name: &'static str, total: Option<u64>, recorder: &Recorder) {
    #[expect(clippy::disallowed_methods, reason = "people read in real time, also of a simulation")]
    let now = std::time::Instant::now;
    let (started, mut said) = (Instant::now(), now());
    let of_all = total.map_or_else(String::new, |total| format!(" of {total}"));
    loop {
        tokio::time::sleep(LINE_EVERY).await;
        if said.elapsed() < LINE_EVERY - BAR_EVERY {
            continue;
        }
        said = now();
        let samples = recorder.samples();
        let (answered, summary) = (samples.answered(), summary(&samples, started));
        // Nobody can be told that standard error is closed.
        let _ = writeln!(std::io::stderr().lock(), "{name}: {answered}{of_all}, {summary}");
    }
}

fn summary(samples: &Samples, started: Instant) -> String {
    let rate = crate::record::per_second(samples.answered(), started.elapsed());
    let refused = samples.answered() - samples.succeeded() - samples.server_errors();
    let errors = samples.unknown_outcomes();
    format!("({} done, {refused} refused, {rate}/s, {errors} errors)", samples.succeeded())
}

struct Cleared(ProgressBar);

impl Drop for Cleared {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
