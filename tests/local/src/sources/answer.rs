//! What a function's answer to a batch means.

use std::collections::HashSet;

use platform::lambda::Failed;
use serde_json::Value;

/// What came of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Everything is done.
    Done,
    /// The records at these places are to come again; there is at least one.
    Partly(Vec<usize>),
    /// Nothing is done.
    Failed,
}

/// Judges an answer. `places` says which records an identifier may name. What
/// names anything else, or has not the right shape, counts as a failure of the
/// whole batch
/// ([rules](https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html#streams-batchfailurereporting-conditions)).
pub(super) fn judge(
    function: &str,
    answer: &Result<Value, Failed>,
    reports_failures: bool,
    place: impl Fn(&str) -> Option<usize>,
) -> Verdict {
    let Ok(answer) = answer else {
        return Verdict::Failed;
    };
    let failures = match &answer["batchItemFailures"] {
        Value::Null => return Verdict::Done,
        Value::Array(failures) if failures.is_empty() => return Verdict::Done,
        failures => failures,
    };
    if !reports_failures {
        tracing::warn!(
            function,
            "failures are lost: the source lacks FunctionResponseTypes: [ReportBatchItemFailures]"
        );
        return Verdict::Done;
    }
    let places: Option<HashSet<usize>> = failures.as_array().and_then(|failures| {
        let names = failures.iter().map(|failure| failure["itemIdentifier"].as_str());
        names.map(|name| place(name?)).collect()
    });
    let Some(places) = places else {
        tracing::warn!(function, "the answer names failures that are not in the batch");
        return Verdict::Failed;
    };
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_unstable();
    Verdict::Partly(places)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(answer: Value) -> Verdict {
        let place = |name: &str| ["a", "b", "c"].iter().position(|known| *known == name);
        judge("work", &Ok(answer), true, place)
    }

    #[test]
    fn no_failures_are_a_success() {
        for answer in [
            json!(null),
            json!({}),
            json!({ "batchItemFailures": null }),
            json!({ "batchItemFailures": [] }),
            json!("fine"),
        ] {
            assert_eq!(judged(answer.clone()), Verdict::Done, "{answer}");
        }
    }

    #[test]
    fn failures_are_found_in_the_batch() {
        let answer = json!({ "batchItemFailures": [
            { "itemIdentifier": "c" }, { "itemIdentifier": "b" }, { "itemIdentifier": "c" },
        ]});
        assert_eq!(judged(answer), Verdict::Partly(vec![1, 2]));
    }

    #[test]
    fn an_answer_of_a_wrong_shape_fails_the_whole_batch() {
        for failures in [
            json!([{ "itemIdentifier": "" }]),
            json!([{ "itemIdentifier": null }]),
            json!([{ "itemIdentifier": 1 }]),
            json!([{ "itemId": "a" }]),
            json!([{ "itemIdentifier": "a" }, { "itemIdentifier": "z" }]),
            json!(["a"]),
            json!({ "itemIdentifier": "a" }),
            json!("a"),
        ] {
            let answer = json!({ "batchItemFailures": failures });
            assert_eq!(judged(answer.clone()), Verdict::Failed, "{answer}");
        }
    }

    #[test]
    fn failures_are_not_heard_where_the_template_does_not_ask_for_them() {
        let answer = Ok(json!({ "batchItemFailures": [{ "itemIdentifier": "a" }] }));
        assert_eq!(judge("work", &answer, false, |_| Some(0)), Verdict::Done);
        let error = Failed { code: "INTERNAL", detail: String::new() };
        assert_eq!(judge("work", &Err(error), false, |_| None), Verdict::Failed);
    }
}
