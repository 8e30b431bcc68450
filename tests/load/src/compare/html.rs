//! The comparison as a page, with both runs in the same plots.

use super::Comparison;
use super::figures::{Both, Figure};
use super::text::{NOTHING, became, shown};
use crate::over_time::{self, Points};
use crate::page::{Bars, Fold, Line, Plot, escape, note, page, table};
use crate::record::{Second, three_digits};
use crate::status::{HotKey, HotKeys};

/// The head of the ratios, which stays in one line.
const RATIO: &str = "b\u{a0}÷\u{a0}a";
/// What stands for a key that only the other run names.
const LESS: &str = "not among the hottest";

impl Comparison {
    /// The page.
    pub(super) fn to_html(&self) -> String {
        let sections = [
            self.head_section(),
            self.over_time_section(),
            self.figures_section(),
            self.keys_section(),
            self.invariants_section(),
        ];
        page(&format!("{}: b ÷ a", self.a.scenario), &sections)
    }

    fn head_section(&self) -> String {
        let mut html = format!("<h1>{}, b ÷ a</h1>\n", escape(&self.a.scenario));
        for (name, run) in [("a", &self.a), ("b", &self.b)] {
            html += &note(&format!("{name}: {}", run.about()));
        }
        for line in self.differences() {
            html += &format!("<p>{}</p>\n", escape(&line));
        }
        html
    }

    fn over_time_section(&self) -> String {
        let plot = |title: &str, fold, a: Points, b: Points| {
            let lines =
                [("a", a), ("b", b)].map(|(name, points)| Line { name: name.into(), points });
            Plot { title: title.to_owned(), lines: lines.into(), marks: Vec::new(), fold }
        };
        let of = |title: &str, fold, value: fn(&Second) -> Option<f64>| {
            let points = |seconds| over_time::points(seconds, value);
            plot(title, fold, points(&self.a.timeline), points(&self.b.timeline))
        };
        let [a, b] = [&self.a, &self.b]
            .map(|run| over_time::depths(run.backlog.as_deref().unwrap_or_default()));
        let latency = |percentile: &str| format!("{}, {percentile}", over_time::LATENCY);
        let mut plots = vec![
            of(over_time::RATE, Fold::Mean, over_time::answers),
            of(&latency("p50"), Fold::Most, |second| second.p50_ms),
            of(&latency("p95"), Fold::Most, |second| second.p95_ms),
            of(&latency("p99"), Fold::Most, |second| second.p99_ms),
        ];
        let seconds = || self.a.timeline.iter().chain(&self.b.timeline);
        if seconds().any(|second| !second.errors.is_empty()) {
            plots.push(of(over_time::ERRORS, Fold::Mean, over_time::errors));
        }
        plots.push(plot(over_time::BACKLOG, Fold::Most, a, b));
        let plots: String = plots.iter().map(Plot::to_html).collect();
        if plots.is_empty() {
            return plots;
        }
        let phase = self.a.phases.first().map_or("", |phase| phase.name.as_str());
        format!("<h2>Over time</h2>\n{}{plots}", note(&over_time::what(phase)))
    }

    fn figures_section(&self) -> String {
        let groups = self.groups().into_iter().map(|group| {
            let rows = group.figures.iter().map(|figure| {
                let Figure { name, a, b } = figure;
                vec![name.clone(), shown(*a), shown(*b), shown(figure.ratio())]
            });
            let rows: Vec<Vec<String>> = rows.collect();
            let figures = table(&[&group.name, "a", "b", RATIO], &rows, false);
            let drawn = match group.name.as_str() {
                "errors" => {
                    beside("Errors in all phases", "status and code", NOTHING, group.figures)
                }
                "one request" => {
                    beside("Units of one request", "operation", NOTHING, units(group.figures))
                }
                _ => String::new(),
            };
            figures + &drawn
        });
        format!("<h2>Figures</h2>\n{}", groups.collect::<String>())
    }

    fn keys_section(&self) -> String {
        let (Some(a), Some(b)) = (&self.a.hottest_keys, &self.b.hottest_keys) else {
            return String::new();
        };
        let bars = |kind: &str, of: fn(&HotKeys) -> &[HotKey]| {
            let title = format!("{kind} units of the hottest partition keys");
            beside(&title, "table or index, key", LESS, keys(of(a), of(b)))
        };
        let drawn = bars("Write", |keys| &keys.write) + &bars("Read", |keys| &keys.read);
        let mut how = vec![a.how()];
        if a.one_call_in != b.one_call_in {
            how = vec![format!("a: {}", a.how()), format!("b: {}", b.how())];
        }
        let how: String = how.iter().map(|line| note(line)).collect();
        format!("<h2>Hottest partition keys</h2>\n{how}{drawn}")
    }

    fn invariants_section(&self) -> String {
        let verdict = |verdict: &str| format!("<td class=\"text {verdict}\">{verdict}</td>");
        let rows = self.invariants().into_iter().map(|both| {
            let Both { name, a, b } = both;
            let [a, b] = [a, b].map(|invariant| verdict(became(invariant)));
            let name = escape(name);
            let broken = escape(&both.broken().join("; "));
            format!(
                "<tr><th scope=\"row\">{name}</th>{a}{b}<td class=\"text\">{broken}</td></tr>\n"
            )
        });
        let head =
            ["", "a", "b", ""].map(|name| format!("<th scope=\"col\" class=\"text\">{name}</th>"));
        format!(
            "<h2>Invariants</h2>\n<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>{}</tr></thead>\n\
             <tbody>{}</tbody>\n</table></div>\n",
            head.concat(),
            rows.collect::<String>()
        )
    }
}

/// Bars of both runs.
fn beside(title: &str, of: &'static str, otherwise: &'static str, figures: Vec<Figure>) -> String {
    let rows = figures.into_iter().map(|Figure { name, a, b }| (name, vec![a, b]));
    let series = vec!["a".into(), "b".into()];
    Bars { title: title.to_owned(), of, series, otherwise, rows: rows.collect() }.to_html()
}

/// Those of the units, without those of calls.
fn units(figures: Vec<Figure>) -> Vec<Figure> {
    figures.into_iter().filter(|figure| figure.name.ends_with(" units")).collect()
}

/// The keys that are among the hottest of either run.
fn keys(a: &[HotKey], b: &[HotKey]) -> Vec<Figure> {
    let of = |keys: &[HotKey], name: &str| {
        keys.iter().find(|key| key.name() == name).map(|key| three_digits(key.units))
    };
    let only_b = b.iter().map(HotKey::name).filter(|name| of(a, name).is_none());
    let names = a.iter().map(HotKey::name).chain(only_b);
    let figures = names.map(|name| Figure { a: of(a, &name), b: of(b, &name), name });
    figures.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::comparison;
    use super::*;
    use crate::page::tests::{fetched, ill_formed};

    #[test]
    fn the_page_has_both_runs_in_the_same_plots_and_is_well_formed() {
        let html = comparison().to_html();
        assert_eq!((ill_formed(&html), fetched(&html)), (Vec::new(), Vec::new()));
        for part in [
            "<title>mixed-flow: b ÷ a</title>",
            "key-1\">a</span>",
            "key-2\">b</span>",
            "Latency in milliseconds, p99",
            "<th scope=\"row\">rate/s</th><td>15</td><td>30</td><td>2</td>",
            "<th scope=\"row\">no answer</th><td>0</td><td>1</td><td>–</td>",
            "class=\"text BROKEN\">BROKEN</td><td class=\"text held\">held",
            "a: 2 of 3",
            "<th scope=\"row\">Schedule a-1</th><td>12,001</td><td>6,000</td>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(html.matches("<svg class=\"plot\"").count(), 6);
        assert_eq!(html.matches("<svg class=\"bars\"").count(), 4);
    }

    #[test]
    fn what_neither_run_has_leaves_no_gap() {
        let mut comparison = comparison();
        for run in [&mut comparison.a, &mut comparison.b] {
            run.timeline.clear();
            run.phases.clear();
            run.backlog = None;
            run.hottest_keys = None;
            run.operations.clear();
        }
        let html = comparison.to_html();
        assert!(!html.contains("<svg") && !html.contains("Over time") && !html.contains("Hottest"));
        assert!(html.contains("schedules per account"));
    }

    #[test]
    fn what_a_file_says_means_itself() {
        let mut comparison = comparison();
        comparison.a.path = "<script>.json".into();
        comparison.b.invariants[1].name = "<i>".into();
        let html = comparison.to_html();
        assert!(!html.contains("<script") && !html.contains("<i>"));
        assert!(html.contains("&lt;script&gt;.json") && html.contains("&lt;i&gt;"));
    }

    #[test]
    fn a_key_of_one_run_stands_beside_nothing() {
        let key = |key: &str, units| HotKey { resource: "T".into(), key: key.into(), units };
        let both = keys(&[key("x", 2.0)], &[key("y", 3.0), key("x", 1.0)]);
        let names: Vec<_> = both.iter().map(|f| (f.name.as_str(), f.a, f.b)).collect();
        assert_eq!(names, [("T x", Some(2.0), Some(1.0)), ("T y", None, Some(3.0))]);
    }
}
