//! Bars, as SVG whose text stays as large as it is on any screen.

use std::fmt::Write;

use super::{escape, figure, grouped, legend, table};

/// What a name above its bars takes, in pixels.
const NAME: usize = 17;
/// What a bar takes.
const BAR: usize = 14;
/// What lies between the bars of two names.
const GAP: usize = 8;
/// The longest bar, in hundredths of the width. The rest is for its number.
const LONGEST: f64 = 76.0;
/// So many characters fit above a bar on a phone.
const MOST_CHARACTERS: usize = 44;

/// Numbers of one unit beside each other.
pub(crate) struct Bars {
    /// What is shown.
    pub(crate) title: String,
    /// What the names are names of.
    pub(crate) of: &'static str,
    /// What each name has: one bar or two.
    pub(crate) series: Vec<String>,
    /// What stands where there is no number.
    pub(crate) otherwise: &'static str,
    /// Names, each with a number for each of the series.
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Bars {
    /// The bars with their caption, or nothing if there is nothing to show.
    pub(crate) fn to_html(&self) -> String {
        let numbers = self.rows.iter().flat_map(|(name, numbers)| {
            numbers.iter().filter_map(move |number| Some((name, (*number)?)))
        });
        let Some((largest, most)) = numbers.reduce(|a, b| if b.1 > a.1 { b } else { a }) else {
            return String::new();
        };
        let each = NAME + BAR * self.series.len() + GAP;
        let mut svg = format!(
            "<svg class=\"bars\" height=\"{}\" role=\"img\">\n<title>{}</title>\n\
             <desc>The largest is {} of {}.</desc>\n",
            each * self.rows.len(),
            escape(&self.title),
            grouped(most),
            escape(largest)
        );
        for (place, (name, numbers)) in self.rows.iter().enumerate() {
            self.draw(&mut svg, place * each, (name, numbers), most);
        }
        svg.push_str("</svg>\n");
        let names: Vec<&str> = self.series.iter().map(String::as_str).collect();
        figure(&self.title, &legend("box", &names), &svg, &self.table())
    }

    fn table(&self) -> String {
        let head = std::iter::once(self.of).chain(self.series.iter().map(String::as_str));
        let rows = self.rows.iter().map(|(name, numbers)| {
            std::iter::once(name.clone()).chain(numbers.iter().map(|n| self.shown(*n))).collect()
        });
        table(&head.collect::<Vec<_>>(), &rows.collect::<Vec<_>>(), false)
    }

    fn shown(&self, number: Option<f64>) -> String {
        number.map_or_else(|| self.otherwise.to_owned(), grouped)
    }

    /// Draws one name and its bars. Writing to a String does not fail.
    fn draw(
        &self,
        svg: &mut String,
        top: usize,
        (name, numbers): (&str, &[Option<f64>]),
        most: f64,
    ) {
        let name = escape(&shortened(name));
        let _ = writeln!(svg, "<text x=\"0\" y=\"{}\">{name}</text>", top + 12);
        for (place, number) in numbers.iter().enumerate() {
            let top = top + NAME + BAR * place;
            let part = if most > 0.0 { number.unwrap_or(0.0) / most } else { 0.0 };
            let width = part * LONGEST;
            let _ = writeln!(
                svg,
                "<rect class=\"bar bar-{}\" x=\"0\" y=\"{top}\" width=\"{width:.2}%\" \
                 height=\"{}\"/><text class=\"tick\" x=\"{width:.2}%\" dx=\"5\" y=\"{}\">{}</text>",
                place + 1,
                BAR - 2,
                top + 10,
                escape(&self.shown(*number))
            );
        }
    }
}

/// A name without its middle, if it is long.
fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= MOST_CHARACTERS {
        return name.to_owned();
    }
    let half = MOST_CHARACTERS / 2;
    let begin: String = name.chars().take(half).collect();
    let end: String = name.chars().skip(count - half + 1).collect();
    format!("{begin}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::ill_formed;

    fn bars(rows: &[(&str, &[Option<f64>])]) -> Bars {
        Bars {
            title: "Units & more".into(),
            of: "operation",
            series: vec!["read".into(), "write".into()],
            otherwise: "unknown",
            rows: rows.iter().map(|(name, n)| ((*name).to_owned(), n.to_vec())).collect(),
        }
    }

    #[test]
    fn the_largest_number_has_the_longest_bar() {
        let html = bars(&[("enroll", &[Some(2.0), Some(8.0)]), ("drop", &[None, Some(4.0)])]);
        let html = html.to_html();
        for width in ["width=\"76.00%\"", "width=\"38.00%\"", "width=\"19.00%\""] {
            assert!(html.contains(width), "{width}: {html}");
        }
        assert!(html.contains("The largest is 8 of enroll.") && html.contains(">unknown<"));
        assert!(html.contains("box-2\">write") && html.contains("<title>Units &amp; more"));
        assert!(html.contains("<th scope=\"row\">drop</th><td>unknown</td><td>4</td>"));
        assert_eq!(ill_formed(&html), Vec::<String>::new());
    }

    #[test]
    fn without_numbers_there_are_no_bars() {
        assert_eq!(bars(&[]).to_html(), "");
        assert_eq!(bars(&[("enroll", &[None, None])]).to_html(), "");
        assert!(bars(&[("enroll", &[Some(0.0), None])]).to_html().contains("width=\"0.00%\""));
    }

    #[test]
    fn a_long_name_keeps_its_ends_and_the_table_has_all_of_it() {
        let name = format!("Enrollment/{}#42", "é".repeat(60));
        let html = bars(&[(&name, &[Some(1.0), None])]).to_html();
        let drawn = shortened(&name);
        assert_eq!(drawn.chars().count(), MOST_CHARACTERS);
        assert!(drawn.starts_with("Enrollment/é") && drawn.ends_with("é#42"));
        assert!(html.contains(&format!(">{drawn}<")) && html.contains(&format!(">{name}<")));
        assert_eq!(shortened("short"), "short");
    }
}
