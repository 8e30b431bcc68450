//! The template's intrinsic functions: `!Ref`, `!Sub`, `!GetAtt`, and `!If` with
//! its conditions.
//!
//! YAML tags become the long form (`{"Fn::Sub": …}`), which is what remains of
//! a template in JSON, and are computed only where a value is needed: what the
//! local cloud does not read may use any function.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

use super::queue::{is_fifo, queue_arn, queue_name, queue_url};
use super::{STACK_NAME, TemplateError, invalid, table_name};

/// The region and account that ARNs name here.
pub(crate) const REGION: &str = "us-east-1";
pub(crate) const ACCOUNT: &str = "000000000000";

/// When every stream here was made: part of a stream's ARN.
const STREAM_LABEL: &str = "2030-01-01T00:00:00.000";

/// A template's text as a tree.
pub(super) fn tree(text: &str) -> Result<Value, TemplateError> {
    let documents = Yaml::load_from_str(text);
    let documents = documents.map_err(|error| TemplateError::Syntax(error.to_string()))?;
    match documents.as_slice() {
        [document] => json_of(document).map_err(|problem| invalid("the file", problem)),
        _ => Err(invalid("the file", "expected one YAML document")),
    }
}

fn json_of(yaml: &Yaml<'_>) -> Result<Value, String> {
    match yaml {
        Yaml::Value(scalar) => Ok(match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(boolean) => json!(boolean),
            Scalar::Integer(integer) => json!(integer),
            Scalar::FloatingPoint(float) => json!(float.into_inner()),
            Scalar::String(text) => json!(text),
        }),
        Yaml::Sequence(list) => list.iter().map(json_of).collect(),
        Yaml::Mapping(map) => {
            let entries = map.iter().map(|(key, value)| {
                let key = key.as_str().ok_or("a key is no text")?;
                Ok((key.to_owned(), json_of(value)?))
            });
            entries.collect::<Result<Map<_, _>, String>>().map(Value::Object)
        }
        Yaml::Tagged(tag, value) => {
            let long = match tag.suffix.as_str() {
                short @ ("Ref" | "Condition") => short.to_owned(),
                short => format!("Fn::{short}"),
            };
            Ok(Value::Object(Map::from_iter([(long, json_of(value)?)])))
        }
        Yaml::Representation(..) | Yaml::Alias(_) | Yaml::BadValue => {
            Err("a value cannot be read".to_owned())
        }
    }
}

/// Computes intrinsic functions from a template's parameters and resources.
pub(super) struct Resolver<'a> {
    parameters: &'a Value,
    conditions: &'a Value,
    resources: &'a Value,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self {
            parameters: &root["Parameters"],
            conditions: &root["Conditions"],
            resources: &root["Resources"],
        }
    }

    /// `value` with every function in it computed. What is no value is left out
    /// where it stands in a list or a map, and is null elsewhere.
    pub(super) fn resolve(&self, value: &Value) -> Result<Value, String> {
        Ok(self.value(value)?.unwrap_or_default())
    }

    /// `value` with every function in it computed; `None` if that is no value.
    fn value(&self, value: &Value) -> Result<Option<Value>, String> {
        let value = match value {
            Value::Array(list) => {
                let values = list.iter().filter_map(|value| self.value(value).transpose());
                values.collect::<Result<_, _>>()?
            }
            Value::Object(map) => match only_entry(map) {
                Some((name, argument)) if name == "Ref" && argument == "AWS::NoValue" => {
                    return Ok(None);
                }
                Some((name, argument)) if name == "Fn::If" => return self.choose(argument),
                Some((name, argument)) if name == "Ref" || name.starts_with("Fn::") => {
                    self.compute(name, argument)?
                }
                _ => {
                    let entries = map.iter().filter_map(|(key, value)| {
                        let value = self.value(value).transpose()?;
                        Some(value.map(|value| (key.clone(), value)))
                    });
                    Value::Object(entries.collect::<Result<Map<_, _>, String>>()?)
                }
            },
            scalar => scalar.clone(),
        };
        Ok(Some(value))
    }

    /// `!If [condition, what if it holds, what if not]`.
    fn choose(&self, argument: &Value) -> Result<Option<Value>, String> {
        match argument.as_array().map(Vec::as_slice) {
            Some([Value::String(condition), then, otherwise]) => {
                self.value(if self.holds(condition)? { then } else { otherwise })
            }
            _ => Err("Fn::If expects a condition and two values".to_owned()),
        }
    }

    /// Whether the template's condition `name` holds.
    fn holds(&self, name: &str) -> Result<bool, String> {
        let condition = self.conditions.get(name);
        self.is_met(condition.ok_or_else(|| format!("{name} is no condition"))?)
    }

    fn is_met(&self, condition: &Value) -> Result<bool, String> {
        let unknown = || format!("the condition {condition} is not known to the local cloud");
        let (function, argument) =
            condition.as_object().and_then(only_entry).ok_or_else(unknown)?;
        match (function.as_str(), argument) {
            ("Condition", Value::String(name)) => self.holds(name),
            ("Fn::Equals", Value::Array(both)) => match both.as_slice() {
                [one, other] => Ok(self.resolve(one)? == self.resolve(other)?),
                _ => Err(unknown()),
            },
            ("Fn::Not", Value::Array(one)) => match one.as_slice() {
                [one] => Ok(!self.is_met(one)?),
                _ => Err(unknown()),
            },
            ("Fn::And", Value::Array(all)) => {
                all.iter().try_fold(true, |met, one| Ok(self.is_met(one)? && met))
            }
            ("Fn::Or", Value::Array(any)) => {
                any.iter().try_fold(false, |met, one| Ok(self.is_met(one)? || met))
            }
            _ => Err(unknown()),
        }
    }

    fn compute(&self, function: &str, argument: &Value) -> Result<Value, String> {
        match (function, argument) {
            ("Ref", Value::String(name)) => self.reference(name),
            ("Fn::GetAtt", Value::String(name)) => self.attribute(name).map(Value::from),
            ("Fn::GetAtt", Value::Array(path)) => {
                let path: Vec<_> = path.iter().filter_map(Value::as_str).collect();
                self.attribute(&path.join(".")).map(Value::from)
            }
            ("Fn::Sub", Value::String(text)) => self.substitute(text, &Map::new()).map(Value::from),
            ("Fn::Sub", Value::Array(both)) => match both.as_slice() {
                [Value::String(text), Value::Object(own)] => {
                    self.substitute(text, own).map(Value::from)
                }
                _ => Err("Fn::Sub expects a text and a map".to_owned()),
            },
            _ => Err(format!(
                "{function} of {argument} is not known to the local cloud; \
                 it computes !Ref, !Sub, !GetAtt and !If"
            )),
        }
    }

    fn reference(&self, name: &str) -> Result<Value, String> {
        let pseudo = match name {
            "AWS::StackName" => Some(STACK_NAME),
            "AWS::Region" => Some(REGION),
            "AWS::AccountId" => Some(ACCOUNT),
            "AWS::Partition" => Some("aws"),
            "AWS::URLSuffix" => Some("amazonaws.com"),
            _ => None,
        };
        if let Some(value) = pseudo {
            return Ok(json!(value));
        }
        if let Some(parameter) = self.parameters.get(name) {
            let default = parameter.get("Default");
            return default.cloned().ok_or_else(|| format!("the parameter {name} has no default"));
        }
        match self.resources[name]["Type"].as_str() {
            Some("AWS::DynamoDB::Table") => Ok(json!(table_name(name))),
            Some("AWS::SQS::Queue") => Ok(json!(queue_url(&self.queue_name(name)))),
            Some("AWS::SecretsManager::Secret") => Ok(json!(secret_arn(name))),
            Some(_) => Ok(json!(name)),
            None => Err(format!("{name} is no parameter and no resource")),
        }
    }

    fn attribute(&self, path: &str) -> Result<String, String> {
        let (name, attribute) = path.split_once('.').unwrap_or((path, ""));
        match (self.resources[name]["Type"].as_str(), attribute) {
            (Some("AWS::DynamoDB::Table"), "Arn") => Ok(table_arn(table_name(name))),
            (Some("AWS::DynamoDB::Table"), "StreamArn") => {
                let stream = &self.resources[name]["Properties"]["StreamSpecification"];
                if stream.is_null() {
                    return Err(format!("{name} has no stream: it needs a StreamSpecification"));
                }
                Ok(stream_arn(table_name(name)))
            }
            (Some("AWS::SQS::Queue"), "Arn") => Ok(queue_arn(&self.queue_name(name))),
            (Some("AWS::SQS::Queue"), "QueueName") => Ok(self.queue_name(name)),
            (Some("AWS::SQS::Queue"), "QueueUrl") => Ok(queue_url(&self.queue_name(name))),
            _ => Err(format!("{path} is no attribute that the local cloud knows")),
        }
    }

    fn queue_name(&self, logical_id: &str) -> String {
        queue_name(logical_id, is_fifo(&self.resources[logical_id]["Properties"]))
    }

    /// Replaces each `${…}`; `${!…}` stands for itself without the mark.
    fn substitute(&self, text: &str, own: &Map<String, Value>) -> Result<String, String> {
        let mut pieces = text.split("${");
        let mut result = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (name, rest) = piece.split_once('}').ok_or("a ${ is not closed")?;
            if let Some(literal) = name.strip_prefix('!') {
                result.push_str(&format!("${{{literal}}}"));
            } else {
                result.push_str(&self.variable(name, own)?);
            }
            result.push_str(rest);
        }
        Ok(result)
    }

    fn variable(&self, name: &str, own: &Map<String, Value>) -> Result<String, String> {
        let value = match own.get(name) {
            Some(value) => self.resolve(value)?,
            None if name.contains('.') => self.attribute(name)?.into(),
            None => self.reference(name)?,
        };
        match value {
            Value::String(text) => Ok(text),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(format!("${{{name}}} is no text")),
        }
    }
}

/// The ARN of a table.
pub(crate) fn table_arn(table: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}")
}

/// The ARN of a table's stream.
pub(crate) fn stream_arn(table: &str) -> String {
    format!("{}/stream/{STREAM_LABEL}", table_arn(table))
}

/// The ARN of a secret, by its name or its ARN. AWS puts six characters behind
/// the name.
pub(crate) fn secret_arn(id: &str) -> String {
    if id.starts_with("arn:") {
        return id.to_owned();
    }
    format!("arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{id}-000000")
}

fn only_entry(map: &Map<String, Value>) -> Option<(&String, &Value)> {
    map.iter().next().filter(|_| map.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(yaml: &str) -> Result<Value, String> {
        let root = "
Parameters:
  Level: { Type: String, Default: info }
Conditions:
  IsInfo: !Equals [!Ref Level, info]
  IsLoud: !Not [!Condition IsInfo]
  Either: !Or [!Condition IsLoud, !Condition IsInfo]
  Both: !And [!Condition IsLoud, !Condition IsInfo]
  Odd: !Contains [a, b]
Resources:
  ThingsTable: { Type: AWS::DynamoDB::Table }
  Api: { Type: AWS::Serverless::HttpApi }
  WorkQueue: { Type: AWS::SQS::Queue }
  EventsQueue: { Type: AWS::SQS::Queue, Properties: { FifoQueue: true } }
";
        let root = tree(root).unwrap();
        Resolver::new(&root).resolve(&tree(yaml).unwrap())
    }

    #[test]
    fn functions_are_computed_wherever_they_stand() {
        assert_eq!(resolve("!Ref ThingsTable").unwrap(), "Things");
        assert_eq!(
            resolve("{ a: [!Ref Level, 1, true, 1.5, ~] }").unwrap(),
            json!({
                "a": ["info", 1, true, 1.5, null]
            })
        );
        let index = resolve(r#"!Sub "${ThingsTable.Arn}/index/*""#).unwrap();
        assert_eq!(index, "arn:aws:dynamodb:us-east-1:000000000000:table/Things/index/*");
        assert_eq!(resolve("!Sub ['${x}-${Level}', { x: !Ref Api }]").unwrap(), "Api-info");
        assert_eq!(resolve("!Sub '${!Level} $ {'").unwrap(), "${Level} $ {");
        assert_eq!(
            resolve("!GetAtt [ThingsTable, Arn]").unwrap(),
            resolve("Fn::GetAtt: ThingsTable.Arn").unwrap()
        );
    }

    #[test]
    fn a_queue_has_a_url_an_arn_and_a_name() {
        let url = resolve("!Ref EventsQueue").unwrap();
        assert_eq!(url, "http://sqs.local/000000000000/Events.fifo");
        assert_eq!(resolve("!GetAtt EventsQueue.QueueUrl").unwrap(), url);
        assert_eq!(resolve("!GetAtt EventsQueue.QueueName").unwrap(), "Events.fifo");
        let arn = resolve("!GetAtt WorkQueue.Arn").unwrap();
        assert_eq!(arn, "arn:aws:sqs:us-east-1:000000000000:Work");
    }

    #[test]
    fn a_condition_chooses_between_values_and_none() {
        for (condition, value) in [("IsInfo", 1), ("IsLoud", 2), ("Either", 1), ("Both", 2)] {
            assert_eq!(resolve(&format!("!If [{condition}, 1, 2]")).unwrap(), value);
        }
        let nothing = "!If [IsLoud, 1, !Ref 'AWS::NoValue']";
        assert_eq!(resolve(&format!("{{ a: {nothing}, b: 1 }}")).unwrap(), json!({ "b": 1 }));
        assert_eq!(resolve(&format!("[{nothing}, 1]")).unwrap(), json!([1]));
        assert_eq!(resolve(nothing).unwrap(), Value::Null);
    }

    #[test]
    fn what_cannot_be_computed_is_an_error() {
        for yaml in [
            "!If [Nowhere, 1, 2]",
            "!If [Odd, 1, 2]",
            "!If [IsInfo, 1]",
            "!Ref Nothing",
            "!Ref [a]",
            "!If [a, b, c]",
            "!GetAtt Api.Url",
            "!GetAtt ThingsTable",
            "!Sub '${Level'",
            "!Sub '${}'",
            "!Sub [a]",
            "!Sub ['${x}', { x: [1] }]",
        ] {
            assert!(resolve(yaml).is_err(), "{yaml}");
        }
    }
}
