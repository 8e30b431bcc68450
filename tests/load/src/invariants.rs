//! What must be true after a run, however fast it was.

use serde::Serialize;

use crate::record::Samples;

/// One of them, checked.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Invariant {
    /// What must be true.
    pub(crate) name: &'static str,
    /// Whether it is. `None` if nobody can know.
    pub(crate) held: Option<bool>,
    /// With what numbers.
    pub(crate) detail: String,
}

impl Invariant {
    /// An invariant that holds if `held`.
    pub(crate) fn new(name: &'static str, held: bool, detail: String) -> Self {
        Self { name, held: Some(held), detail }
    }

    /// An invariant that cannot be checked, and why.
    pub(crate) fn unchecked(name: &'static str, why: impl Into<String>) -> Self {
        Self { name, held: None, detail: why.into() }
    }

    /// Whether it was checked and is not true.
    pub(crate) fn is_broken(&self) -> bool {
        self.held == Some(false)
    }

    /// What became of it, in a word.
    pub(crate) fn verdict(&self) -> &'static str {
        verdict(self.held)
    }

    /// An invariant that holds unless somebody or something breaks it. Of
    /// those, the first few are named.
    pub(crate) fn unless<T: std::fmt::Display>(
        name: &'static str,
        broken: &[T],
        otherwise: String,
    ) -> Self {
        const NAMED: usize = 5;
        if broken.is_empty() {
            return Self::new(name, true, otherwise);
        }
        let named: Vec<String> = broken.iter().take(NAMED).map(T::to_string).collect();
        let more = if broken.len() > NAMED { "; …" } else { "" };
        let detail = format!("{} broken: {}{more}", broken.len(), named.join("; "));
        Self::new(name, false, detail)
    }
}

/// What became of an invariant, in a word.
pub(crate) fn verdict(held: Option<bool>) -> &'static str {
    match held {
        Some(true) => "held",
        Some(false) => "BROKEN",
        None => "unknown",
    }
}

/// The name of [`no_server_error`].
pub(crate) const NO_SERVER_ERROR: &str = "no server error";

/// The server never failed. 503 is its way to say that it is too busy; those
/// count as unknown outcomes.
pub(crate) fn no_server_error<'a>(phases: impl IntoIterator<Item = &'a Samples>) -> Invariant {
    let (mut failed, mut busy) = (Vec::new(), 0);
    for samples in phases {
        busy += samples.statuses.get(&503).unwrap_or(&0);
        let others = samples.statuses.iter().filter(|(s, _)| **s >= 500 && **s != 503);
        failed.extend(others.map(|(status, count)| format!("{count} × {status}")));
    }
    Invariant::unless(NO_SERVER_ERROR, &failed, format!("no 5xx but {busy} × 503"))
}

/// Every refusal bears one of the codes that the scenario provokes.
pub(crate) fn only_refusals<'a>(
    expected: &[&str],
    phases: impl IntoIterator<Item = &'a Samples>,
) -> Invariant {
    let (mut unexpected, mut refused) = (Vec::new(), 0);
    for samples in phases {
        let problems = samples.problems.iter().filter(|((status, _), _)| *status < 500);
        for ((status, code), count) in problems {
            refused += count;
            if *status != 409 || !expected.contains(&code.as_str()) {
                unexpected.push(format!("{count} × {status} {code}"));
            }
        }
        let answers = samples.statuses.iter().filter(|(s, _)| (300..500).contains(*s));
        let coded = samples.problems.iter().filter(|((s, _), _)| (300..500).contains(s));
        let bare = answers.map(|(_, n)| n).sum::<u64>() - coded.map(|(_, n)| n).sum::<u64>();
        if bare > 0 {
            unexpected.push(format!("{bare} without a code"));
        }
    }
    let detail = format!("{refused} refusals, expected codes {expected:?}");
    Invariant::unless("refusals are expected ones", &unexpected, detail)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::call::Answer;
    use crate::record::Recorder;

    fn answers(answers: &[(u16, &str)]) -> Samples {
        let recorder = Recorder::new().unwrap();
        for (status, code) in answers {
            let body =
                if code.is_empty() { String::new() } else { format!(r#"{{"code":"{code}"}}"#) };
            let answer = Answer { status: *status, body: body.into_bytes() };
            recorder.record("enroll", Instant::now(), &Ok(answer));
        }
        recorder.samples()
    }

    #[tokio::test]
    async fn a_500_breaks_a_run_and_a_503_does_not() {
        assert!(!no_server_error([&answers(&[(201, ""), (503, "BUSY")])]).is_broken());
        let broken = no_server_error([&answers(&[(201, ""), (500, "INTERNAL")])]);
        assert!(broken.is_broken() && broken.detail.contains("1 × 500"));
    }

    #[tokio::test]
    async fn a_refusal_must_bear_an_expected_code() {
        let expected = ["COURSE_FULL"];
        let holds = |list: &[(u16, &str)]| !only_refusals(&expected, [&answers(list)]).is_broken();
        assert!(holds(&[(201, ""), (409, "COURSE_FULL"), (503, "BUSY")]));
        assert!(!holds(&[(409, "ALREADY_ENROLLED")]));
        assert!(!holds(&[(404, "COURSE_FULL")]));
        assert!(!holds(&[(409, "")]));
        assert!(!holds(&[(401, "UNAUTHENTICATED")]));
    }

    #[test]
    fn only_the_first_few_culprits_are_named() {
        let broken = Invariant::unless("x", &[1, 2, 3, 4, 5, 6, 7], String::new());
        assert_eq!(broken.detail, "7 broken: 1; 2; 3; 4; 5; …");
        assert!(broken.is_broken());
    }

    #[test]
    fn what_cannot_be_checked_is_neither_held_nor_broken() {
        let unchecked = Invariant::unchecked("x", "no status page");
        assert_eq!((unchecked.verdict(), unchecked.is_broken()), ("unknown", false));
        assert!(serde_json::to_value(&unchecked).unwrap()["held"].is_null());
    }
}
