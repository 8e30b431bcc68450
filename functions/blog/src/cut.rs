//! Texts as lists show them: cut by characters, never by bytes.

/// The most characters of a title in a list.
pub const TITLE: usize = 100;
/// The most characters of an excerpt.
pub const EXCERPT: usize = 200;

/// The first `most` characters of `text`, with an ellipsis if there are more.
pub fn cut(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// How a body begins, on one line.
pub fn excerpt(body: &str) -> String {
    let mut line = String::new();
    for word in body.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(EXCERPT + 1)); // one more tells that it goes on
        if line.chars().count() > EXCERPT {
            break;
        }
    }
    cut(&line, EXCERPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("🎟é漢a", 4), "🎟é漢a");
        assert_eq!(cut("🎟é漢a", 3), "🎟é漢…");
        assert_eq!((cut("", 3).as_str(), cut("a", 0).as_str()), ("", "…"));
    }

    #[test]
    fn an_excerpt_is_one_line() {
        assert_eq!(excerpt(" One\n\ttwo\n\nthree "), "One two three");
        assert_eq!(excerpt(""), "");
        let long = excerpt(&"🎟 ".repeat(100_000));
        assert_eq!(long.chars().count(), EXCERPT + 1);
        assert!(long.ends_with('…'));
        let word = "a".repeat(EXCERPT);
        assert_eq!(excerpt(&word), word);
        assert_eq!(excerpt(&format!("{word} b")), format!("{word}…"));
        assert_eq!(excerpt(&format!("{word}b")), format!("{word}…"));
        assert_eq!(excerpt(&format!("{}Hello", "\n".repeat(100_000))), "Hello");
        assert_eq!(excerpt(&format!("a{}b", " ".repeat(100_000))), "a b");
    }
}
