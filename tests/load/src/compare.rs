//! `cargo load compare`: two runs of a scenario beside each other, b ÷ a.
//!
//! It takes the JSON reports of two runs. A broken invariant of either makes it
//! fail, since the figures of a run that lost something count for nothing.

mod figures;
mod html;
mod read;
mod text;

use std::io::Write;

use self::read::Run;
use crate::error::Error;
use crate::options::Compare;
use crate::report::Report;

/// Two runs of the same scenario.
struct Comparison {
    a: Run,
    b: Run,
}

/// Compares, and tells. `false` when an invariant is broken in either run.
pub(crate) fn run(options: &Compare) -> Result<bool, Error> {
    let comparison = Comparison::of(Run::read(&options.a)?, Run::read(&options.b)?)?;
    let page = options.html.iter();
    page.clone().try_for_each(|path| Report::require_writable(path))?;
    let mut out = std::io::stdout().lock();
    comparison.print(&mut out)?;
    out.flush()?;
    for path in page {
        let failed = |error| Error::Write { path: path.clone(), error };
        std::fs::write(path, comparison.to_html()).map_err(failed)?;
    }
    Ok(comparison.is_sound())
}

impl Comparison {
    fn of(a: Run, b: Run) -> Result<Self, Error> {
        if a.scenario == b.scenario {
            return Ok(Self { a, b });
        }
        let is = |run: &Run| format!("{} is of {}", run.path.display(), run.scenario);
        Err(Error::OtherScenario { a_is: is(&a), b_is: is(&b) })
    }

    fn is_sound(&self) -> bool {
        let mut invariants = self.a.invariants.iter().chain(&self.b.invariants);
        invariants.all(|invariant| invariant.held != Some(false))
    }

    /// What was not the same beside the system, in sentences.
    fn differences(&self) -> Vec<String> {
        let conditions = self.a.conditions().into_iter().zip(self.b.conditions());
        let others = conditions.filter(|((_, a), (_, b))| a != b);
        let others: Vec<String> =
            others.map(|((name, a), (_, b))| format!("{name} ({a}; {b})")).collect();
        let mut lines = Vec::new();
        if !others.is_empty() {
            lines.push(format!("They were not run alike: {}.", others.join(", ")));
        }
        for (name, run) in [("a", &self.a), ("b", &self.b)] {
            if !run.is_complete {
                lines.push(format!("{name} was stopped before everybody was through."));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::report;

    fn of(name: &str, report: &Value) -> Run {
        Run::parse(Path::new(name), report.to_string().as_bytes()).unwrap()
    }

    /// A run beside one that is twice as fast, and whose invariants all held.
    pub(super) fn comparison() -> Comparison {
        let mut a = serde_json::to_value(report::tests::report()).unwrap();
        let mut b = a.clone();
        b["phases"][0]["rate"] = json!(30.0);
        b["phases"][0]["latency_ms"]["p95"] = json!(50.0);
        b["phases"][0]["errors"] = json!({ "409 SCHEDULE_CONFLICT": 3, "no answer": 1 });
        b["operations"]["enroll"]["write_units"] = json!(12.0);
        b["hottest_keys"]["write"][0]["units"] = json!(6_000.0);
        b["invariants"][0]["held"] = json!(true);
        a["phases"][0]["rate"] = json!(15.0);
        a["phases"][0]["latency_ms"]["p95"] = json!(100.0);
        Comparison::of(of("a.json", &a), of("b.json", &b)).unwrap()
    }

    #[test]
    fn a_broken_invariant_of_either_run_makes_it_fail() {
        let mut comparison = comparison();
        assert!(!comparison.is_sound());
        comparison.a.invariants[0].held = Some(true);
        assert!(comparison.is_sound(), "what nobody can know is not broken");
        comparison.b.invariants[0].held = Some(false);
        assert!(!comparison.is_sound());
    }

    #[test]
    fn what_was_not_run_alike_is_told() {
        let mut comparison = comparison();
        assert_eq!(comparison.differences(), Vec::<String>::new());
        comparison.b.seed = 8;
        comparison.b.limits = Some("lost=0.01".into());
        comparison.a.is_complete = false;
        assert_eq!(
            comparison.differences(),
            [
                "They were not run alike: seed (7; 8), limits (none; lost=0.01).",
                "a was stopped before everybody was through.",
            ]
        );
    }

    #[test]
    fn runs_of_different_scenarios_are_not_compared() {
        let Comparison { a, mut b } = comparison();
        b.scenario = "home".into();
        let error = Comparison::of(a, b).err().unwrap();
        assert!(error.is_wrong_usage());
        let said = "a.json is of mixed-flow and b.json is of home: only runs of the same";
        assert!(error.to_string().starts_with(said), "{error}");
    }
}
