//! The report as people read it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{Decile, Measured, Operation, Report};
use crate::status::PRICES;

impl Report {
    /// Prints it.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { scenario, users, seed, url, .. } = self;
        writeln!(out, "{scenario}: {users} users, seed {seed}, {url}")?;
        writeln!(
            out,
            "A closed model: a user waits for the answer before the next request, so a slower \
             server gets fewer requests. No think time."
        )?;
        if !self.is_complete {
            writeln!(out, "Stopped before everybody was through.")?;
        }
        self.print_phases(out)?;
        print_operations(out, &self.operations)?;
        print_deciles(out, self.deciles.as_deref())?;
        self.print_ratios(out)?;
        writeln!(out, "\ninvariants")?;
        for invariant in &self.invariants {
            let verdict = if invariant.held { "held" } else { "BROKEN" };
            writeln!(out, "  {verdict:<6}  {}: {}", invariant.name, invariant.detail)?;
        }
        writeln!(out, "  unknown outcomes: {}", self.unknown_outcomes)
    }

    fn print_phases(&self, out: &mut impl Write) -> io::Result<()> {
        let (phase, answers, seconds) = ("phase", "answers", "seconds");
        writeln!(
            out,
            "\n{phase:<14}{answers:>9}{seconds:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "rate/s", "p50 ms", "p95 ms", "p99 ms", "max ms"
        )?;
        let phases = self.phases.iter().map(|phase| (phase.name, &phase.measured));
        for (name, measured) in phases.chain(self.peer.iter().map(|peer| ("peer", peer))) {
            print_phase(out, name, measured)?;
        }
        if let Some(ceiling) = &self.ceiling {
            writeln!(out, "{:<14}{:>27}", "ceiling", ceiling.rate)?;
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
    let Measured { seconds, requests, rate, latency_ms: ms, statuses, errors, .. } = measured;
    writeln!(
        out,
        "{name:<14}{requests:>9}{seconds:>9}{rate:>9}{:>9}{:>9}{:>9}{:>9}",
        ms.p50, ms.p95, ms.p99, ms.max
    )?;
    let counts = |counts: &BTreeMap<String, u64>| {
        counts
            .iter()
            .map(|(what, count)| format!("{count} × {what}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let errors = if errors.is_empty() { "no errors".to_owned() } else { counts(errors) };
    writeln!(out, "{:14}{}; {errors}", "", counts(statuses))?;
    if let Some(cause) = &measured.last_loss {
        writeln!(out, "{:14}last one without an answer: {cause}", "")?;
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
        return writeln!(out, "\ncost by tenth of the run: unknown, there is no status page");
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
