//! Lines over seconds, as SVG that stands in the page itself.

use std::fmt::Write;

use super::html::escape;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;
/// Lines across the plot, at most.
const MOST_TICKS: f64 = 5.0;

/// Lines over seconds, in one unit.
pub(super) struct Plot {
    /// What is shown.
    pub(super) title: String,
    /// The lines.
    pub(super) lines: Vec<Line>,
    /// Moments that explain them.
    pub(super) marks: Vec<Mark>,
}

/// One of them.
pub(super) struct Line {
    /// What it shows.
    pub(super) name: &'static str,
    /// Seconds and values, in order. Where there is none, the line has a gap.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

/// A moment.
pub(super) struct Mark {
    /// In which second.
    pub(super) second: f64,
    /// What happened.
    pub(super) name: &'static str,
}

/// From numbers to places.
struct Scale {
    most_second: f64,
    most_value: f64,
    step: f64,
}

impl Plot {
    /// The plot with its caption, or nothing if there is nothing to show.
    pub(super) fn to_html(&self) -> String {
        let values = self.lines.iter().flat_map(|line| &line.points).filter_map(|point| point.1);
        let Some(most_value) = values.clone().reduce(f64::max) else {
            return String::new();
        };
        let seconds = self.lines.iter().flat_map(|line| &line.points).map(|point| point.0);
        let marked = self.marks.iter().map(|mark| mark.second);
        let most_second = seconds.chain(marked).fold(1.0, f64::max);
        let step = step(most_value);
        let most_value = (most_value / step).ceil().max(1.0) * step;
        let scale = Scale { most_second, most_value, step };
        let title = escape(&self.title);
        let mut svg = format!(
            "<figure>\n<figcaption>{title}{}</figcaption>\n\
             <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n",
            self.legend()
        );
        scale.draw(&mut svg);
        for mark in &self.marks {
            scale.draw_mark(&mut svg, mark);
        }
        for (number, line) in self.lines.iter().enumerate() {
            // Writing to a String does not fail.
            let _ = writeln!(
                svg,
                "<path class=\"line line-{}\" d=\"{}\"/>",
                number + 1,
                scale.path(&line.points)
            );
        }
        svg.push_str("</svg>\n</figure>\n");
        svg
    }

    fn legend(&self) -> String {
        if self.lines.len() < 2 {
            return String::new();
        }
        let names = self.lines.iter().enumerate().map(|(number, line)| {
            format!(" <span class=\"key key-{}\">{}</span>", number + 1, escape(line.name))
        });
        names.collect()
    }
}

impl Scale {
    fn x(&self, second: f64) -> f64 {
        LEFT + second / self.most_second * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.most_value * (HEIGHT - TOP - BOTTOM)
    }

    /// The lines across, and what they mean.
    fn draw(&self, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for value in ticks(self.most_value, self.step) {
            let y = self.y(value);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                grouped(value)
            );
        }
        for second in ticks(self.most_second, step(self.most_second)) {
            let _ = writeln!(
                svg,
                "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{} s</text>",
                self.x(second),
                bottom + 18.0,
                grouped(second)
            );
        }
    }

    fn draw_mark(&self, svg: &mut String, mark: &Mark) {
        let (x, bottom) = (self.x(mark.second), HEIGHT - BOTTOM);
        let is_right = mark.second > self.most_second / 2.0;
        let (anchor, beside) = if is_right { ("end", -5.0) } else { ("start", 5.0) };
        let _ = writeln!(
            svg,
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text class=\"tick\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + beside,
            TOP + 10.0,
            escape(mark.name)
        );
    }

    fn path(&self, points: &[(f64, Option<f64>)]) -> String {
        let mut path = String::new();
        let mut is_drawn = false;
        for (second, value) in points {
            if let Some(value) = value {
                let command = if is_drawn { 'L' } else { 'M' };
                let _ = write!(path, "{command}{:.1} {:.1}", self.x(*second), self.y(*value));
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

/// A number with its thousands apart.
pub(super) fn grouped(number: f64) -> String {
    let text = format!("{}", (number * 1000.0).round() / 1000.0);
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        let left = whole.len() - place;
        if place > 0 && left.is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if part.is_empty() { grouped } else { format!("{grouped}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: &[(f64, Option<f64>)]) -> Plot {
        let marks = vec![Mark { second: 2.0, name: "end of load" }];
        let lines = vec![Line { name: "a < b", points: points.to_vec() }];
        Plot { title: "Events & more".into(), lines, marks }
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
        assert!(html.contains(r#"d="M58.0 210.0M402.0 14.0L746.0 112.0""#), "{html}");
        assert!(html.contains("end of load") && html.contains("Events &amp; more"));
    }

    #[test]
    fn names_are_told_where_there_are_several_and_escaped() {
        let mut two = plot(&[(0.0, Some(1.0))]);
        assert!(!two.to_html().contains("class=\"key"));
        two.lines.push(Line { name: "p95", points: vec![(0.0, Some(2.0))] });
        let html = two.to_html();
        assert!(html.contains("a &lt; b") && html.contains("key-2\">p95"), "{html}");
    }

    #[test]
    fn without_values_there_is_no_plot() {
        assert_eq!(plot(&[]).to_html(), "");
        assert_eq!(plot(&[(1.0, None)]).to_html(), "");
        assert!(plot(&[(0.0, Some(0.0))]).to_html().contains("<svg"));
    }

    #[test]
    fn thousands_stand_apart() {
        let numbers = [0.0, 12.5, 999.0, 1_000.0, 25_500.0, 1_234_567.25, -1_000.0];
        let texts = numbers.map(grouped);
        let expected = ["0", "12.5", "999", "1,000", "25,500", "1,234,567.25", "-1,000"];
        assert_eq!(texts, expected);
    }
}
