//! The report as a page: one file that fetches nothing, for light and dark
//! screens and for paper.

use std::collections::BTreeMap;

use super::plot::{Line, Mark, Plot, grouped};
use super::{Answered, Decile, Measured, Operation, Report};
use crate::invariants::Invariant;
use crate::record::Latency;
use crate::status::PRICES;

const STYLE: &str = "
:root { color-scheme: light dark; --text: #1c1f24; --dim: #5c6570; --back: #fff; --rule: #d9dde2;
  --one: #1d5fd1; --two: #b4490f; --good: #12703c; --bad: #b3121d; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ed; --dim: #9aa4b0; --back: #14171b;
  --rule: #333a43; --one: #7ab0ff; --two: #ffa066; --good: #5fd08d; --bad: #ff7b84; } }
body { margin: 2rem auto; max-width: 52rem; padding: 0 1rem; background: var(--back);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.note, figcaption, .tick { color: var(--dim); } p.note { font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .5rem; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { color: var(--dim); font-weight: 500; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
.held { color: var(--good); } .BROKEN, .MISSED { color: var(--bad); font-weight: 600; }
figure { margin: 1rem 0; } svg { width: 100%; height: auto; }
.grid { stroke: var(--rule); } .mark { stroke: var(--dim); stroke-dasharray: 4 4; }
.tick { fill: var(--dim); font-size: 12px; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line-1 { stroke: var(--one); } .line-2 { stroke: var(--two); }
.key::before { content: \"\"; display: inline-block; width: 1.2em; height: 3px; margin: 0 .4em;
  vertical-align: middle; background: var(--one); }
.key-2::before { background: var(--two); }
@media print { :root { --text: #000; --dim: #444; --back: #fff; --rule: #bbb; --one: #1d5fd1;
  --two: #b4490f; --good: #000; --bad: #000; } body { margin: 0; max-width: none; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
";

/// The columns of figures.
const PHASE_HEAD: [&str; 10] = [
    "phase", "answers", "seconds", "rate/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "p99/p50", "",
];

/// Text that means itself in a page.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A table. The first column is text, and the last too if `ends_in_text`.
fn table(head: &[&str], rows: &[Vec<String>], ends_in_text: bool) -> String {
    let class = |place: usize| {
        if ends_in_text && place + 1 == head.len() { " class=\"text\"" } else { "" }
    };
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        let cells = cells
            .enumerate()
            .map(|(place, text)| format!("<{tag}{}>{}</{tag}>", class(place), escape(text)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let head_row = cells("th", &mut head.iter().copied());
    let rows = rows.iter().map(|row| cells("td", &mut row.iter().map(String::as_str)));
    let rows: String = rows.collect();
    format!(
        "<div class=\"wide\"><table>\n<thead>{head_row}</thead>\n<tbody>{rows}</tbody>\n</table></div>\n"
    )
}

fn known(number: Option<f64>) -> String {
    number.map_or_else(|| "unknown".to_owned(), grouped)
}

impl Report {
    /// The page.
    pub(super) fn to_html(&self) -> String {
        let title = escape(&format!("{}: what it withstands", self.scenario));
        let sections = [
            self.head_section(),
            self.figures_section(),
            self.plots_section(),
            operations_section(&self.operations),
            deciles_section(self.details.deciles.as_deref()),
            self.ratios_section(),
            invariants_section(&self.invariants),
        ];
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
            sections.concat()
        )
    }

    fn head_section(&self) -> String {
        let place = format!("Seed {}, {} clock, {}.", self.seed, self.clock, self.url);
        let notes: String = std::iter::once(place)
            .chain(self.about())
            .map(|line| format!("<p class=\"note\">{}</p>\n", escape(&line)))
            .collect();
        format!("<h1>{}</h1>\n{notes}", escape(self.scenario))
    }

    fn figures_section(&self) -> String {
        let phases = self.phases.iter().map(|phase| (phase.name, &phase.measured));
        let phases = phases.chain(self.peer.iter().map(|peer| ("peer", peer)));
        let rows = phases.flat_map(|(name, measured)| phase_rows(name, measured));
        let mut rows: Vec<Vec<String>> = rows.collect();
        rows.extend(self.ceiling.map(|ceiling| {
            let mut row = vec![String::new(); PHASE_HEAD.len()];
            (row[0], row[3]) = ("ceiling".to_owned(), grouped(ceiling.rate));
            row
        }));
        let details: String =
            self.findings().iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
        format!("<h2>Figures</h2>\n{}{details}", table(&PHASE_HEAD, &rows, true))
    }

    fn plots_section(&self) -> String {
        let marks = || {
            let end = self.details.load_seconds;
            let end = end.map(|second| Mark { second, name: "end of load" });
            let kill =
                self.details.kill.map(|kill| Mark { second: kill.second as f64, name: "killed" });
            end.into_iter().chain(kill).collect::<Vec<_>>()
        };
        let backlog = self.details.backlog.iter().flatten();
        let backlog = backlog.map(|depth| (depth.second as f64, Some(depth.depth as f64)));
        let seconds = || self.timeline.iter();
        let of = |value: fn(&crate::record::Second) -> Option<f64>| {
            seconds().map(|s| (s.second as f64, value(s))).collect::<Vec<_>>()
        };
        let plots = [
            Plot {
                title: "Waiting to be told: records in streams and messages in queues".into(),
                lines: vec![Line { name: "waiting", points: backlog.collect() }],
                marks: marks(),
            },
            Plot {
                title: "Answers a second".into(),
                lines: vec![Line { name: "answers", points: of(|s| Some(s.answers as f64)) }],
                marks: Vec::new(),
            },
            Plot {
                title: "Latency in milliseconds".into(),
                lines: vec![
                    Line { name: "p50", points: of(|s| s.p50_ms) },
                    Line { name: "p95", points: of(|s| s.p95_ms) },
                ],
                marks: Vec::new(),
            },
        ];
        let plots: String = plots.iter().map(Plot::to_html).collect();
        if plots.is_empty() { plots } else { format!("<h2>Over time</h2>\n{plots}") }
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
    whole.push(measured.answers());
    let operations =
        measured.by_operation.iter().map(|(name, Answered { answers, latency_ms, .. })| {
            let mut row = vec![format!("· {name}"), grouped(*answers as f64)];
            row.extend([String::new(), String::new()].into_iter().chain(took(latency_ms)));
            row.push(String::new());
            row
        });
    std::iter::once(whole).chain(operations).collect()
}

fn operations_section(operations: &BTreeMap<String, Operation>) -> String {
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
        "<h2>Operations</h2>\n{}<p class=\"note\">Calls and request units are those of one \
         request; {}.</p>\n",
        table(&head, &rows, false),
        escape(PRICES)
    )
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
        "<h2>Invariants</h2>\n<div class=\"wide\"><table><tbody>\n{}</tbody></table></div>\n",
        rows.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;

    /// Tags that have no end.
    const VOID: [&str; 4] = ["meta", "line", "path", "!DOCTYPE"];

    /// The tags of a page that are opened and closed in another order.
    fn ill_formed(html: &str) -> Vec<String> {
        let (mut open, mut wrong) = (Vec::new(), Vec::new());
        for piece in html.split('<').skip(1) {
            let (tag, _) = piece.split_once('>').expect("every tag ends");
            let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
            if tag.starts_with('/') {
                if open.pop() != Some(name.to_owned()) {
                    wrong.push(name.to_owned());
                }
            } else if !VOID.contains(&name) {
                open.push(name.to_owned());
            }
        }
        wrong.extend(open);
        wrong
    }

    #[test]
    fn the_page_has_every_figure_and_is_well_formed() {
        let html = report().to_html();
        assert_eq!(ill_formed(&html), Vec::<String>::new());
        for figure in [
            "mixed-flow",
            "2 × 201",
            "<td>· update-schedule</td><td>2</td><td></td><td></td><td>12.5</td>",
            "<td>enroll</td><td>3</td><td>1.33</td>",
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
        ] {
            assert!(html.contains(figure), "{figure}: {html}");
        }
        assert_eq!(html.matches("<svg").count(), 3);
    }

    #[test]
    fn the_page_fetches_nothing_and_runs_nothing() {
        let html = report().to_html();
        for fetch in ["src=", "href", "url(", "@import", "<link", "<script", "<img", "http-equiv"] {
            assert!(!html.contains(fetch), "{fetch}");
        }
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
        report.operations.values_mut().for_each(|operation| operation.cost = None);
        let html = report.to_html();
        assert!(!html.contains("<svg") && !html.contains("Over time"));
        assert!(!html.contains("Comparisons") && !html.contains("Cost by tenth"));
        assert!(html.contains("<td>unknown</td>"));
    }

    #[test]
    fn the_check_of_tags_can_fail() {
        assert_eq!(ill_formed("<p><b></p>"), ["p", "p"]);
        assert_eq!(ill_formed("<table>"), ["table"]);
        assert!(ill_formed("<!DOCTYPE html><p class=\"a\">x</p><path d=\"\"/>").is_empty());
    }
}
