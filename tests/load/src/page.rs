//! Pages of figures: one file that fetches and runs nothing, for phones, for
//! light and dark screens, for readers aloud and for paper.

mod bars;
mod plot;

pub(crate) use bars::Bars;
pub(crate) use plot::{Fold, Line, Mark, Plot};

const STYLE: &str = include_str!("page/style.css");

/// A page of sections.
pub(crate) fn page(title: &str, sections: &[String]) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        escape(title),
        sections.concat()
    )
}

/// Text that means itself in a page.
pub(crate) fn escape(text: &str) -> String {
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

/// A paragraph beside the figures.
pub(crate) fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escape(text))
}

/// A table that scrolls where it is too wide. The first column names the rows,
/// and the last one is text too if `ends_in_text`.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>], ends_in_text: bool) -> String {
    let class = |place: usize| {
        if ends_in_text && place + 1 == head.len() { " class=\"text\"" } else { "" }
    };
    let head_row = head
        .iter()
        .enumerate()
        .map(|(place, text)| format!("<th scope=\"col\"{}>{}</th>", class(place), escape(text)));
    let head_row: String = head_row.collect();
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().enumerate().map(|(place, text)| match place {
            0 => format!("<th scope=\"row\">{}</th>", escape(text)),
            _ => format!("<td{}>{}</td>", class(place), escape(text)),
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>{head_row}</tr></thead>\n\
         <tbody>{rows}</tbody>\n</table></div>\n"
    )
}

/// A drawing with what it shows, and the same as a table for whom it shows
/// nothing.
fn figure(caption: &str, legend: &str, drawing: &str, figures: &str) -> String {
    let line = if legend.is_empty() { "" } else { "<br>" };
    format!(
        "<figure>\n<figcaption>{}{line}{legend}</figcaption>\n{drawing}\
         <details><summary>The same as a table</summary>\n{figures}</details>\n</figure>\n",
        escape(caption)
    )
}

/// The names of what is drawn, each with its sign, if there are several.
fn legend(sign: &str, names: &[&str]) -> String {
    if names.len() < 2 {
        return String::new();
    }
    let names = names.iter().enumerate().map(|(place, name)| {
        format!("<span class=\"{sign} {sign}-{}\">{}</span>", place + 1, escape(name))
    });
    names.collect()
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: f64) -> String {
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

/// A number, or that nobody knows it.
pub(crate) fn known(number: Option<f64>) -> String {
    number.map_or_else(|| "unknown".to_owned(), grouped)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Tags that have no end.
    const VOID: [&str; 7] = ["meta", "line", "path", "rect", "circle", "br", "!DOCTYPE"];

    /// The tags of a page that are opened and closed in another order.
    pub(crate) fn ill_formed(html: &str) -> Vec<String> {
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

    /// What a page fetches or runs.
    pub(crate) fn fetched(html: &str) -> Vec<&'static str> {
        let marks = ["src=", "href", "url(", "@import", "<link", "<script", "<img", "http-equiv"];
        marks.into_iter().filter(|mark| html.contains(mark)).collect()
    }

    #[test]
    fn a_page_is_for_phones_and_both_schemes_and_fetches_nothing() {
        let html = page("a < b", &[note("x & y"), table(&["", "n"], &[], false)]);
        assert_eq!((ill_formed(&html), fetched(&html)), (Vec::new(), Vec::new()));
        for part in ["width=device-width", "prefers-color-scheme: dark", "a &lt; b", "x &amp; y"] {
            assert!(html.contains(part), "{part}");
        }
    }

    #[test]
    fn every_row_and_column_of_a_table_is_named() {
        let rows = [vec!["a".to_owned(), "1".to_owned(), "<b>".to_owned()]];
        let html = table(&["", "n", "why"], &rows, true);
        assert_eq!(html.matches("<th scope=\"col\"").count(), 3);
        assert!(html.contains("<th scope=\"row\">a</th><td>1</td><td class=\"text\">&lt;b&gt;"));
    }

    #[test]
    fn thousands_stand_apart() {
        let numbers = [0.0, 12.5, 999.0, 1_000.0, 25_500.0, 1_234_567.25, -1_000.0];
        let texts = numbers.map(grouped);
        let expected = ["0", "12.5", "999", "1,000", "25,500", "1,234,567.25", "-1,000"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn the_checks_of_pages_can_fail() {
        assert_eq!(ill_formed("<p><b></p>"), ["p", "p"]);
        assert_eq!(ill_formed("<table>"), ["table"]);
        assert!(ill_formed("<!DOCTYPE html><p class=\"a\">x</p><path d=\"\"/>").is_empty());
        assert_eq!(fetched("<img src=\"x\">"), ["src=", "<img"]);
    }
}
