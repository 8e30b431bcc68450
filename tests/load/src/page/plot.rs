//! Lines over seconds, as SVG whose text stays as large as it is on any screen:
//! only the lines themselves are stretched.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{escape, figure, grouped, legend, table};

/// Lines across the plot, at most.
const MOST_TICKS: f64 = 5.0;
/// Both sides of the box that the lines are drawn in.
const BOX: f64 = 1000.0;
/// The most points of a line: more are a blot on a phone, which is some 300
/// pixels wide.
const MOST_POINTS: u64 = 120;
/// The most rows of the table.
const MOST_ROWS: u64 = 60;

/// Lines over seconds, in one unit.
pub(crate) struct Plot {
    /// What is shown.
    pub(crate) title: String,
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// Moments that explain them.
    pub(crate) marks: Vec<Mark>,
    /// What several seconds are together, where there are too many.
    pub(crate) fold: Fold,
}

/// One of them.
pub(crate) struct Line {
    /// What it shows.
    pub(crate) name: String,
    /// Seconds and values, in order. Where there is none, the line has a gap.
    pub(crate) points: Vec<(f64, Option<f64>)>,
}

/// A moment.
pub(crate) struct Mark {
    /// In which second.
    pub(crate) second: f64,
    /// What happened.
    pub(crate) name: String,
}

/// How several values become one.
#[derive(Clone, Copy)]
pub(crate) enum Fold {
    /// Their mean.
    Mean,
    /// The largest.
    Most,
}

/// From numbers to places.
struct Scale {
    most_second: f64,
    most_value: f64,
    step: f64,
}

impl Plot {
    /// The plot with its caption, or nothing if there is nothing to show.
    pub(crate) fn to_html(&self) -> String {
        let seconds = self.lines.iter().flat_map(|line| &line.points).map(|point| point.0);
        let last_second = seconds.fold(0.0, f64::max);
        let (width, lines) = self.folded(last_second, MOST_POINTS);
        let values = lines.iter().flat_map(|line| &line.points).filter_map(|point| point.1);
        let Some(most_value) = values.reduce(f64::max) else {
            return String::new();
        };
        let marked = self.marks.iter().map(|mark| mark.second);
        let most_second = marked.fold(last_second.max(1.0), f64::max);
        let step = step(most_value);
        let most_value = (most_value / step).ceil().max(1.0) * step;
        let scale = Scale { most_second, most_value, step };
        let caption = match (width, self.fold) {
            (1, _) => self.title.clone(),
            (_, Fold::Mean) => format!("{}, each point the mean of {width} s", self.title),
            (_, Fold::Most) => format!("{}, each point the most of {width} s", self.title),
        };
        let names: Vec<&str> = self.lines.iter().map(|line| line.name.as_str()).collect();
        let drawing = self.draw(&scale, &lines);
        figure(&caption, &legend("key", &names), &drawing, &self.table(last_second))
    }

    fn draw(&self, scale: &Scale, lines: &[Line]) -> String {
        let mut svg = format!(
            "<svg class=\"plot\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n",
            escape(&self.title),
            escape(&self.description())
        );
        scale.draw(&mut svg);
        let _ = writeln!(svg, "<svg viewBox=\"0 0 {BOX} {BOX}\" preserveAspectRatio=\"none\">");
        for (place, line) in lines.iter().enumerate() {
            // Writing to a String does not fail.
            let path = scale.path(&line.points);
            let _ = writeln!(svg, "<path class=\"line line-{}\" d=\"{path}\"/>", place + 1);
        }
        svg.push_str("</svg>\n");
        for (place, line) in lines.iter().enumerate() {
            scale.draw_dots(&mut svg, place, &line.points);
        }
        for (place, mark) in self.marks.iter().enumerate() {
            scale.draw_mark(&mut svg, place, mark);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The lines in a few words.
    fn description(&self) -> String {
        let most = |line: &Line| {
            let values =
                line.points.iter().filter_map(|(second, value)| Some((*second, (*value)?)));
            let (second, most) = values.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
            Some(format!("{}: at most {}, in second {second}.", line.name, grouped(most)))
        };
        self.lines.iter().filter_map(most).collect::<Vec<_>>().join(" ")
    }

    fn table(&self, last_second: f64) -> String {
        let (width, lines) = self.folded(last_second, MOST_ROWS);
        let mut rows = BTreeMap::<u64, Vec<String>>::new();
        for (place, line) in lines.iter().enumerate() {
            for (second, value) in &line.points {
                let row = rows.entry(whole(*second)).or_insert_with(|| {
                    let empty = std::iter::repeat_n(String::new(), lines.len());
                    std::iter::once(grouped(*second)).chain(empty).collect()
                });
                row[place + 1] = value.map(|value| grouped(shown(value))).unwrap_or_default();
            }
        }
        let first = if width == 1 { "second".to_owned() } else { format!("{width} s from") };
        let names = lines.iter().map(|line| line.name.as_str());
        let head: Vec<&str> = std::iter::once(first.as_str()).chain(names).collect();
        table(&head, &rows.into_values().collect::<Vec<_>>(), false)
    }

    /// The lines with at most so many points, and how many seconds each stands
    /// for.
    fn folded(&self, last_second: f64, most: u64) -> (u64, Vec<Line>) {
        let width = (whole(last_second) + 1).div_ceil(most);
        let lines = self.lines.iter().map(|line| {
            let mut points = BTreeMap::<u64, Vec<f64>>::new();
            for (second, value) in &line.points {
                points.entry(whole(*second) / width).or_default().extend(value);
            }
            let points =
                points.into_iter().map(|(at, values)| ((at * width) as f64, self.fold.of(&values)));
            Line { name: line.name.clone(), points: points.collect() }
        });
        (width, lines.collect())
    }
}

impl Fold {
    fn of(self, values: &[f64]) -> Option<f64> {
        let most = values.iter().copied().reduce(f64::max)?;
        Some(match self {
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Self::Most => most,
        })
    }
}

/// A second, which is never negative.
fn whole(second: f64) -> u64 {
    std::time::Duration::try_from_secs_f64(second).map_or(0, |second| second.as_secs())
}

/// A value as tables show it.
fn shown(value: f64) -> f64 {
    crate::record::three_digits(value)
}

impl Scale {
    /// In parts of the width.
    fn x(&self, second: f64) -> f64 {
        second / self.most_second
    }

    /// In parts of the height, from the top.
    fn y(&self, value: f64) -> f64 {
        1.0 - value / self.most_value
    }

    /// The lines across, and what they mean.
    fn draw(&self, svg: &mut String) {
        for value in ticks(self.most_value, self.step) {
            let y = self.y(value) * 100.0;
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.2}%\" y2=\"{y:.2}%\"/>\
                 <text class=\"tick\" text-anchor=\"end\" x=\"-6\" y=\"{y:.2}%\" dy=\"4\">{}</text>",
                grouped(value)
            );
        }
        for second in ticks(self.most_second, step(self.most_second).max(1.0)) {
            let x = self.x(second) * 100.0;
            let _ = writeln!(
                svg,
                "<text class=\"tick\" text-anchor=\"middle\" x=\"{x:.2}%\" y=\"100%\" dy=\"18\">\
                 {} s</text>",
                grouped(second)
            );
        }
    }

    /// A moment. Its name stands below that of the one before.
    fn draw_mark(&self, svg: &mut String, place: usize, mark: &Mark) {
        let x = self.x(mark.second) * 100.0;
        let (anchor, beside) = if x > 50.0 { ("end", -5) } else { ("start", 5) };
        let _ = writeln!(
            svg,
            "<line class=\"mark\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"100%\"/>\
             <text class=\"tick mark\" text-anchor=\"{anchor}\" x=\"{x:.2}%\" dx=\"{beside}\" \
             y=\"{}\">{}</text>",
            12 + 14 * place,
            escape(&mark.name)
        );
    }

    /// A dot for each point without neighbors, through which no line goes.
    fn draw_dots(&self, svg: &mut String, place: usize, points: &[(f64, Option<f64>)]) {
        let is_there = |at: Option<usize>| {
            at.and_then(|at| points.get(at)).is_some_and(|(_, value)| value.is_some())
        };
        for (at, (second, value)) in points.iter().enumerate() {
            let is_alone = !is_there(at.checked_sub(1)) && !is_there(at.checked_add(1));
            if let Some(value) = value.filter(|_| is_alone) {
                let (x, y) = (self.x(*second) * 100.0, self.y(value) * 100.0);
                let _ = writeln!(
                    svg,
                    "<circle class=\"dot-{}\" cx=\"{x:.2}%\" cy=\"{y:.2}%\" r=\"3.5\"/>",
                    place + 1
                );
            }
        }
    }

    /// A line in the box.
    fn path(&self, points: &[(f64, Option<f64>)]) -> String {
        let mut path = String::new();
        let mut is_drawn = false;
        for (second, value) in points {
            if let Some(value) = value {
                let command = if is_drawn { 'L' } else { 'M' };
                let (x, y) = (self.x(*second) * BOX, self.y(*value) * BOX);
                let _ = write!(path, "{command}{x:.1} {y:.1}");
            }
            is_drawn = value.is_some();
        }
        path
    }
}

/// A round number that goes a few times into `most`: 1, 2 or 5 of a power of
/// ten.
fn step(most: f64) -> f64 {
    let rough = (most / MOST_TICKS).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * power >= rough);
    times.unwrap_or(10.0) * power
}

fn ticks(most: f64, step: f64) -> impl Iterator<Item = f64> {
    (0_u32..).map(move |n| f64::from(n) * step).take_while(move |value| *value <= most * 1.0001)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::ill_formed;

    fn plot(points: &[(f64, Option<f64>)]) -> Plot {
        let marks = vec![Mark { second: 2.0, name: "end of load".into() }];
        let lines = vec![Line { name: "a < b".into(), points: points.to_vec() }];
        Plot { title: "Events & more".into(), lines, marks, fold: Fold::Mean }
    }

    #[test]
    fn steps_are_round_and_few() {
        for (most, expected) in
            [(0.9, 0.2), (5.0, 1.0), (9.0, 2.0), (26.0, 10.0), (4_900.0, 1_000.0), (0.0, 1e-9)]
        {
            assert!((step(most) / expected - 1.0).abs() < 1e-6, "{most}: {}", step(most));
        }
        assert_eq!(ticks(10.0, 5.0).collect::<Vec<_>>(), [0.0, 5.0, 10.0]);
    }

    #[test]
    fn values_stand_between_the_axes_and_gaps_stay_gaps() {
        let points = [(0.0, Some(0.0)), (1.0, None), (2.0, Some(10.0)), (4.0, Some(5.0))];
        let html = plot(&points).to_html();
        assert!(html.contains(r#"d="M0.0 1000.0M500.0 0.0L1000.0 500.0""#), "{html}");
        let dot = r#"<circle class="dot-1" cx="0.00%" cy="100.00%" r="3.5"/>"#;
        assert!(html.contains(dot) && html.matches("<circle").count() == 1, "{html}");
        assert!(html.contains("end of load") && html.contains("Events &amp; more"));
        assert_eq!(ill_formed(&html), Vec::<String>::new());
    }

    #[test]
    fn whoever_sees_no_plot_is_told_and_has_a_table() {
        let points = [(0.0, Some(1_000.0)), (1.0, None), (2.0, Some(2.5))];
        let html = plot(&points).to_html();
        assert!(html.contains("<title>Events &amp; more</title>"), "{html}");
        assert!(html.contains("<desc>a &lt; b: at most 1,000, in second 0.</desc>"), "{html}");
        assert!(html.contains("<th scope=\"row\">1</th><td></td>"), "{html}");
        assert!(html.contains("<th scope=\"row\">2</th><td>2.5</td>"), "{html}");
    }

    #[test]
    fn an_hour_has_fewer_points_that_stand_for_several_seconds() {
        let points: Vec<_> = (0..3_600_u32).map(|s| (f64::from(s), Some(f64::from(s)))).collect();
        let mean = plot(&points);
        let (width, lines) = mean.folded(3_599.0, MOST_POINTS);
        let points = &lines[0].points;
        assert_eq!((width, points.len(), points[1]), (30, 120, (30.0, Some(44.5))));
        assert!(mean.to_html().contains("Events &amp; more, each point the mean of 30 s"));
        assert_eq!(mean.table(3_599.0).matches("<tr>").count(), 61);
        let most = Plot { fold: Fold::Most, ..mean };
        assert_eq!(most.folded(3_599.0, MOST_POINTS).1[0].points[1], (30.0, Some(59.0)));
    }

    #[test]
    fn names_are_told_where_there_are_several_and_escaped() {
        let mut two = plot(&[(0.0, Some(1.0))]);
        assert!(!two.to_html().contains("class=\"key"));
        two.lines.push(Line { name: "p95".into(), points: vec![(0.0, Some(2.0))] });
        let html = two.to_html();
        assert!(html.contains("a &lt; b") && html.contains("key-2\">p95"), "{html}");
    }

    #[test]
    fn moments_that_are_close_do_not_hide_each_other() {
        let mut two = plot(&[(0.0, Some(1.0)), (4.0, Some(1.0))]);
        two.marks.push(Mark { second: 2.1, name: "killed".into() });
        let html = two.to_html();
        assert!(
            html.contains("y=\"12\">end of load") && html.contains("y=\"26\">killed"),
            "{html}"
        );
    }

    #[test]
    fn without_values_there_is_no_plot() {
        assert_eq!(plot(&[]).to_html(), "");
        assert_eq!(plot(&[(1.0, None)]).to_html(), "");
        assert!(plot(&[(0.0, Some(0.0))]).to_html().contains("<svg"));
    }
}
