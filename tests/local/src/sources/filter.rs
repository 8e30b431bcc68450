//! Filter patterns: which records of a source reach the function.
//!
//! A pattern is JSON in the shape of a record, with lists of what may stand in
//! each place. The operators are those of Lambda
//! ([syntax](https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filtering-syntax)).
//! A pattern that is not understood is refused when the template is read, so
//! that none lets records through, or holds them back, by mistake.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// The filters of one source: a record passes if it matches one of them, or if
/// there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters(Vec<Fields>);

/// Every field must match. The alternatives of an `$or` are fields, too.
#[derive(Clone, Debug, Default, PartialEq)]
struct Fields {
    all: Vec<(String, Pattern)>,
    any: Vec<Fields>,
}

#[derive(Clone, Debug, PartialEq)]
enum Pattern {
    /// A map with these fields.
    Fields(Fields),
    /// A value, or a list with a value, that passes one of these tests.
    Value(Vec<Test>),
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Equals(Value),
    EqualsIgnoringCase(String),
    Prefix(String),
    Suffix(String),
    Exists(bool),
    AnythingBut(Vec<Test>),
    Numeric(Vec<(Comparison, f64)>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Filters {
    /// Reads patterns, each the text of a JSON object.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let filters = patterns.into_iter().map(|text| {
            let pattern: Value = serde_json::from_str(text)
                .map_err(|error| format!("the pattern {text:?} is no JSON: {error}"))?;
            match pattern {
                Value::Object(fields) if !fields.is_empty() => Fields::parse(&fields),
                _ => Err(format!("the pattern {text:?} should be an object with fields")),
            }
        });
        filters.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a record passes.
    pub fn pass(&self, record: &Value) -> bool {
        self.0.is_empty() || self.0.iter().any(|fields| fields.match_value(record))
    }

    /// Whether a record of an item with these keys may pass. What a filter says
    /// of the rest of the record is left open.
    pub fn may_pass(&self, keys: &Value) -> bool {
        self.0.is_empty() || self.0.iter().any(|fields| fields.allow_keys(keys))
    }

    /// Whether there is nothing to filter.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Fields {
    fn parse(fields: &Map<String, Value>) -> Result<Self, String> {
        let mut parsed = Self::default();
        for (name, pattern) in fields {
            match (name.as_str(), pattern) {
                ("$or", Value::Array(alternatives)) if alternatives.len() > 1 => {
                    parsed.any =
                        alternatives.iter().map(Self::parse_one).collect::<Result<_, _>>()?;
                }
                ("$or", _) => return Err("$or expects a list of two patterns or more".to_owned()),
                _ => parsed.all.push((name.clone(), Pattern::parse(name, pattern)?)),
            }
        }
        Ok(parsed)
    }

    fn parse_one(alternative: &Value) -> Result<Self, String> {
        match alternative {
            Value::Object(fields) if !fields.is_empty() => Self::parse(fields),
            other => Err(format!("$or expects patterns, not {other}")),
        }
    }

    fn allow_keys(&self, keys: &Value) -> bool {
        self.patterns("dynamodb")
            .filter_map(Pattern::fields)
            .all(|change| change.patterns("Keys").all(|pattern| pattern.match_value(Some(keys))))
    }

    fn patterns<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p Pattern> {
        self.all.iter().filter(move |(of, _)| of == name).map(|(_, pattern)| pattern)
    }

    fn match_value(&self, value: &Value) -> bool {
        self.all.iter().all(|(name, pattern)| pattern.match_value(value.get(name)))
            && (self.any.is_empty() || self.any.iter().any(|fields| fields.match_value(value)))
    }
}

impl Pattern {
    fn fields(&self) -> Option<&Fields> {
        match self {
            Self::Fields(fields) => Some(fields),
            Self::Value(_) => None,
        }
    }

    fn parse(name: &str, pattern: &Value) -> Result<Self, String> {
        match pattern {
            Value::Object(fields) if !fields.is_empty() => Fields::parse(fields).map(Self::Fields),
            Value::Array(tests) if !tests.is_empty() => {
                let tests = tests.iter().map(Test::parse);
                tests.collect::<Result<_, _>>().map(Self::Value)
            }
            _ => Err(format!("{name} expects a list of values, or an object with fields")),
        }
    }

    fn match_value(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Fields(fields), Some(Value::Array(list))) => {
                list.iter().any(|value| fields.match_value(value))
            }
            (Self::Fields(fields), value) => fields.match_value(value.unwrap_or(&Value::Null)),
            (Self::Value(tests), Some(Value::Array(list))) => {
                list.iter().any(|value| tests.iter().any(|test| test.match_value(Some(value))))
            }
            (Self::Value(tests), value) => tests.iter().any(|test| test.match_value(value)),
        }
    }
}

impl Test {
    fn parse(test: &Value) -> Result<Self, String> {
        let Value::Object(operator) = test else {
            return if test.is_array() {
                Err(format!("a list may not stand in a list: {test}"))
            } else {
                Ok(Self::Equals(test.clone()))
            };
        };
        let mut operators = operator.iter();
        let (Some((name, argument)), None) = (operators.next(), operators.next()) else {
            return Err(format!("expected one operator in {test}"));
        };
        let text = || argument.as_str().map(str::to_owned);
        let parsed = match name.as_str() {
            "prefix" => text().map(Self::Prefix),
            "suffix" => text().map(Self::Suffix),
            "equals-ignore-case" => text().map(|text| Self::EqualsIgnoringCase(fold(&text))),
            "exists" => argument.as_bool().map(Self::Exists),
            "anything-but" => Self::parse_anything_but(argument),
            "numeric" => Self::parse_numeric(argument),
            _ => {
                return Err(format!(
                    "{name} is no operator of the local cloud; it knows prefix, suffix, \
                     equals-ignore-case, exists, anything-but and numeric"
                ));
            }
        };
        parsed.ok_or_else(|| format!("{name} does not take {argument}"))
    }

    /// A value, a list of values, or a prefix or the like that must not be.
    fn parse_anything_but(argument: &Value) -> Option<Self> {
        let tests = match argument {
            Value::Array(list) if list.is_empty() => return None,
            Value::Array(list) => list.iter().map(Self::parse_excluded).collect::<Option<_>>()?,
            one => vec![Self::parse_excluded(one)?],
        };
        Some(Self::AnythingBut(tests))
    }

    fn parse_excluded(value: &Value) -> Option<Self> {
        match Self::parse(value).ok()? {
            Self::AnythingBut(_) | Self::Exists(_) | Self::Numeric(_) => None,
            test => Some(test),
        }
    }

    /// As in `[">", 0, "<=", 5]`.
    fn parse_numeric(argument: &Value) -> Option<Self> {
        let list = argument.as_array().filter(|list| matches!(list.len(), 2 | 4))?;
        let bounds = list.chunks(2).map(|bound| {
            let comparison = match bound.first()?.as_str()? {
                "=" => Comparison::Equal,
                "<" => Comparison::Less,
                "<=" => Comparison::AtMost,
                ">" => Comparison::More,
                ">=" => Comparison::AtLeast,
                _ => return None,
            };
            Some((comparison, bound.get(1)?.as_f64()?))
        });
        bounds.collect::<Option<_>>().map(Self::Numeric)
    }

    fn match_value(&self, value: Option<&Value>) -> bool {
        let text = value.and_then(Value::as_str);
        match self {
            // only what is no map exists, as on Lambda
            Self::Exists(expected) => value.is_some_and(|value| !value.is_object()) == *expected,
            Self::Equals(expected) => value.is_some_and(|value| is_equal(value, expected)),
            Self::EqualsIgnoringCase(expected) => text.is_some_and(|text| fold(text) == *expected),
            Self::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix.as_str())),
            Self::Suffix(suffix) => text.is_some_and(|text| text.ends_with(suffix.as_str())),
            Self::AnythingBut(tests) => {
                value.is_some_and(|value| !value.is_object())
                    && !tests.iter().any(|test| test.match_value(value))
            }
            Self::Numeric(bounds) => value
                .and_then(Value::as_f64)
                .is_some_and(|number| bounds.iter().all(|(c, bound)| c.holds(number, *bound))),
        }
    }
}

impl Comparison {
    fn holds(self, number: f64, bound: f64) -> bool {
        let order = number.partial_cmp(&bound);
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::More => order == Some(Ordering::Greater),
            Self::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// 1 and 1.0 are the same number.
fn is_equal(value: &Value, expected: &Value) -> bool {
    match (value.as_f64(), expected.as_f64()) {
        (Some(value), Some(expected)) => Comparison::Equal.holds(value, expected),
        _ => value == expected,
    }
}

fn fold(text: &str) -> String {
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pass(pattern: &Value, record: &Value) -> bool {
        Filters::parse([pattern.to_string().as_str()]).unwrap().pass(record)
    }

    #[test]
    fn keys_that_no_pattern_allows_decide_alone_and_all_others_leave_it_open() {
        let keys = json!({ "sk": { "S": "PLAN#default" } });
        let may_pass =
            |patterns: &[&str]| Filters::parse(patterns.iter().copied()).unwrap().may_pass(&keys);
        let plans = r#"{"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"PLAN#"}]}}}}"#;
        let seats = r#"{"dynamodb":{"Keys":{"sk":{"S":["SEATS"]}}}}"#;
        let images = r#"{"eventName":["REMOVE"],"dynamodb":{"NewImage":{"x":{"S":["1"]}}}}"#;
        assert!(may_pass(&[]) && may_pass(&[plans]) && may_pass(&[seats, plans]));
        assert!(may_pass(&[images]) && may_pass(&[seats, images]));
        assert!(!may_pass(&[seats]));
        let either =
            r#"{"$or":[{"dynamodb":{"Keys":{"sk":{"S":["SEATS"]}}}},{"eventName":["X"]}]}"#;
        assert!(may_pass(&[either]));
    }

    #[test]
    fn without_filters_everything_passes() {
        assert!(Filters::default().pass(&json!({})));
        assert!(Filters::parse([]).unwrap().is_empty());
    }

    #[test]
    fn one_of_several_filters_is_enough() {
        let both = [r#"{"eventName": ["INSERT"]}"#, r#"{"eventName": ["REMOVE"]}"#];
        let filters = Filters::parse(both).unwrap();
        let passes = |name: &str| filters.pass(&json!({ "eventName": name }));
        assert_eq!(["INSERT", "REMOVE", "MODIFY"].map(passes), [true, true, false]);
    }

    #[test]
    fn every_field_must_match_and_one_of_its_values() {
        let pattern = json!({ "eventName": ["INSERT", "MODIFY"], "dynamodb": {
            "Keys": { "sk": { "S": ["META"] } },
        }});
        let record = |name: &str, sk: &str| json!({ "eventName": name, "dynamodb": { "Keys": { "sk": { "S": sk } } } });
        assert!(pass(&pattern, &record("INSERT", "META")));
        assert!(pass(&pattern, &record("MODIFY", "META")));
        assert!(!pass(&pattern, &record("REMOVE", "META")));
        assert!(!pass(&pattern, &record("INSERT", "BODY")));
        assert!(!pass(&pattern, &json!({ "eventName": "INSERT" })));
    }

    #[test]
    fn each_operator_does_what_its_name_says() {
        for (test, yes, no) in [
            (json!("a"), vec![json!("a"), json!(["b", "a"])], vec![json!("b"), json!("A")]),
            (json!(null), vec![json!(null)], vec![json!(""), json!(0)]),
            (json!(""), vec![json!("")], vec![json!(null), json!("a")]),
            (json!(1), vec![json!(1), json!(1.0)], vec![json!("1"), json!(2)]),
            (json!(true), vec![json!(true)], vec![json!(false), json!("true")]),
            (json!({ "prefix": "SEA" }), vec![json!("SEATS")], vec![json!("xSEA"), json!(1)]),
            (json!({ "suffix": "TS" }), vec![json!("SEATS")], vec![json!("TSx"), json!(null)]),
            (json!({ "equals-ignore-case": "aB" }), vec![json!("Ab")], vec![json!("a")]),
            (json!({ "exists": true }), vec![json!(null), json!(1)], vec![json!({ "S": "" })]),
            (json!({ "exists": false }), vec![json!({ "S": "" })], vec![json!(null)]),
            (json!({ "anything-but": "a" }), vec![json!("b"), json!(1)], vec![json!("a")]),
            (json!({ "anything-but": [1, "a"] }), vec![json!(2)], vec![json!(1), json!("a")]),
            (
                json!({ "anything-but": { "prefix": "a" } }),
                vec![json!("ba")],
                vec![json!("ab"), json!({})],
            ),
            (json!({ "numeric": ["=", 2] }), vec![json!(2.0)], vec![json!(3), json!("2")]),
            (
                json!({ "numeric": [">", 0, "<=", 5] }),
                vec![json!(5), json!(0.1)],
                vec![json!(0), json!(5.1), json!(null)],
            ),
            (json!({ "numeric": [">=", 1, "<", 2] }), vec![json!(1)], vec![json!(2), json!(0)]),
        ] {
            let pattern = json!({ "x": [test] });
            for value in yes {
                assert!(pass(&pattern, &json!({ "x": value })), "{pattern} refuses {value}");
            }
            for value in no {
                assert!(!pass(&pattern, &json!({ "x": value })), "{pattern} takes {value}");
            }
        }
    }

    #[test]
    fn a_field_that_is_missing_matches_only_what_must_not_exist() {
        let missing = json!({});
        assert!(pass(&json!({ "a": { "b": [{ "exists": false }] } }), &missing));
        assert!(!pass(&json!({ "a": [{ "exists": true }] }), &missing));
        assert!(!pass(&json!({ "a": [{ "anything-but": "x" }] }), &missing));
        assert!(!pass(&json!({ "a": [null] }), &missing));
    }

    #[test]
    fn an_or_needs_one_of_its_alternatives_beside_the_other_fields() {
        let pattern = json!({ "a": [1], "$or": [{ "b": [1] }, { "c": { "d": [1] } }] });
        assert!(pass(&pattern, &json!({ "a": 1, "b": 1 })));
        assert!(pass(&pattern, &json!({ "a": 1, "c": { "d": 1 } })));
        assert!(!pass(&pattern, &json!({ "a": 1, "c": { "d": 2 } })));
        assert!(!pass(&pattern, &json!({ "b": 1 })));
    }

    #[test]
    fn a_pattern_that_is_not_understood_is_refused() {
        for text in [
            "",
            "[]",
            "{}",
            "{\"a\": 1}",
            r#"{"a": []}"#,
            r#"{"a": {}}"#,
            r#"{"a": [[1]]}"#,
            r#"{"a": [{"wildcard": "x*"}]}"#,
            r#"{"a": [{"prefix": 1}]}"#,
            r#"{"a": [{"prefix": "a", "suffix": "b"}]}"#,
            r#"{"a": [{"exists": "yes"}]}"#,
            r#"{"a": [{"numeric": [">"]}]}"#,
            r#"{"a": [{"numeric": ["~", 1]}]}"#,
            r#"{"a": [{"numeric": [">", "1"]}]}"#,
            r#"{"a": [{"anything-but": []}]}"#,
            r#"{"a": [{"anything-but": [{"exists": true}]}]}"#,
            r#"{"$or": [{"a": [1]}]}"#,
            r#"{"$or": [1, 2]}"#,
        ] {
            assert!(Filters::parse([text]).is_err(), "{text}");
        }
    }
}
