//! The comparison as the terminal shows it.

use std::io::{self, Write};

use super::Comparison;
use super::figures::{Both, Figure};
use super::read::{Invariant, Run};
use crate::invariants::verdict;
use crate::page::grouped;

/// What stands for a figure or a ratio that is not there.
pub(super) const NOTHING: &str = "–";

/// A figure as it is shown, or that there is none.
pub(super) fn shown(figure: Option<f64>) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), grouped)
}

/// What became of an invariant, or that a run does not have it.
pub(super) fn became(invariant: Option<&Invariant>) -> &'static str {
    invariant.map_or(NOTHING, |invariant| verdict(invariant.held))
}

impl Run {
    /// Which run it is, in a sentence.
    pub(super) fn about(&self) -> String {
        let conditions = self.conditions().map(|(name, value)| format!("{name} {value}"));
        format!("{}: {}", self.path.display(), conditions.join(", "))
    }
}

impl Both<'_> {
    /// How it was broken, by run.
    pub(super) fn broken(&self) -> Vec<String> {
        let runs = [("a", self.a), ("b", self.b)].into_iter();
        let broken = runs.filter_map(|(run, invariant)| {
            let invariant = invariant.filter(|it| it.held == Some(false))?;
            Some(format!("{run}: {}", invariant.detail))
        });
        broken.collect()
    }
}

impl Comparison {
    /// Prints it.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}, b ÷ a", self.a.scenario)?;
        for (name, run) in [("a", &self.a), ("b", &self.b)] {
            writeln!(out, "{name}: {}", run.about())?;
        }
        for line in self.differences() {
            writeln!(out, "{line}")?;
        }
        for group in self.groups() {
            writeln!(out, "\n{:<40}{:>12}{:>12}{:>10}", group.name, "a", "b", "b ÷ a")?;
            for figure in &group.figures {
                let Figure { name, a, b } = figure;
                let (a, b, ratio) = (shown(*a), shown(*b), shown(figure.ratio()));
                writeln!(out, "  {name:<38}{a:>12}{b:>12}{ratio:>10}")?;
            }
        }
        writeln!(out, "\ninvariants\n  a        b")?;
        for both in self.invariants() {
            let Both { name, a, b } = both;
            writeln!(out, "  {:<9}{:<9}{name}", became(a), became(b))?;
            for how in both.broken() {
                writeln!(out, "{:20}{how}", "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::comparison;

    #[test]
    fn the_terminal_has_both_runs_and_their_ratios() {
        let mut text = Vec::new();
        comparison().print(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for line in [
            "mixed-flow, b ÷ a",
            "a: a.json: seed 7, clock real, users 3, events running, limits none",
            "rate/s 15 30 2",
            "p95 ms 100 50 0.5",
            "update-schedule: p99 ms 50 50 1",
            "409 SCHEDULE_CONFLICT 1 3 3",
            "no answer 0 1 –",
            "enroll: write units 8 4 0.5",
            "BROKEN held schedules per account = 201s",
            "a: 2 of 3",
            "unknown unknown one reminder per schedule",
        ] {
            assert!(lines.iter().any(|there| there == line), "{line}: {text}");
        }
    }
}
