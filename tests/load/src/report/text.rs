//! The report as people read it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{Answered, Decile, Measured, Operation, Report};
use crate::cloud::Events;
use crate::invariants::Invariant;
use crate::record::{Latency, three_digits};
use crate::scenarios::relay::Relayed;
use crate::status::{Limited, PRICES};

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let counts = counts.iter().map(|(what, count)| format!("{count} × {what}"));
    counts.collect::<Vec<_>>().join(", ")
}

impl Measured {
    /// Its answers and what went wrong.
    pub(super) fn answers(&self) -> String {
        match (self.statuses.is_empty(), self.errors.is_empty()) {
            (true, true) => "no errors".to_owned(),
            (true, false) => counts(&self.errors),
            (false, true) => format!("{}; no errors", counts(&self.statuses)),
            (false, false) => format!("{}; {}", counts(&self.statuses), counts(&self.errors)),
        }
    }
}

impl Report {
    /// Prints it.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { scenario, seed, clock, url, .. } = self;
        writeln!(out, "{scenario}: seed {seed}, {clock} clock, {url}")?;
        for line in self.about() {
            writeln!(out, "{line}")?;
        }
        self.print_phases(out)?;
        print_operations(out, &self.operations)?;
        print_deciles(out, self.details.deciles.as_deref())?;
        let findings = self.findings();
        if !findings.is_empty() {
            writeln!(out)?;
        }
        for line in findings {
            writeln!(out, "{line}")?;
        }
        self.print_ratios(out)?;
        writeln!(out, "\ninvariants")?;
        for invariant in &self.invariants {
            let Invariant { name, detail, .. } = invariant;
            writeln!(out, "  {:<7}  {name}: {detail}", invariant.verdict())?;
        }
        writeln!(out, "  unknown outcomes: {}", self.unknown_outcomes)
    }

    /// How it was measured, in sentences.
    pub(super) fn about(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.users > 0 {
            let thinking = self.details.closed_model.map_or_else(
                || "does not think".to_owned(),
                |model| format!("thinks {} to {} s", model.least_think_s, model.most_think_s),
            );
            lines.push(format!(
                "{} users in a closed model: a user waits for the answer and {thinking} before \
                 the next request, so a slower server gets fewer requests.",
                self.users
            ));
        }
        lines.push(match self.events {
            _ if self.details.relayed.is_some() => "Changes that waited in a stream were sent by \
                the relay alone, and nobody took them from the queue. Latencies are those of its \
                invocations."
                .to_owned(),
            Some(Events::Running) => "What changed was told meanwhile.".to_owned(),
            Some(Events::Paused) => "Nothing was told: streams and queues stood still.".to_owned(),
            None => "Whether what changed was told meanwhile is unknown.".to_owned(),
        });
        if let Some(limits) = &self.limits {
            let limits = limits.replace(',', ", ");
            lines.push(format!("Limits of the real services were set: {limits}."));
        }
        if !self.is_complete {
            lines.push("Stopped before everybody was through.".to_owned());
        }
        lines
    }

    /// What else was found, in sentences.
    pub(super) fn findings(&self) -> Vec<String> {
        let details = &self.details;
        let mut lines = Vec::new();
        if let Some(model) = &details.closed_model {
            let reached = model.full_load_rate.map_or_else(
                || "all users were never there at the same time".to_owned(),
                |rate| format!("{rate} requests/s were reached while all were there"),
            );
            lines.push(format!(
                "{} users ÷ (think + {} ms response) bound the rate to {} requests/s; {reached}.",
                self.users, model.mean_response_ms, model.bound
            ));
        }
        if let Some(growth) = &details.backlog_growth {
            lines.push(format!(
                "The backlog {}: {} waited on average in the second quarter of the load, {} in \
                 the last one (more than {} above would be growth); at most {} in second {}.",
                if growth.grew { "GREW" } else { "did not grow" },
                growth.second_quarter,
                growth.last_quarter,
                growth.tolerance,
                growth.peak,
                growth.peak_second
            ));
        }
        if let Some(seconds) = details.seconds_to_empty {
            lines.push(format!("Everything was told {seconds} s after the end of the load."));
        }
        if let Some(Relayed { batches, failures, calls }) = &details.relayed {
            lines.push(format!(
                "The relay was given {batches} batches and did not send {failures} of them whole; \
                 it called {}.",
                counts(calls)
            ));
        }
        if let Some(limited) = &self.limited {
            lines.push(self.limited(limited));
        }
        if let Some(kill) = &details.kill {
            lines.push(format!(
                "The cloud was killed in second {} and served again after {} s; {} requests had \
                 no answer and were sent again. Messages that a function held then come back when \
                 they are no longer hidden, up to 90 s later.",
                kill.second, kill.down_seconds, kill.unanswered
            ));
        }
        lines
    }

    /// What the limits did, and what of it users noticed.
    fn limited(&self, limited: &Limited) -> String {
        let seconds: f64 = self.phases.iter().map(|phase| phase.measured.seconds).sum();
        let busiest = |access: &str, rate: u32| {
            let (name, units) = limited.busiest(access)?;
            let rate_used = three_digits(units / seconds.max(1.0));
            Some(format!("{name} took {rate_used} of {rate} units/s"))
        };
        let busiest: Vec<_> =
            [busiest(" write ", 1_000), busiest(" read ", 3_000)].into_iter().flatten().collect();
        let throttles = match limited.throttles.is_empty() {
            true => "none was throttled".to_owned(),
            false => format!("throttled were {}", counts(&limited.throttles)),
        };
        let Limited { calls, conflicts, lost, errors, slow, .. } = limited;
        let noticed: u64 = self
            .phases
            .iter()
            .flat_map(|p| &p.measured.statuses)
            .filter(|(status, _)| status.as_str() >= "500")
            .map(|(_, n)| n)
            .sum();
        format!(
            "Of {calls} calls of DynamoDB, {conflicts} met a running transaction and {throttles}; \
             {lost} answers were lost, {slow} slow, and {errors} errors. Users were told {noticed} \
             times to come again. Busiest partitions: {}.",
            busiest.join(", ")
        )
    }

    fn print_phases(&self, out: &mut impl Write) -> io::Result<()> {
        let (phase, answers, seconds) = ("phase", "answers", "seconds");
        writeln!(
            out,
            "\n{phase:<16}{answers:>9}{seconds:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "rate/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "p99/p50"
        )?;
        let phases = self.phases.iter().map(|phase| (phase.name, &phase.measured));
        for (name, measured) in phases.chain(self.peer.iter().map(|peer| ("peer", peer))) {
            print_phase(out, name, measured)?;
        }
        if let Some(ceiling) = &self.ceiling {
            writeln!(out, "{:<16}{:>27}", "ceiling", ceiling.rate)?;
        }
        Ok(())
    }

    fn print_ratios(&self, out: &mut impl Write) -> io::Result<()> {
        if self.ratios.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        for ratio in &self.ratios {
            let verdict = if ratio.is_met { "met" } else { "MISSED" };
            writeln!(out, "{}: {} (goal: {}, {verdict})", ratio.name, ratio.value, ratio.goal)?;
        }
        Ok(())
    }
}

fn print_phase(out: &mut impl Write, name: &str, measured: &Measured) -> io::Result<()> {
    let Measured { seconds, requests, rate, latency_ms: ms, .. } = measured;
    let took = |ms: &Latency| {
        format!("{:>9}{:>9}{:>9}{:>9}{:>9}", ms.p50, ms.p95, ms.p99, ms.max, ms.spread())
    };
    writeln!(out, "{name:<16}{requests:>9}{seconds:>9}{rate:>9}{}", took(ms))?;
    for (name, Answered { answers, latency_ms, .. }) in &measured.by_operation {
        writeln!(out, "  {name:<14}{answers:>9}{:>18}{}", "", took(latency_ms))?;
    }
    writeln!(out, "{:16}{}", "", measured.answers())?;
    if !measured.losses.is_empty() {
        writeln!(out, "{:16}without an answer: {}", "", counts(&measured.losses))?;
    }
    if let Some(cause) = &measured.last_loss {
        writeln!(out, "{:16}last one without an answer: {cause}", "")?;
    }
    Ok(())
}

fn print_operations(
    out: &mut impl Write,
    operations: &BTreeMap<String, Operation>,
) -> io::Result<()> {
    writeln!(
        out,
        "\n{:<16}{:>9}{:>9}{:>9}{:>9}{:>12}",
        "operation", "requests", "calls", "reads", "writes", "$/million"
    )?;
    for (name, operation) in operations {
        writeln!(
            out,
            "{name:<16}{:>9}{:>9}{:>9}{:>9}{:>12}",
            operation.requests,
            known(operation.cost.map(|cost| cost.calls)),
            known(operation.cost.map(|cost| cost.read_units)),
            known(operation.cost.map(|cost| cost.write_units)),
            known(operation.usd_per_million),
        )?;
    }
    writeln!(out, "calls and request units are those of one request; {PRICES}")
}

fn print_deciles(out: &mut impl Write, deciles: Option<&[Decile]>) -> io::Result<()> {
    let Some(deciles) = deciles else {
        return Ok(());
    };
    writeln!(
        out,
        "\n{:<16}{:>9}{:>9}{:>9}{:>9}",
        "tenth of the run", "requests", "calls", "reads", "writes"
    )?;
    for decile in deciles {
        let cost = decile.cost;
        writeln!(
            out,
            "{:<16}{:>9}{:>9}{:>9}{:>9}",
            decile.tenth,
            decile.requests,
            known(cost.map(|cost| cost.calls)),
            known(cost.map(|cost| cost.read_units)),
            known(cost.map(|cost| cost.write_units)),
        )?;
    }
    Ok(())
}

fn known(number: Option<f64>) -> String {
    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;

    #[test]
    fn the_text_says_what_the_json_does() {
        let report = report();
        let mut text = Vec::new();
        report.print(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for figure in [
            "mixed-flow: seed 7, real clock, http://127.0.0.1:9000",
            "3 users in a closed model",
            "waits for the answer and thinks 1 to 5 s",
            "What changed was told meanwhile.",
            "2 × 201",
            "  update-schedule        2                       12.5       31       50       99        4",
            "30 requests/s; 29.5 requests/s were reached",
            "did not grow: 10 waited on average",
            "at most 1234 in second 1",
            "Everything was told 0.8 s after",
            "killed in second 2",
            "BROKEN   schedules per account",
            "unknown  one reminder",
            "rate, ours ÷ peer: 2.5 (goal: at least 2.5, met)",
        ] {
            assert!(text.contains(figure), "{figure}: {text}");
        }
        let json = serde_json::to_value(&report).unwrap();
        let updates = &json["by_operation"]["update-schedule"];
        assert_eq!(
            (&updates["p99_over_p50"], &updates["latency_ms"]["p95"]),
            (&4.0.into(), &31.0.into())
        );
        assert_eq!(json["closed_model"]["bound"], 30.0);
        assert_eq!(json["backlog"][1], serde_json::json!({ "second": 1, "depth": 1234 }));
        assert_eq!(json["backlog_growth"]["peak"], 1234);
        assert_eq!((&json["events"], &json["seconds_to_empty"]), (&"running".into(), &0.8.into()));
        assert!(json["invariants"][1]["held"].is_null() && json["deciles"].is_null());
    }

    #[test]
    fn a_growing_backlog_is_not_overlooked() {
        let mut report = report();
        report.details.backlog_growth.as_mut().unwrap().grew = true;
        assert!(report.findings().iter().any(|line| line.contains("The backlog GREW")));
    }
}
