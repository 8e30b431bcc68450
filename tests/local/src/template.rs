//! The map of the system: what `template.yaml` says that the local cloud needs.
//!
//! Functions with their routes, sources, settings, policies and time-outs, tables with
//! their keys and indexes, and queues. Everything else in the file is for AWS alone.

mod events;
mod intrinsics;
mod policies;
mod queue;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::Method;
use serde_json::{Map, Value, json};

use crate::in_checkout;
pub use events::{QueueSource, ScheduleSource, Source, StreamSource};
pub(crate) use intrinsics::{ACCOUNT, REGION, secret_arn, stream_arn, table_arn};
use intrinsics::{Resolver, tree};

pub use policies::Permission;
pub use queue::{DeduplicationScope, FifoThroughputLimit, Queue, Redrive};
pub(crate) use queue::{QUEUE_HOST, queue_arn, queue_url};

/// The stack's name here, as in `${AWS::StackName}`.
pub const STACK_NAME: &str = "hotseat";

const DEFAULT_TIMEOUT_S: u64 = 3; // what SAM takes where the template says nothing

/// What the template declares.
#[derive(Clone, Debug, Default)]
pub struct Template {
    /// Every resource as it is written, its intrinsic functions in their long form.
    pub resources: Value,
    /// Its Lambda functions.
    pub functions: Vec<Function>,
    /// Its DynamoDB tables.
    pub tables: Vec<Table>,
    /// Its SQS queues.
    pub queues: Vec<Queue>,
}

/// An `AWS::Serverless::Function`.
#[derive(Clone, Debug)]
pub struct Function {
    /// The resource's name in the template, as in `PutCourse`.
    pub logical_id: String,
    /// `FunctionName` without the stack's name, as in `put-course`.
    pub name: String,
    /// Its settings, those for all functions included.
    pub environment: BTreeMap<String, String>,
    /// The requests that it takes.
    pub routes: Vec<Route>,
    /// What else runs it.
    pub sources: Vec<Source>,
    /// What it may do.
    pub permissions: Vec<Permission>,
    /// How long one invocation may take.
    pub timeout: Duration,
}

/// An event of the type `HttpApi`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method; `None` for any.
    pub method: Option<Method>,
    /// The path with its parameters, as in `/courses/{courseId}`, or `$default`.
    pub path: String,
}

/// An `AWS::DynamoDB::Table`.
#[derive(Clone, Debug)]
pub struct Table {
    /// The resource's name in the template, as in `EnrollmentTable`.
    pub logical_id: String,
    /// Its name here: the logical id without `Table`.
    pub name: String,
    /// The `CreateTable` request that makes it: keys, attributes, indexes and
    /// stream as the template has them.
    pub definition: Value,
    /// The attribute that says when an item expires.
    pub ttl_attribute: Option<String>,
}

impl Table {
    /// Whether its changes go to a stream.
    pub fn has_stream(&self) -> bool {
        self.definition.get("StreamSpecification").is_some()
    }
}

/// A template that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The file is not there or cannot be read.
    #[error("cannot read {}: {error}; run inside a checkout of hotseat", path.display())]
    Unreadable {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// It is no YAML.
    #[error("template.yaml is no YAML: {0}")]
    Syntax(String),
    /// Something in it is missing or not understood here.
    #[error("template.yaml, {place}: {problem}")]
    Invalid {
        /// Where, as in `Resources.Enroll.FunctionName`.
        place: String,
        /// What is wrong and what would be right.
        problem: String,
    },
}

impl Template {
    /// Reads the template of this checkout.
    pub fn of_checkout() -> Result<Self, TemplateError> {
        let path = in_checkout("template.yaml");
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| TemplateError::Unreadable { path, error })?;
        Self::parse(&text)
    }

    /// Reads a template from its text.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let root = tree(text)?;
        let resolver = Resolver::new(&root);
        let globals = &root["Globals"]["Function"];
        let mut template = Self::default();
        let Some(resources) = root["Resources"].as_object() else {
            return Err(invalid("Resources", "expected a map of resources"));
        };
        for (logical_id, resource) in resources {
            let properties = &resource["Properties"];
            let at = Place { logical_id, resolver: &resolver };
            if is_read(resource) && !resource["Condition"].is_null() {
                return Err(at.invalid("Condition", "what is made here is made always"));
            }
            match resource["Type"].as_str() {
                Some("AWS::Serverless::Function") => {
                    template.functions.push(at.function(properties, globals)?);
                }
                Some("AWS::DynamoDB::Table") => template.tables.push(at.table(properties)?),
                Some(kind @ ("AWS::Lambda::EventSourceMapping" | "AWS::Scheduler::Schedule")) => {
                    let problem = format!("{kind} is not read here: use the function's Events");
                    return Err(at.invalid("Type", problem));
                }
                Some("AWS::SQS::Queue") => template.queues.push(at.queue(properties)?),
                _ => {} // of no concern here
            }
        }
        queue::check(&template.queues)?;
        events::check(&template)?;
        template.resources = root["Resources"].clone();
        Ok(template)
    }
}

/// Whether a resource is of a kind that is made here.
fn is_read(resource: &Value) -> bool {
    let kinds = ["AWS::Serverless::Function", "AWS::DynamoDB::Table", "AWS::SQS::Queue"];
    resource["Type"].as_str().is_some_and(|kind| kinds.contains(&kind))
}

/// The physical name of a table.
fn table_name(logical_id: &str) -> &str {
    logical_id.strip_suffix("Table").unwrap_or(logical_id)
}

fn invalid(place: impl Into<String>, problem: impl Into<String>) -> TemplateError {
    TemplateError::Invalid { place: place.into(), problem: problem.into() }
}

/// A resource that is being read.
struct Place<'a> {
    logical_id: &'a str,
    resolver: &'a Resolver<'a>,
}

impl Place<'_> {
    fn invalid(&self, property: &str, problem: impl Into<String>) -> TemplateError {
        invalid(format!("Resources.{}.{property}", self.logical_id), problem)
    }

    /// A property with its intrinsic functions computed; null if it is missing.
    fn resolve(&self, property: &str, value: &Value) -> Result<Value, TemplateError> {
        let resolved = self.resolver.resolve(value);
        resolved.map_err(|problem| self.invalid(property, problem))
    }

    fn function(&self, properties: &Value, globals: &Value) -> Result<Function, TemplateError> {
        let name = self.resolve("FunctionName", &properties["FunctionName"])?;
        let prefix = format!("{STACK_NAME}-");
        let name = name.as_str().and_then(|name| name.strip_prefix(&prefix));
        let name = name.filter(|name| !name.is_empty()).ok_or_else(|| {
            let expected = "expected !Sub \"${AWS::StackName}-<name>\"";
            self.invalid("FunctionName", expected)
        })?;
        let timeout = [properties, globals]
            .map(|level| &level["Timeout"])
            .into_iter()
            .find(|timeout| !timeout.is_null());
        let timeout = timeout.map_or(Ok(json!(DEFAULT_TIMEOUT_S)), |t| self.resolve("Timeout", t));
        let timeout_s = timeout?
            .as_u64()
            .ok_or_else(|| self.invalid("Timeout", "expected a number of seconds"))?;
        let (routes, sources) = self.events(&properties["Events"])?;
        Ok(Function {
            logical_id: self.logical_id.to_owned(),
            name: name.to_owned(),
            environment: self.environment(properties, globals)?,
            routes,
            sources,
            permissions: self.permissions(&properties["Policies"])?,
            timeout: Duration::from_secs(timeout_s),
        })
    }

    fn environment(
        &self,
        properties: &Value,
        globals: &Value,
    ) -> Result<BTreeMap<String, String>, TemplateError> {
        let mut environment = BTreeMap::new();
        for level in [globals, properties] {
            for (name, value) in entries(&level["Environment"]["Variables"]) {
                let property = format!("Environment.{name}");
                let text = match self.resolve(&property, value)? {
                    Value::String(text) => text,
                    scalar @ (Value::Bool(_) | Value::Number(_)) => scalar.to_string(),
                    _ => return Err(self.invalid(&property, "expected text")),
                };
                environment.insert(name.clone(), text);
            }
        }
        Ok(environment)
    }

    fn table(&self, properties: &Value) -> Result<Table, TemplateError> {
        let name = table_name(self.logical_id);
        let mut definition = Map::from_iter([
            ("TableName".to_owned(), json!(name)),
            ("BillingMode".to_owned(), json!("PAY_PER_REQUEST")),
        ]);
        for required in ["AttributeDefinitions", "KeySchema"] {
            let value = self.resolve(required, &properties[required])?;
            if !value.is_array() {
                return Err(self.invalid(required, "expected a list"));
            }
            definition.insert(required.to_owned(), value);
        }
        for kind in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
            let indexes = self.resolve(kind, &properties[kind])?;
            let Some(indexes) = indexes.as_array() else {
                continue;
            };
            let indexes = indexes.iter().map(|index| {
                json!({
                    "IndexName": index["IndexName"],
                    "KeySchema": index["KeySchema"],
                    "Projection": index["Projection"],
                })
            });
            definition.insert(kind.to_owned(), indexes.collect());
        }
        let stream = self.resolve("StreamSpecification", &properties["StreamSpecification"])?;
        if let Some(view) = stream["StreamViewType"].as_str() {
            let stream = json!({ "StreamEnabled": true, "StreamViewType": view });
            definition.insert("StreamSpecification".to_owned(), stream);
        }
        let ttl =
            self.resolve("TimeToLiveSpecification", &properties["TimeToLiveSpecification"])?;
        let ttl_attribute = ttl["AttributeName"].as_str();
        Ok(Table {
            logical_id: self.logical_id.to_owned(),
            name: name.to_owned(),
            definition: Value::Object(definition),
            ttl_attribute: ttl_attribute.filter(|_| ttl["Enabled"] == true).map(str::to_owned),
        })
    }
}

fn entries(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
Parameters:
  Level: { Type: String, Default: info }
  Secret: { Type: String }
Globals:
  Function:
    Timeout: 15
    Environment:
      Variables:
        THINGS_TABLE: !Ref ThingsTable
        LEVEL: !Ref Level
        RETRIES: 3
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
  ThingsTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{ AttributeName: pk, AttributeType: S }]
      KeySchema: [{ AttributeName: pk, KeyType: HASH }]
      StreamSpecification: { StreamViewType: NEW_IMAGE }
      GlobalSecondaryIndexes:
        - IndexName: index1
          KeySchema: [{ AttributeName: pk, KeyType: HASH }]
          Projection: { ProjectionType: KEYS_ONLY }
          WarmThroughput: { ReadUnitsPerSecond: 12000 }
      TimeToLiveSpecification: { AttributeName: expires_at_s, Enabled: true }
  GetThing:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub "${AWS::StackName}-get-thing"
      Environment:
        Variables:
          LEVEL: debug
          ARN: !GetAtt ThingsTable.Arn
      Events:
        Call: { Type: HttpApi, Properties: { Method: get, Path: "/things/{id}" } }
        Rest: { Type: HttpApi, Properties: { Method: ANY, Path: $default } }
"#;

    fn problem(from: &str, to: &str) -> String {
        assert!(SMALL.contains(from), "{from}");
        let error = Template::parse(&SMALL.replace(from, to)).unwrap_err();
        error.to_string()
    }

    #[test]
    fn a_function_has_its_name_settings_routes_and_time_out() {
        let template = Template::parse(SMALL).unwrap();
        let function = &template.functions[0];
        assert_eq!(
            (function.logical_id.as_str(), function.name.as_str()),
            ("GetThing", "get-thing")
        );
        assert_eq!(function.timeout, Duration::from_secs(15));
        let settings: Vec<_> = function.environment.iter().collect();
        assert_eq!(
            serde_json::to_value(settings).unwrap(),
            json!([
                ["ARN", "arn:aws:dynamodb:us-east-1:000000000000:table/Things"],
                ["LEVEL", "debug"],
                ["RETRIES", "3"],
                ["THINGS_TABLE", "Things"],
            ])
        );
        let get = Route { method: Some(Method::GET), path: "/things/{id}".into() };
        let rest = Route { method: None, path: "$default".into() };
        assert_eq!(function.routes, [get, rest]);
    }

    #[test]
    fn a_table_becomes_the_request_that_creates_it() {
        let template = Template::parse(SMALL).unwrap();
        let table = &template.tables[0];
        assert_eq!(table.ttl_attribute.as_deref(), Some("expires_at_s"));
        assert!(table.has_stream());
        let keys = json!([{ "AttributeName": "pk", "KeyType": "HASH" }]);
        assert_eq!(
            table.definition,
            json!({
                "TableName": "Things",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
                "KeySchema": keys,
                "GlobalSecondaryIndexes": [{
                    "IndexName": "index1",
                    "KeySchema": keys,
                    "Projection": { "ProjectionType": "KEYS_ONLY" },
                }],
                "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "NEW_IMAGE" },
            })
        );
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_place() {
        let unknown = problem("!Ref Level", "!ImportValue Level");
        assert!(
            unknown.contains("Resources.GetThing.Environment.LEVEL: Fn::ImportValue"),
            "{unknown}"
        );
        assert!(problem("!Ref Level", "!Ref Secret").contains("Secret has no default"));
        assert!(problem("!Ref Level", "!Ref Nowhere").contains("Nowhere"));
        assert!(problem("ThingsTable.Arn", "ThingsTable.Owner").contains("ThingsTable.Owner"));
        let name = problem("${AWS::StackName}-get-thing", "get-thing");
        assert!(name.contains("Resources.GetThing.FunctionName"), "{name}");
        assert!(problem("Path: \"/things", "Path: \"things").contains("begin with /"));
        assert!(problem("Method: get", "Method: \"g t\"").contains("no method"));
        assert!(problem("Method: get, ", "").contains("expected Method"));
        assert!(problem("Type: HttpApi,", "Type: Kinesis,").contains("Kinesis"));
        let mapping = problem("AWS::Serverless::HttpApi", "AWS::Lambda::EventSourceMapping");
        assert!(mapping.contains("Resources.Api.Type") && mapping.contains("Events"), "{mapping}");
        let maybe =
            problem("Type: AWS::DynamoDB::Table", "Type: AWS::DynamoDB::Table\n    Condition: A");
        assert!(maybe.contains("Resources.ThingsTable.Condition"), "{maybe}");
        assert!(problem("Timeout: 15", "Timeout: soon").contains("seconds"));
        assert!(
            problem("KeySchema: [{ AttributeName: pk, KeyType: HASH }]\n      Stream", "Stream")
                .contains("Resources.ThingsTable.KeySchema")
        );
    }

    #[test]
    fn what_is_no_template_is_refused() {
        assert!(matches!(Template::parse("a: [b"), Err(TemplateError::Syntax(_))));
        for text in ["", "a: b", "[]", "? [x]\n: y"] {
            assert!(Template::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_template_of_this_checkout_can_be_used() {
        let template = Template::of_checkout().unwrap();
        let defaults = template.functions.iter().flat_map(|f| &f.routes);
        let defaults = defaults.filter(|route| route.path == "$default").count();
        assert_eq!(defaults, 1);
        assert!(template.tables.iter().all(|t| t.name.len() >= 3));
    }
}
