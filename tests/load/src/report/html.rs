//! The report as a page: one file that fetches nothing, for light and dark
//! screens and for paper.

use std::collections::BTreeMap;

use super::{Answered, Decile, Measured, Operation, Report};
use crate::invariants::Invariant;
use crate::over_time;
use crate::page::{Bars, Fold, Line, Mark, Plot, escape, grouped, known, note, page, table};
use crate::record::{Latency, Second, three_digits};
use crate::status::{HotKey, HotKeys, PRICES};

/// The columns of figures.
const PHASE_HEAD: [&str; 9] =
    ["phase", "answers", "seconds", "rate/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "p99/p50"];

/// So many errors have a line of their own: the most frequent ones.
const MOST_ERRORS: usize = 5;

impl Report {
    /// The page.
    pub(super) fn to_html(&self) -> String {
        let sections = [
            self.head_section(),
            self.figures_section(),
            self.over_time_section(),
            self.errors_section(),
            operations_section(&self.operations),
            keys_section(self.hottest_keys.as_ref()),
            deciles_section(self.details.deciles.as_deref()),
            self.ratios_section(),
            invariants_section(&self.invariants),
        ];
        page(&format!("{}: what it withstands", self.scenario), &sections)
    }

    fn head_section(&self) -> String {
        let place = format!("Seed {}, {} clock, {}.", self.seed, self.clock, self.url);
        let lines = std::iter::once(place).chain(self.about());
        let notes: String = lines.map(|line| note(&line)).collect();
        format!("<h1>{}</h1>\n{notes}", escape(self.scenario))
    }

    fn figures_section(&self) -> String {
        let phases = self.phases.iter().map(|phase| (phase.name, &phase.measured));
        let phases: Vec<(&str, &Measured)> =
            phases.chain(self.peer.iter().map(|peer| ("peer", peer))).collect();
        let answers: String = phases
            .iter()
            .map(|(name, measured)| note(&format!("{name}: {}.", measured.answers())))
            .collect();
        let rows = phases.into_iter().flat_map(|(name, measured)| phase_rows(name, measured));
        let mut rows: Vec<Vec<String>> = rows.collect();
        rows.extend(self.ceiling.map(|ceiling| {
            let mut row = vec![String::new(); PHASE_HEAD.len()];
            (row[0], row[3]) = ("ceiling".to_owned(), grouped(ceiling.rate));
            row
        }));
        let details: String =
            self.findings().iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
        format!("<h2>Figures</h2>\n{}{answers}{details}", table(&PHASE_HEAD, &rows, false))
    }

    fn over_time_section(&self) -> String {
        let one = |name: &str, points| Line { name: name.to_owned(), points };
        let line = |name: &str, value: fn(&Second) -> Option<f64>| {
            one(name, over_time::points(&self.timeline, value))
        };
        let plot = |title: &str, fold, lines| {
            let (title, marks) = (title.to_owned(), self.marks());
            Plot { title, lines, marks, fold }
        };
        let errors = error_lines(&self.timeline);
        let of_errors = match errors.as_slice() {
            [only] => format!("{}: {}", over_time::ERRORS, only.name),
            _ => over_time::ERRORS.to_owned(),
        };
        let backlog = over_time::depths(self.details.backlog.as_deref().unwrap_or_default());
        let latencies = vec![
            line("p50", |second| second.p50_ms),
            line("p95", |second| second.p95_ms),
            line("p99", |second| second.p99_ms),
        ];
        let plots = [
            plot(over_time::RATE, Fold::Mean, vec![line("answers", over_time::answers)]),
            plot(over_time::LATENCY, Fold::Most, latencies),
            plot(&of_errors, Fold::Mean, errors),
            plot(over_time::BACKLOG, Fold::Most, vec![one("waiting", backlog)]),
        ];
        let plots: String = plots.iter().map(Plot::to_html).collect();
        if plots.is_empty() {
            return plots;
        }
        let phase = self.phases.first().map_or("", |phase| phase.name);
        format!("<h2>Over time</h2>\n{}{plots}", note(&over_time::what(phase)))
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |second, name: &str| Mark { second, name: name.to_owned() };
        let end = self.details.load_seconds.map(|second| mark(second, "end of load"));
        let kill = self.details.kill.map(|kill| mark(kill.second as f64, "killed"));
        end.into_iter().chain(kill).collect()
    }

    fn errors_section(&self) -> String {
        let errors = over_time::in_all(self.phases.iter().map(|phase| &phase.measured.errors));
        let rows = errors.into_iter().map(|(code, count)| (code, vec![Some(count as f64)]));
        let bars = Bars {
            title: "Refusals and failures in all phases".into(),
            of: "status and code",
            series: vec!["answers".into()],
            otherwise: "unknown",
            rows: rows.collect(),
        };
        let bars = bars.to_html();
        let none = if bars.is_empty() { note("There were none.") } else { bars };
        format!("<h2>Errors by code</h2>\n{none}")
    }

    fn ratios_section(&self) -> String {
        if self.ratios.is_empty() {
            return String::new();
        }
        let rows = self.ratios.iter().map(|ratio| {
            let verdict = if ratio.is_met { "met" } else { "MISSED" };
            vec![ratio.name.to_owned(), grouped(ratio.value), ratio.goal.clone(), verdict.into()]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        format!("<h2>Comparisons</h2>\n{}", table(&["", "ratio", "goal", ""], &rows, true))
    }
}

/// A phase, and each of its operations if there are several.
fn phase_rows(name: &str, measured: &Measured) -> Vec<Vec<String>> {
    let took = |ms: &Latency| [ms.p50, ms.p95, ms.p99, ms.max, ms.spread()].map(grouped);
    let figures = [measured.requests as f64, measured.seconds, measured.rate].map(grouped);
    let mut whole = vec![name.to_owned()];
    whole.extend(figures.into_iter().chain(took(&measured.latency_ms)));
    let operations =
        measured.by_operation.iter().map(|(name, Answered { answers, latency_ms, .. })| {
            let mut row = vec![format!("· {name}"), grouped(*answers as f64)];
            row.extend([String::new(), String::new()].into_iter().chain(took(latency_ms)));
            row
        });
    std::iter::once(whole).chain(operations).collect()
}

/// A line for each of the most frequent errors, and one for all others.
fn error_lines(timeline: &[Second]) -> Vec<Line> {
    let mut codes = over_time::in_all(timeline.iter().map(|second| &second.errors));
    codes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut others = codes.split_off(codes.len().min(MOST_ERRORS));
    let count = |second: &Second, codes: &[(String, u64)]| {
        let counts = codes.iter().filter_map(|(code, _)| second.errors.get(code));
        Some(counts.sum::<u64>() as f64)
    };
    let line = |name: &str, codes: &[(String, u64)]| Line {
        name: name.to_owned(),
        points: over_time::points(timeline, |second| count(second, codes)),
    };
    let mut lines: Vec<Line> =
        codes.iter().map(|code| line(&code.0, std::slice::from_ref(code))).collect();
    match others.len() {
        0 => {}
        1 => lines.extend(others.pop().map(|other| line(&other.0.clone(), &[other]))),
        _ => lines.push(line("others", &others)),
    }
    lines
}

fn operations_section(operations: &BTreeMap<String, Operation>) -> String {
    let units = operations.iter().filter_map(|(name, operation)| {
        let cost = operation.cost.filter(|cost| cost.read_units + cost.write_units > 0.0)?;
        Some((name.clone(), vec![Some(cost.read_units), Some(cost.write_units)]))
    });
    let bars = Bars {
        title: "Units of one request".into(),
        of: "operation",
        series: vec!["read units".into(), "write units".into()],
        otherwise: "unknown",
        rows: units.collect(),
    };
    let rows = operations.iter().map(|(name, operation)| {
        let cost = operation.cost;
        vec![
            name.clone(),
            grouped(operation.requests as f64),
            known(cost.map(|cost| cost.calls)),
            known(cost.map(|cost| cost.read_units)),
            known(cost.map(|cost| cost.write_units)),
            known(operation.usd_per_million),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["operation", "requests", "calls", "reads", "writes", "$/million"];
    format!(
        "<h2>Operations</h2>\n{}{}{}",
        table(&head, &rows, false),
        note(&format!("Calls and request units are those of one request; {PRICES}.")),
        bars.to_html()
    )
}

fn keys_section(keys: Option<&HotKeys>) -> String {
    let Some(keys) = keys else {
        return String::new();
    };
    let bars = |kind: &str, keys: &[HotKey]| {
        let rows = keys.iter().map(|key| (key.name(), vec![Some(three_digits(key.units))]));
        let bars = Bars {
            title: format!("{kind} units of the hottest partition keys"),
            of: "table or index, key",
            series: vec!["units".into()],
            otherwise: "unknown",
            rows: rows.collect(),
        };
        bars.to_html()
    };
    let mut drawn = bars("Write", &keys.write) + &bars("Read", &keys.read);
    if drawn.is_empty() {
        drawn = note("There were none.");
    }
    format!("<h2>Hottest partition keys</h2>\n{}{drawn}", note(&keys.how()))
}

fn deciles_section(deciles: Option<&[Decile]>) -> String {
    let Some(deciles) = deciles else {
        return String::new();
    };
    let rows = deciles.iter().map(|decile| {
        let cost = decile.cost;
        vec![
            decile.tenth.to_string(),
            grouped(decile.requests as f64),
            known(cost.map(|cost| cost.calls)),
            known(cost.map(|cost| cost.read_units)),
            known(cost.map(|cost| cost.write_units)),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["tenth of the run", "requests", "calls", "reads", "writes"];
    format!("<h2>Cost by tenth</h2>\n{}", table(&head, &rows, false))
}

fn invariants_section(invariants: &[Invariant]) -> String {
    let rows = invariants.iter().map(|invariant| {
        let verdict = invariant.verdict();
        format!(
            "<tr><td class=\"{verdict}\">{verdict}</td><td class=\"text\">{}</td>\
             <td class=\"text\">{}</td></tr>\n",
            escape(invariant.name),
            escape(&invariant.detail)
        )
    });
    format!(
        "<h2>Invariants</h2>\n<div class=\"wide\" tabindex=\"0\"><table><tbody>\n{}</tbody></table></div>\n",
        rows.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;
    use crate::page::tests::{fetched, ill_formed};

    #[test]
    fn the_page_has_every_figure_and_is_well_formed() {
        let html = report().to_html();
        assert_eq!(ill_formed(&html), Vec::<String>::new());
        for figure in [
            "mixed-flow",
            "2 × 201",
            "<th scope=\"row\">· update-schedule</th><td>2</td><td></td><td></td><td>12.5</td>",
            "<th scope=\"row\">enroll</th><td>3</td><td>1.33</td>",
            "schedules per account",
            "class=\"BROKEN\"",
            "at most 1234",
            ">1,000</text>",
            "Seed 7, real clock, http://127.0.0.1:9000.",
            "end of load",
            "did not grow",
            "killed",
            "rate, ours ÷ peer",
            "30 requests/s",
            "key-3\">p99",
            "409 SCHEDULE_CONFLICT",
            "Units of one request",
            "Schedule &lt;b&gt;",
            "one call in 16",
        ] {
            assert!(html.contains(figure), "{figure}: {html}");
        }
        assert_eq!(html.matches("<svg class=\"plot\"").count(), 4);
        assert_eq!(html.matches("<svg class=\"bars\"").count(), 4);
        let drawings = html.matches("role=\"img\"").count();
        assert_eq!((html.matches("<title>").count(), html.matches("<desc>").count()), (9, 8));
        assert_eq!((drawings, html.matches("The same as a table").count()), (8, 8));
    }

    #[test]
    fn the_page_fetches_nothing_and_runs_nothing() {
        assert_eq!(fetched(&report().to_html()), Vec::<&str>::new());
    }

    #[test]
    fn what_others_wrote_means_itself() {
        let mut report = report();
        report.url = "http://x/<script>alert('1')</script>&\"".into();
        report.invariants[0].detail = "<b>\"bold\"</b>".into();
        report.phases[0].measured.errors.insert("409 <i>".into(), 1);
        let html = report.to_html();
        assert!(html.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;"));
        assert!(!html.contains("<b>") && !html.contains("<i>") && !html.contains("<script"));
        assert_eq!(ill_formed(&html), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_there_leaves_no_gap() {
        let mut report = report();
        report.details = super::super::Details::default();
        report.timeline = Vec::new();
        report.ratios = Vec::new();
        report.phases.clear();
        report.hottest_keys = None;
        report.operations.values_mut().for_each(|operation| operation.cost = None);
        let html = report.to_html();
        assert!(!html.contains("<svg") && !html.contains("Over time"));
        assert!(!html.contains("Comparisons") && !html.contains("Cost by tenth"));
        assert!(html.contains("<td>unknown</td>") && html.contains("There were none."));
        assert!(!html.contains("Hottest"));
    }

    #[test]
    fn the_most_frequent_errors_have_lines_and_the_others_one() {
        let codes = |counts: &[u64]| {
            let codes = counts.iter().enumerate().map(|(code, n)| (format!("409 C{code}"), *n));
            let (p50_ms, p95_ms, p99_ms) = (None, None, None);
            let errors = codes.collect();
            vec![Second { second: 0, answers: 0, p50_ms, p95_ms, p99_ms, errors }]
        };
        let lines = |counts: &[u64]| {
            let lines = error_lines(&codes(counts)).into_iter();
            lines.map(|line| (line.name, line.points[0].1.unwrap())).collect::<Vec<_>>()
        };
        let few = lines(&[1, 2]);
        assert_eq!(few, [("409 C1".to_owned(), 2.0), ("409 C0".to_owned(), 1.0)]);
        assert_eq!(lines(&[9, 8, 7, 6, 5, 4])[5], ("409 C5".to_owned(), 4.0));
        let many = lines(&[9, 8, 7, 6, 5, 2, 1]);
        assert_eq!((many.len(), &many[5]), (6, &("others".to_owned(), 3.0)));
        assert!(lines(&[]).is_empty());
    }
}
