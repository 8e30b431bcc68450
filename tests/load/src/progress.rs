//! Progress on standard error while something runs: a bar on a terminal, else
//! a line every few seconds.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::Instant;

use crate::record::{Recorder, Samples};

const BAR_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(3);
const BAR: &str = "{prefix:>12} {wide_bar} {pos} of {len} {msg}";

/// Runs `work`, which sends `total` requests, and shows how far it is.
pub(crate) async fn show<T>(
    name: &'static str,
    total: u64,
    recorder: &Recorder,
    work: impl Future<Output = T>,
) -> T {
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

async fn bar(name: &'static str, total: u64, recorder: &Recorder) {
    let style = ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(total).with_style(style).with_prefix(name);
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

async fn lines(name: &'static str, total: u64, recorder: &Recorder) {
    let started = Instant::now();
    loop {
        tokio::time::sleep(LINE_EVERY).await;
        let samples = recorder.samples();
        let (answered, summary) = (samples.answered(), summary(&samples, started));
        // Nobody can be told that standard error is closed.
        let _ = writeln!(std::io::stderr().lock(), "{name}: {answered} of {total}, {summary}");
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
