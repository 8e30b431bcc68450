//! The figures that are compared.

use std::collections::BTreeMap;

use super::Comparison;
use super::read::{Invariant, Phase};
use crate::record::{Latency, per_second, three_digits};

/// A figure of both runs. `None` where a run has none.
#[derive(Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) a: Option<f64>,
    pub(super) b: Option<f64>,
}

/// Figures of the same kind.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) figures: Vec<Figure>,
}

/// An invariant of both runs. `None` if a run does not have it.
pub(super) struct Both<'a> {
    pub(super) name: &'a str,
    pub(super) a: Option<&'a Invariant>,
    pub(super) b: Option<&'a Invariant>,
}

impl Figure {
    /// `b ÷ a`. `None` without one of them, and for what is nothing in a.
    pub(super) fn ratio(&self) -> Option<f64> {
        let (a, b) = (self.a.filter(|a| *a != 0.0)?, self.b?);
        Some(three_digits(b / a))
    }
}

impl Comparison {
    /// All figures: each phase, errors, and what a request of each operation
    /// costs.
    pub(super) fn groups(&self) -> Vec<Group> {
        let (a, b) = (by_name(&self.a.phases), by_name(&self.b.phases));
        let names = self.a.phases.iter().chain(&self.b.phases).map(|phase| phase.name.as_str());
        let mut groups: Vec<Group> = Vec::new();
        for name in names {
            if !groups.iter().any(|group| group.name == name) {
                let figures = beside(&in_phase(a.get(name)), &in_phase(b.get(name)));
                groups.push(Group { name: name.to_owned(), figures });
            }
        }
        groups.push(Group { name: "errors".into(), figures: self.errors() });
        groups.push(Group { name: "one request".into(), figures: self.costs() });
        groups.retain(|group| !group.figures.is_empty());
        groups
    }

    /// Errors in all phases, by code. What did not happen are none.
    pub(super) fn errors(&self) -> Vec<Figure> {
        let (a, b) = (self.a.errors(), self.b.errors());
        let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
        names.sort();
        names.dedup();
        let count = |of: &BTreeMap<String, u64>, name| {
            Some(of.get(name).copied().unwrap_or_default() as f64)
        };
        let figures = names.into_iter().map(|name| Figure {
            name: name.clone(),
            a: count(&a, name),
            b: count(&b, name),
        });
        figures.collect()
    }

    /// Calls and units of one request, without what is nothing in both runs.
    fn costs(&self) -> Vec<Figure> {
        let of = |run: &super::Run| {
            let costs = run.operations.iter().flat_map(|(name, operation)| {
                let names = ["calls", "read units", "write units"].into_iter();
                let known = names.zip(operation.per_request());
                known.filter_map(move |(what, cost)| Some((format!("{name}: {what}"), cost?)))
            });
            costs.collect::<Vec<_>>()
        };
        let mut costs = beside(&of(&self.a), &of(&self.b));
        costs.retain(|cost| [cost.a, cost.b].iter().flatten().any(|units| *units > 0.0));
        costs
    }

    /// Every invariant, in the order of the reports. One that a report has
    /// several times is compared with the one in the same place of those.
    pub(super) fn invariants(&self) -> Vec<Both<'_>> {
        let mut all: Vec<Both<'_>> = Vec::new();
        for a in &self.a.invariants {
            all.push(Both { name: &a.name, a: Some(a), b: None });
        }
        for b in &self.b.invariants {
            match all.iter_mut().find(|both| both.name == b.name && both.b.is_none()) {
                Some(both) => both.b = Some(b),
                None => all.push(Both { name: &b.name, a: None, b: Some(b) }),
            }
        }
        all
    }
}

fn by_name(phases: &[Phase]) -> BTreeMap<&str, &Phase> {
    phases.iter().map(|phase| (phase.name.as_str(), phase)).collect()
}

/// The figures of a phase, and of each of its operations.
fn in_phase(phase: Option<&&Phase>) -> Vec<(String, f64)> {
    let Some(phase) = phase else {
        return Vec::new();
    };
    let time = std::time::Duration::try_from_secs_f64(phase.seconds).unwrap_or_default();
    let mut figures = of_answers("", phase.rate, &phase.latency_ms);
    for (name, answered) in &phase.by_operation {
        let rate = per_second(answered.answers, time);
        figures.extend(of_answers(&format!("{name}: "), rate, &answered.latency_ms));
    }
    figures
}

fn of_answers(name: &str, rate: f64, ms: &Latency) -> Vec<(String, f64)> {
    let figures = [("rate/s", rate), ("p50 ms", ms.p50), ("p95 ms", ms.p95), ("p99 ms", ms.p99)];
    figures.into_iter().map(|(what, figure)| (format!("{name}{what}"), figure)).collect()
}

/// Figures of the same name beside each other.
fn beside(a: &[(String, f64)], b: &[(String, f64)]) -> Vec<Figure> {
    let of = |figures: &[(String, f64)], name: &str| {
        figures.iter().find(|(other, _)| other == name).map(|(_, figure)| *figure)
    };
    let only_b = b.iter().filter(|(name, _)| of(a, name).is_none());
    let names = a.iter().chain(only_b).map(|(name, _)| name);
    names.map(|name| Figure { name: name.clone(), a: of(a, name), b: of(b, name) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::comparison;
    use super::*;

    fn figure(comparison: &Comparison, group: &str, name: &str) -> Figure {
        let groups = comparison.groups();
        let group = groups.into_iter().find(|one| one.name == group).unwrap();
        group.figures.into_iter().find(|figure| figure.name == name).unwrap()
    }

    #[test]
    fn every_figure_is_that_of_b_divided_by_that_of_a() {
        let comparison = comparison();
        let ratio = |group, name| figure(&comparison, group, name).ratio();
        assert_eq!(ratio("write", "rate/s"), Some(2.0));
        assert_eq!(ratio("write", "p95 ms"), Some(0.5));
        assert_eq!(ratio("write", "update-schedule: p50 ms"), Some(1.0));
        assert_eq!(ratio("errors", "409 SCHEDULE_CONFLICT"), Some(3.0));
        assert_eq!(ratio("one request", "enroll: write units"), Some(0.5));
        assert_eq!(ratio("one request", "enroll: calls"), Some(1.0));
        assert_eq!(comparison.costs().len(), 3);
    }

    #[test]
    fn what_only_one_run_has_has_no_ratio() {
        let mut comparison = comparison();
        let lost = figure(&comparison, "errors", "no answer");
        assert_eq!((lost.a, lost.b, lost.ratio()), (Some(0.0), Some(1.0), None));
        comparison.b.phases[0].by_operation.clear();
        comparison.a.operations.clear();
        let updates = figure(&comparison, "write", "update-schedule: p99 ms");
        assert_eq!((updates.a, updates.b, updates.ratio()), (Some(50.0), None, None));
        assert_eq!(figure(&comparison, "one request", "enroll: calls").a, None);
        comparison.b.phases[0].name = "read".into();
        assert_eq!(figure(&comparison, "read", "rate/s").b, Some(30.0));
        assert_eq!(figure(&comparison, "write", "rate/s").b, None);
    }

    #[test]
    fn invariants_of_the_same_name_are_compared_in_their_order() {
        let mut comparison = comparison();
        for (name, detail) in [("no overlap", "first"), ("no overlap", "second")] {
            let (name, detail) = (name.to_owned(), detail.to_owned());
            comparison.b.invariants.push(Invariant { name, held: Some(true), detail });
        }
        let all = comparison.invariants();
        let names: Vec<&str> = all.iter().map(|both| both.name).collect();
        assert_eq!(names[2..], ["no overlap", "no overlap"]);
        assert_eq!(all[3].b.unwrap().detail, "second");
        assert!(all[3].a.is_none() && all[0].a.is_some() && all[0].b.is_some());
    }
}
