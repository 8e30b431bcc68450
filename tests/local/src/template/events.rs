//! A function's events: the requests that it takes, and what else runs it.
//!
//! What is set here and not understood is an error, since the deployed system
//! would behave in another way than the local one.

use http::Method;
use serde_json::Value;

use super::{Place, Route, Template, TemplateError, entries, invalid};
use crate::sources::Filters;

/// The most filters that a source may have.
const MOST_FILTERS: usize = 10;

/// What runs a function, other than a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The changes of a table.
    Stream(StreamSource),
    /// The messages of a queue.
    Queue(QueueSource),
    /// The time.
    Schedule(ScheduleSource),
}

/// An event of the type `DynamoDB`
/// ([parameters](https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html)).
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSource {
    /// The table's name here.
    pub table: String,
    /// Whether a new reader begins with what comes next, and not with the
    /// oldest record.
    pub from_latest: bool,
    /// The most records in a batch.
    pub batch_size: usize,
    /// How long records may wait for others to fill a batch.
    pub window_ms: i64,
    /// How many batches run at once, each of its own partition keys.
    pub lanes: usize,
    /// How often a batch is tried again; without end if `None`.
    pub most_retries: Option<u32>,
    /// How old a record may be; as old as it likes if `None`.
    pub most_age_ms: Option<i64>,
    /// Whether a batch that failed is split in two.
    pub bisects: bool,
    /// Whether the function names the records that failed.
    pub reports_failures: bool,
    /// The name of the queue that hears of records that were given up.
    pub on_failure: Option<String>,
    /// Which records reach the function.
    pub filters: Filters,
    /// Whether it runs at all.
    pub is_enabled: bool,
}

/// An event of the type `SQS`
/// ([parameters](https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html)).
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSource {
    /// The queue's name.
    pub queue: String,
    /// The most messages in a batch.
    pub batch_size: usize,
    /// How long messages may wait for others to fill a batch.
    pub window_ms: i64,
    /// The most batches that run at once.
    pub most_at_once: Option<usize>,
    /// Whether the function names the messages that failed.
    pub reports_failures: bool,
    /// Which messages reach the function.
    pub filters: Filters,
    /// Whether it runs at all.
    pub is_enabled: bool,
}

/// An event of the type `Schedule` or `ScheduleV2`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleSource {
    /// Its name in the template.
    pub name: String,
    /// How far its runs are apart.
    pub every_ms: i64,
    /// Whether it is one of the scheduler and not a rule of the event bus.
    pub is_of_scheduler: bool,
    /// The event that the template gives, if it gives one.
    pub input: Option<Value>,
    /// Whether it runs at all.
    pub is_enabled: bool,
}

/// Refuses sources of queues that are not there, or that hide a message for a
/// shorter time than the function may take
/// ([source](https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html)).
pub(super) fn check(template: &Template) -> Result<(), TemplateError> {
    for function in &template.functions {
        for source in &function.sources {
            let queue = match source {
                Source::Stream(stream) => stream.on_failure.as_ref(),
                Source::Queue(queue) => Some(&queue.queue),
                Source::Schedule(_) => None,
            };
            let Some(queue) = queue else { continue };
            let place = format!("Resources.{}.Events", function.logical_id);
            let Some(found) = template.queues.iter().find(|found| found.name == *queue) else {
                return Err(invalid(place, format!("there is no queue {queue}")));
            };
            let hidden_s = u64::from(found.visibility_timeout_s);
            if matches!(source, Source::Queue(_)) && hidden_s < function.timeout.as_secs() {
                let problem = format!(
                    "the VisibilityTimeout of {}, {hidden_s} s, is shorter than the function's \
                     Timeout",
                    found.logical_id
                );
                return Err(invalid(place, problem));
            }
        }
    }
    Ok(())
}

impl Place<'_> {
    pub(super) fn events(
        &self,
        events: &Value,
    ) -> Result<(Vec<Route>, Vec<Source>), TemplateError> {
        let (mut routes, mut sources) = (Vec::new(), Vec::new());
        for (name, event) in entries(events) {
            let property = format!("Events.{name}");
            let kind = event["Type"].as_str().unwrap_or_default();
            if kind == "HttpApi" {
                routes.push(self.route(&property, event)?);
                continue;
            }
            let read = match kind {
                "DynamoDB" => Properties::stream,
                "SQS" => Properties::queue,
                "Schedule" => Properties::rule,
                "ScheduleV2" => Properties::schedule,
                _ => {
                    let problem = format!(
                        "the local cloud has no events of the type {}; it has HttpApi, DynamoDB, \
                         SQS, Schedule and ScheduleV2",
                        event["Type"]
                    );
                    return Err(self.invalid(&property, problem));
                }
            };
            let values = self.resolve(&property, &event["Properties"])?;
            let source = read(&Properties { name, values: &values });
            sources.push(source.map_err(|problem| self.invalid(&property, problem))?);
        }
        Ok((routes, sources))
    }

    fn route(&self, property: &str, event: &Value) -> Result<Route, TemplateError> {
        let text = |field: &str| -> Result<String, TemplateError> {
            let value = self.resolve(property, &event["Properties"][field])?;
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| self.invalid(property, format!("expected {field}")))
        };
        let (method, path) = (text("Method")?.to_uppercase(), text("Path")?);
        if path != "$default" && !path.starts_with('/') {
            let problem = format!("Path {path:?} should begin with / or be $default");
            return Err(self.invalid(property, problem));
        }
        let method =
            match method.as_str() {
                "ANY" => None,
                method => Some(method.parse().map_err(|_| {
                    self.invalid(property, format!("{method:?} is no method of HTTP"))
                })?),
            };
        let method: Option<Method> = method;
        Ok(Route { method, path })
    }
}

/// What an event says, with its intrinsic functions computed.
struct Properties<'a> {
    name: &'a str,
    values: &'a Value,
}

impl Properties<'_> {
    fn stream(&self) -> Result<Source, String> {
        self.only(&[
            "Stream",
            "StartingPosition",
            "BatchSize",
            "MaximumBatchingWindowInSeconds",
            "ParallelizationFactor",
            "MaximumRetryAttempts",
            "MaximumRecordAgeInSeconds",
            "BisectBatchOnFunctionError",
            "FunctionResponseTypes",
            "DestinationConfig",
            "FilterCriteria",
            "Enabled",
        ])?;
        let table = self.arn("Stream", ":table/")?;
        let table = table.split('/').next().unwrap_or_default();
        let from_latest = match self.values["StartingPosition"].as_str() {
            Some("TRIM_HORIZON") => false,
            Some("LATEST") => true,
            _ => return Err("StartingPosition should be TRIM_HORIZON or LATEST".to_owned()),
        };
        let most_retries = self.number("MaximumRetryAttempts", -1, -1..=10_000)?;
        let most_age_s = self.number("MaximumRecordAgeInSeconds", -1, -1..=604_800)?;
        let window_s = self.number("MaximumBatchingWindowInSeconds", 0, 0..=300)?;
        Ok(Source::Stream(StreamSource {
            table: table.to_owned(),
            from_latest,
            batch_size: self.size("BatchSize", 100, 1..=10_000)?,
            window_ms: window_s * 1_000,
            lanes: self.size("ParallelizationFactor", 1, 1..=10)?,
            most_retries: u32::try_from(most_retries).ok(),
            most_age_ms: (most_age_s >= 0).then_some(most_age_s * 1_000),
            bisects: self.flag("BisectBatchOnFunctionError", false)?,
            reports_failures: self.reports_failures()?,
            on_failure: self.on_failure()?,
            filters: self.filters()?,
            is_enabled: self.flag("Enabled", true)?,
        }))
    }

    fn queue(&self) -> Result<Source, String> {
        self.only(&[
            "Queue",
            "BatchSize",
            "MaximumBatchingWindowInSeconds",
            "FunctionResponseTypes",
            "FilterCriteria",
            "ScalingConfig",
            "Enabled",
        ])?;
        let queue = self.arn("Queue", ":sqs:")?;
        let queue = queue.rsplit(':').next().unwrap_or_default().to_owned();
        let batch_size = self.size("BatchSize", 10, 1..=10_000)?;
        let window_s = self.number("MaximumBatchingWindowInSeconds", 0, 0..=300)?;
        if queue.ends_with(".fifo") && (batch_size > 10 || window_s > 0) {
            return Err("a FIFO queue has batches of up to 10 and no batching window".to_owned());
        }
        if batch_size > 10 && window_s == 0 {
            let problem = "a BatchSize above 10 needs MaximumBatchingWindowInSeconds of 1 or more";
            return Err(problem.to_owned());
        }
        let scaling = Properties { name: self.name, values: &self.values["ScalingConfig"] };
        scaling.only(&["MaximumConcurrency"])?;
        let most_at_once = scaling.values["MaximumConcurrency"].is_null();
        let most_at_once = (!most_at_once)
            .then(|| scaling.size("MaximumConcurrency", 2, 2..=1_000))
            .transpose()?;
        Ok(Source::Queue(QueueSource {
            queue,
            batch_size,
            window_ms: window_s * 1_000,
            most_at_once,
            reports_failures: self.reports_failures()?,
            filters: self.filters()?,
            is_enabled: self.flag("Enabled", true)?,
        }))
    }

    fn rule(&self) -> Result<Source, String> {
        self.only(&[
            "Schedule",
            "Enabled",
            "State",
            "Input",
            "Name",
            "Description",
            "RetryPolicy",
            "DeadLetterConfig",
        ])?;
        self.timed("Schedule", false)
    }

    fn schedule(&self) -> Result<Source, String> {
        self.only(&[
            "ScheduleExpression",
            "State",
            "Input",
            "Name",
            "OmitName",
            "Description",
            "FlexibleTimeWindow",
            "RetryPolicy",
            "DeadLetterConfig",
            "RoleArn",
            "GroupName",
            "PermissionsBoundary",
        ])?;
        self.timed("ScheduleExpression", true)
    }

    fn timed(&self, expression: &str, is_of_scheduler: bool) -> Result<Source, String> {
        let text = self.values[expression].as_str();
        let text = text.ok_or_else(|| format!("expected {expression}"))?;
        let input = match &self.values["Input"] {
            Value::Null => None,
            Value::String(json) => {
                let input = serde_json::from_str(json);
                Some(input.map_err(|error| format!("Input is no JSON: {error}"))?)
            }
            _ => return Err("Input should be JSON in a text".to_owned()),
        };
        let is_on = match self.values["State"].as_str() {
            None | Some("ENABLED") => true,
            Some("DISABLED") => false,
            Some(other) => return Err(format!("State should be ENABLED or DISABLED, not {other}")),
        };
        Ok(Source::Schedule(ScheduleSource {
            name: self.name.to_owned(),
            every_ms: rate_ms(text)?,
            is_of_scheduler,
            input,
            is_enabled: is_on && self.flag("Enabled", true)?,
        }))
    }

    /// Refuses what is not in `known`.
    fn only(&self, known: &[&str]) -> Result<(), String> {
        match entries(self.values).find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let known = known.join(", ");
                Err(format!("the local cloud does not know {name} here; it knows {known}"))
            }
        }
    }

    /// What follows `mark` in an ARN.
    fn arn(&self, field: &str, mark: &str) -> Result<&str, String> {
        let arn = self.values[field].as_str().unwrap_or_default();
        let found = arn.split_once(mark).filter(|_| arn.starts_with("arn:"));
        let attribute = if field == "Stream" { "StreamArn" } else { "Arn" };
        let (_, rest) =
            found.ok_or_else(|| format!("expected {field}: !GetAtt <resource>.{attribute}"))?;
        Ok(rest)
    }

    fn number(
        &self,
        field: &str,
        default: i64,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<i64, String> {
        let number = match &self.values[field] {
            Value::Null => Some(default),
            Value::String(text) => text.parse().ok(), // the default of a parameter
            value => value.as_i64(),
        };
        let number = number.filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!("{field} should be a number from {} to {}", range.start(), range.end())
        })
    }

    fn size(
        &self,
        field: &str,
        default: i64,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<usize, String> {
        let number = self.number(field, default, range)?;
        usize::try_from(number).map_err(|_| format!("{field} should not be negative"))
    }

    fn flag(&self, field: &str, default: bool) -> Result<bool, String> {
        match &self.values[field] {
            Value::Null => Ok(default),
            value => value.as_bool().ok_or_else(|| format!("{field} should be true or false")),
        }
    }

    fn reports_failures(&self) -> Result<bool, String> {
        match &self.values["FunctionResponseTypes"] {
            Value::Null => Ok(false),
            Value::Array(list) if list.is_empty() => Ok(false),
            Value::Array(list) if list.iter().all(|one| one == "ReportBatchItemFailures") => {
                Ok(true)
            }
            _ => Err("FunctionResponseTypes should be [ReportBatchItemFailures]".to_owned()),
        }
    }

    fn on_failure(&self) -> Result<Option<String>, String> {
        let config = &self.values["DestinationConfig"];
        if config.is_null() {
            return Ok(None);
        }
        let arn = config["OnFailure"]["Destination"].as_str().unwrap_or_default();
        let queue = arn.split_once(":sqs:").and_then(|(_, rest)| rest.rsplit(':').next());
        let problem = "DestinationConfig.OnFailure.Destination should be a queue's ARN";
        let queue = queue.ok_or_else(|| problem.to_owned())?;
        if queue.ends_with(".fifo") {
            return Err("DestinationConfig: Lambda sends to no FIFO queue".to_owned());
        }
        Ok(Some(queue.to_owned()))
    }

    fn filters(&self) -> Result<Filters, String> {
        let criteria = &self.values["FilterCriteria"];
        if criteria.is_null() {
            return Ok(Filters::default());
        }
        let expected = || "FilterCriteria should have Filters, each with a Pattern".to_owned();
        let filters = criteria["Filters"].as_array().ok_or_else(expected)?;
        let patterns = filters.iter().map(|filter| filter["Pattern"].as_str());
        let patterns = patterns.collect::<Option<Vec<_>>>().ok_or_else(expected)?;
        if patterns.len() > MOST_FILTERS {
            return Err(format!("a source has at most {MOST_FILTERS} filters"));
        }
        Filters::parse(patterns)
    }
}

/// The milliseconds of an expression like `rate(5 minutes)`.
fn rate_ms(expression: &str) -> Result<i64, String> {
    let rate = expression.strip_prefix("rate(").and_then(|rest| rest.strip_suffix(')'));
    let parts: Option<(i64, &str)> = rate
        .and_then(|rate| rate.split_once(' '))
        .and_then(|(count, unit)| Some((count.parse().ok().filter(|count| *count > 0)?, unit)));
    let ms = parts.and_then(|(count, unit)| {
        let unit_ms = match unit {
            "minute" | "minutes" => 60_000,
            "hour" | "hours" => 3_600_000,
            "day" | "days" => 86_400_000,
            _ => return None,
        };
        count.checked_mul(unit_ms)
    });
    ms.ok_or_else(|| {
        format!(
            "{expression:?} is no schedule that the local cloud keeps; it keeps \
             rate(<number> minutes), rate(<number> hours) and rate(<number> days)"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::template::{Source, Template};

    const HEAD: &str = "
Parameters:
  Size: { Type: Number, Default: 25 }
Resources:
  ThingsTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{ AttributeName: pk, AttributeType: S }]
      KeySchema: [{ AttributeName: pk, KeyType: HASH }]
      StreamSpecification: { StreamViewType: NEW_IMAGE }
  StillTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{ AttributeName: pk, AttributeType: S }]
      KeySchema: [{ AttributeName: pk, KeyType: HASH }]
  EventsQueue: { Type: AWS::SQS::Queue }
  ShortQueue: { Type: AWS::SQS::Queue, Properties: { VisibilityTimeout: 2 } }
  OrderedQueue: { Type: AWS::SQS::Queue, Properties: { FifoQueue: true } }
  Work:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub '${AWS::StackName}-work'
      Events:
        Call:
";

    fn sources(kind: &str, properties: &str) -> Result<Vec<Source>, String> {
        let text =
            format!("{HEAD}          Type: {kind}\n          Properties: {{ {properties} }}\n");
        let template = Template::parse(&text).map_err(|error| error.to_string())?;
        Ok(template.functions[0].sources.clone())
    }

    const QUEUE: &str = "Queue: !GetAtt EventsQueue.Arn";
    const STREAM: &str = "Stream: !GetAtt ThingsTable.StreamArn, StartingPosition: TRIM_HORIZON";

    #[test]
    fn a_stream_has_what_lambda_takes_where_nothing_is_said() {
        let read = sources("DynamoDB", STREAM).unwrap();
        let [Source::Stream(stream)] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((stream.table.as_str(), stream.from_latest), ("Things", false));
        assert_eq!((stream.batch_size, stream.window_ms, stream.lanes), (100, 0, 1));
        assert_eq!((stream.most_retries, stream.most_age_ms), (None, None));
        assert!(!stream.bisects && !stream.reports_failures && stream.is_enabled);
        assert!(stream.filters.is_empty() && stream.on_failure.is_none());
    }

    #[test]
    fn a_stream_has_what_the_template_says() {
        let said = "Stream: !GetAtt ThingsTable.StreamArn, StartingPosition: LATEST, \
            BatchSize: !Ref Size, MaximumBatchingWindowInSeconds: 2, ParallelizationFactor: 10, \
            MaximumRetryAttempts: 0, MaximumRecordAgeInSeconds: 60, \
            BisectBatchOnFunctionError: true, FunctionResponseTypes: [ReportBatchItemFailures], \
            DestinationConfig: { OnFailure: { Destination: !GetAtt ShortQueue.Arn } }, \
            FilterCriteria: { Filters: [{ Pattern: '{\"eventName\": [\"INSERT\"]}' }] }, \
            Enabled: false";
        let read = sources("DynamoDB", said).unwrap();
        let [Source::Stream(stream)] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((stream.from_latest, stream.lanes), (true, 10));
        assert_eq!((stream.batch_size, stream.window_ms), (25, 2_000));
        assert_eq!((stream.most_retries, stream.most_age_ms), (Some(0), Some(60_000)));
        assert!(stream.bisects && stream.reports_failures && !stream.is_enabled);
        assert_eq!(stream.on_failure.as_deref(), Some("Short"));
        assert!(stream.filters.pass(&serde_json::json!({ "eventName": "INSERT" })));
        assert!(!stream.filters.pass(&serde_json::json!({ "eventName": "MODIFY" })));
    }

    #[test]
    fn a_queue_and_a_schedule_have_what_the_template_says() {
        let said = format!(
            "{QUEUE}, BatchSize: 20, MaximumBatchingWindowInSeconds: 1, \
             ScalingConfig: {{ MaximumConcurrency: 3 }}"
        );
        let read = sources("SQS", &said).unwrap();
        let [Source::Queue(queue)] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((queue.queue.as_str(), queue.batch_size), ("Events", 20));
        assert_eq!((queue.window_ms, queue.most_at_once), (1_000, Some(3)));
        for (kind, said, every_ms, is_enabled) in [
            ("Schedule", "Schedule: rate(1 minute)", 60_000, true),
            ("Schedule", "Schedule: rate(2 hours), Enabled: false", 7_200_000, false),
            ("ScheduleV2", "ScheduleExpression: rate(3 days)", 259_200_000, true),
            ("ScheduleV2", "ScheduleExpression: rate(1 day), State: DISABLED", 86_400_000, false),
        ] {
            let read = sources(kind, said).unwrap();
            let [Source::Schedule(schedule)] = read.as_slice() else { panic!("{read:?}") };
            assert_eq!((schedule.every_ms, schedule.is_enabled), (every_ms, is_enabled), "{said}");
            assert_eq!(schedule.is_of_scheduler, kind == "ScheduleV2");
        }
    }

    #[test]
    fn a_queue_must_be_there_and_hide_a_message_while_the_function_runs() {
        let error = sources("SQS", "Queue: !GetAtt ShortQueue.Arn").unwrap_err();
        assert!(error.contains("ShortQueue") && error.contains("VisibilityTimeout"), "{error}");
        let error = sources("SQS", "Queue: 'arn:aws:sqs:us-east-1:1:Other'").unwrap_err();
        assert!(error.contains("Resources.Work.Events") && error.contains("Other"), "{error}");
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_place() {
        let stream = |more: &str| format!("{STREAM}, {more}");
        let queue = |more: &str| format!("{QUEUE}, {more}");
        for (kind, said, problem) in [
            ("DynamoDB", "StartingPosition: LATEST".into(), "!GetAtt"),
            ("DynamoDB", "Stream: !GetAtt StillTable.StreamArn".into(), "has no stream"),
            ("DynamoDB", "Stream: !GetAtt ThingsTable.StreamArn".into(), "StartingPosition"),
            ("DynamoDB", stream("TumblingWindowInSeconds: 5"), "TumblingWindowInSeconds"),
            ("DynamoDB", stream("BatchSize: 0"), "BatchSize"),
            ("DynamoDB", stream("ParallelizationFactor: 11"), "ParallelizationFactor"),
            ("DynamoDB", stream("Enabled: maybe"), "Enabled"),
            ("DynamoDB", stream("FunctionResponseTypes: [Other]"), "FunctionResponseTypes"),
            ("DynamoDB", stream("FilterCriteria: { Filters: [{ Pattern: '{' }] }"), "no JSON"),
            ("DynamoDB", stream("FilterCriteria: { Filters: [x] }"), "Pattern"),
            ("DynamoDB", stream("DestinationConfig: { OnFailure: {} }"), "queue's ARN"),
            ("SQS", "BatchSize: 1".into(), "!GetAtt"),
            ("SQS", queue("BatchSize: 11"), "MaximumBatchingWindowInSeconds"),
            ("SQS", queue("ScalingConfig: { MaximumConcurrency: 1 }"), "MaximumConcurrency"),
            ("SQS", "Queue: !GetAtt OrderedQueue.Arn, BatchSize: 11".into(), "FIFO"),
            ("Schedule", "Schedule: cron(0 * * * ? *)".into(), "rate(<number> minutes)"),
            ("Schedule", "Schedule: rate(0 minutes)".into(), "rate(0 minutes)"),
            ("ScheduleV2", "ScheduleExpression: rate(1 minute), Input: '{'".into(), "no JSON"),
            ("Kinesis", "Stream: x".into(), "Kinesis"),
        ] {
            let error = sources(kind, &said).unwrap_err();
            assert!(error.contains("Resources.Work.Events.Call"), "{said}: {error}");
            assert!(error.contains(problem), "{said}: {error}");
        }
    }
}
