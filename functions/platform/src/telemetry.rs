//! Logs and metrics.
//!
//! A log line is one JSON object with the request's id, trace and function. It
//! holds codes and causes, never tokens, bodies or names, whatever `RUST_LOG`
//! asks for. Metrics are a line in CloudWatch's
//! [embedded metric format](https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html),
//! so that no request waits for a metrics call.

use std::io::Write as _;

use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{EnvFilter, FilterExt, filter_fn};
use tracing_subscriber::layer::{Filter, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::clock::Instant;
use crate::lambda::{Failed, Outcome};

/// The crates whose log lines show no body, at any level: our own.
pub const OURS: &[&str] = &[
    "announcement",
    "blog",
    "docs",
    "enrollment",
    "identity",
    "local",
    "notification",
    "platform",
    "schedule",
    "ticketing",
];

/// Sends logs to standard output as Lambda collects them. `RUST_LOG` sets the
/// level, `info` by default.
pub fn log_as_json() {
    let layer = tracing_subscriber::fmt::layer().json().with_target(false);
    tracing_subscriber::registry().with(layer.with_filter(filter_of_process("info"))).init();
}

/// What is logged: what `RUST_LOG` says, or else `default`, within what
/// [`capped`] permits.
pub fn filter_of_process<S>(default: &str) -> impl Filter<S> + use<S> {
    capped(EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default)))
}

/// What `filter` lets through, without what crates other than [`OURS`] say below
/// the level `info`: there the SDK, the Lambda runtime and the emulator write
/// requests and responses out, with passwords, tokens, names and all.
pub fn capped<S>(filter: EnvFilter) -> impl Filter<S> + use<S> {
    let is_permitted =
        filter_fn(|line| *line.level() <= LevelFilter::INFO || is_ours(line.target()));
    // Without this hint every level would count as wanted.
    filter.and(is_permitted.with_max_level_hint(LevelFilter::TRACE))
}

fn is_ours(target: &str) -> bool {
    OURS.contains(&target.split("::").next().unwrap_or(target))
}

/// Writes the metrics of one request to standard output.
pub fn write_metrics(function: &str, outcome: &Outcome, now: Instant) {
    write(&metrics(function, outcome, outcome.response.status().as_u16(), now));
}

/// Writes the metrics of one event to standard output. One that failed counts
/// as a failure of ours: whatever sent it will send it again.
pub fn write_event_metrics(function: &str, outcome: &Outcome<Result<Value, Failed>>, now: Instant) {
    let status = if outcome.response.is_ok() { 200 } else { 500 };
    write(&metrics(function, outcome, status, now));
}

fn write(metrics: &Value) {
    let mut line = metrics.to_string();
    line.push('\n');
    // Standard output is the only way out of Lambda; if it is closed, nobody listens.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

fn metrics<T>(function: &str, outcome: &Outcome<T>, status: u16, now: Instant) -> Value {
    json!({
        "_aws": {
            "Timestamp": now.as_millis(),
            "CloudWatchMetrics": [{
                "Namespace": "hotseat",
                "Dimensions": [["function"]],
                "Metrics": [
                    { "Name": "Duration", "Unit": "Milliseconds" },
                    { "Name": "Refusals", "Unit": "Count" },
                    { "Name": "Failures", "Unit": "Count" },
                    { "Name": "DynamoDbCalls", "Unit": "Count" },
                    { "Name": "ReadUnits", "Unit": "Count" },
                    { "Name": "WriteUnits", "Unit": "Count" },
                    { "Name": "UnknownOutcomes", "Unit": "Count" },
                    { "Name": "DroppedWrites", "Unit": "Count" },
                ],
            }],
        },
        "function": function,
        "status": status,
        "Duration": outcome.took.as_secs_f64() * 1000.0,
        "Refusals": u8::from((400..500).contains(&status)),
        "Failures": u8::from(status >= 500),
        "DynamoDbCalls": outcome.usage.total_calls(),
        "ReadUnits": outcome.usage.read_units,
        "WriteUnits": outcome.usage.write_units,
        "UnknownOutcomes": outcome.usage.unknown_outcomes,
        "DroppedWrites": outcome.usage.dropped_writes,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::meter::Meter;

    #[test]
    fn every_metric_that_is_declared_has_a_value() {
        let meter = Meter::default();
        meter.called("Enrollment", "Query");
        meter.read(2.5);
        let took = Duration::from_micros(1_500);
        let outcome = Outcome { response: (), usage: meter.take(), took };
        let line = metrics("enroll", &outcome, 409, Instant::from_millis(7));
        let declared = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
        for metric in declared {
            assert!(line[metric["Name"].as_str().unwrap()].is_number(), "{metric}");
        }
        assert_eq!(line["_aws"]["Timestamp"], 7);
        assert_eq!((&line["Refusals"], &line["Failures"]), (&json!(1), &json!(0)));
        assert_eq!((&line["Duration"], &line["ReadUnits"]), (&json!(1.5), &json!(2.5)));
    }
}
