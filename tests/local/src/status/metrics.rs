//! Figures in Prometheus' text format, version 0.0.4
//! ([format](https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format),
//! [names](https://prometheus.io/docs/practices/naming/)).

use std::fmt::Write;

use crate::cloud::Cloud;

/// The type of the text.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Summary,
}

/// Figures of one name.
struct Metric {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    samples: Vec<Sample>,
}

struct Sample {
    /// What follows the metric's name.
    part: &'static str,
    labels: Vec<(&'static str, String)>,
    value: f64,
}

impl Metric {
    fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, help, kind, samples: Vec::new() }
    }

    fn add(&mut self, labels: &[(&'static str, &str)], value: f64) {
        self.add_part("", labels, value);
    }

    fn add_part(&mut self, part: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned()));
        self.samples.push(Sample { part, labels: labels.collect(), value });
    }

    fn write(&self, text: &mut String) {
        let kind = match self.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Summary => "summary",
        };
        let (name, help) = (self.name, escape_help(self.help));
        let _ = writeln!(text, "# HELP {name} {help}"); // writing to a text cannot fail
        let _ = writeln!(text, "# TYPE {name} {kind}");
        for Sample { part, labels, value } in &self.samples {
            let labels: Vec<_> = labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escape_label(value)))
                .collect();
            let labels =
                if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(text, "{name}{part}{labels} {value}");
        }
    }
}

/// All figures of a cloud.
pub(super) fn write(cloud: &Cloud) -> String {
    let metrics = [functions(cloud), queues(cloud), sources(cloud)];
    let mut text = String::new();
    for metric in metrics.iter().flatten() {
        metric.write(&mut text);
    }
    text
}

fn functions(cloud: &Cloud) -> Vec<Metric> {
    use Kind::{Counter, Gauge, Summary};
    let mut requests =
        Metric::new("hotseat_function_requests_total", Counter, "Invocations by their status.");
    let mut duration =
        Metric::new("hotseat_function_duration_seconds", Summary, "How long invocations took.");
    let mut environments =
        Metric::new("hotseat_function_environments", Gauge, "Execution environments.");
    let mut calls = Metric::new("hotseat_dynamodb_calls_total", Counter, "Calls of DynamoDB.");
    let mut units = Metric::new(
        "hotseat_dynamodb_capacity_units_total",
        Counter,
        "Capacity units that DynamoDB reported.",
    );
    let mut open = Metric::new(
        "hotseat_dynamodb_open_writes_total",
        Counter,
        "Writes of unknown outcome, and writes that were dropped.",
    );
    for pool in cloud.pools() {
        let (statistics, running) = pool.statistics();
        let function = ("function", pool.name());
        for (status, count) in statistics.statuses() {
            requests.add(&[function, ("status", &status.to_string())], *count as f64);
        }
        for (quantile, seconds) in statistics.latency_s() {
            duration.add(&[function, ("quantile", quantile)], seconds);
        }
        duration.add_part("_sum", &[function], statistics.total_s());
        duration.add_part("_count", &[function], statistics.requests() as f64);
        environments.add(&[function], running as f64);
        let usage = statistics.usage();
        for one in &usage.calls {
            let labels = [function, ("table", one.table.as_str()), ("action", one.action)];
            calls.add(&labels, one.count as f64);
        }
        for (kind, amount) in [("read", usage.read_units), ("write", usage.write_units)] {
            units.add(&[function, ("kind", kind)], amount);
        }
        let (unknown, dropped) = (usage.unknown_outcomes, usage.dropped_writes);
        for (kind, count) in [("unknown", unknown), ("dropped", dropped)] {
            open.add(&[function, ("kind", kind)], count as f64);
        }
    }
    vec![requests, duration, environments, calls, units, open]
}

fn queues(cloud: &Cloud) -> Vec<Metric> {
    let mut messages =
        Metric::new("hotseat_queue_messages", Kind::Gauge, "Messages in a queue by their state.");
    let mut age = Metric::new(
        "hotseat_queue_oldest_message_age_seconds",
        Kind::Gauge,
        "How long ago a queue's oldest message was sent; 0 if it is empty.",
    );
    let now = cloud.now();
    for name in cloud.queues().names() {
        let depth = cloud.queues().depth(&name);
        let queue = ("queue", name.as_str());
        for (state, count) in
            [("visible", depth.visible), ("in_flight", depth.in_flight), ("delayed", depth.delayed)]
        {
            messages.add(&[queue, ("state", state)], count as f64);
        }
        let age_ms = depth.oldest_sent_at.map_or(0, |at| now.as_millis() - at.as_millis());
        age.add(&[queue], age_ms as f64 / 1000.0);
    }
    vec![messages, age]
}

fn sources(cloud: &Cloud) -> Vec<Metric> {
    use Kind::{Counter, Gauge};
    let mut batches = Metric::new(
        "hotseat_source_batches_total",
        Counter,
        "Batches that a source handed to its function.",
    );
    let mut records = Metric::new(
        "hotseat_source_records_total",
        Counter,
        "Records in those batches, each as often as it was handed over.",
    );
    let mut failures = Metric::new(
        "hotseat_source_failures_total",
        Counter,
        "Batches of which not every record succeeded.",
    );
    let mut dropped =
        Metric::new("hotseat_source_dropped_total", Counter, "Records that were given up.");
    let mut filtered =
        Metric::new("hotseat_source_filtered_total", Counter, "Records that no filter let pass.");
    for (name, counts) in cloud.sources().counts() {
        let labels = source_labels(name);
        for (metric, count) in [
            (&mut batches, counts.batches),
            (&mut records, counts.records),
            (&mut failures, counts.failures),
            (&mut dropped, counts.dropped),
            (&mut filtered, counts.filtered),
        ] {
            metric.add(&labels, count as f64);
        }
    }
    let mut lag = Metric::new(
        "hotseat_stream_lag_records",
        Gauge,
        "Records of a stream that its reader has not passed.",
    );
    let mut age = Metric::new(
        "hotseat_stream_lag_seconds",
        Gauge,
        "How old the oldest of those records is; 0 without any.",
    );
    for (name, behind) in cloud.sources().lags() {
        let labels = source_labels(name);
        lag.add(&labels, behind.records as f64);
        age.add(&labels, behind.oldest_age_s as f64);
    }
    vec![batches, records, failures, dropped, filtered, lag, age]
}

/// A source's name is its function's and that of what it reads.
fn source_labels(name: &str) -> [(&'static str, &str); 2] {
    let (function, source) = name.split_once(' ').unwrap_or((name, ""));
    [("function", function), ("source", source)]
}

fn escape_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn escape_label(text: &str) -> String {
    escape_help(text).replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::Options;

    #[tokio::test]
    async fn every_figure_has_its_help_and_type_and_the_form_of_the_format() {
        let options = Options { sample_data: true, ..Options::default() };
        let cloud = Cloud::start(options).await.unwrap();
        let text = cloud.metrics();
        assert!(text.ends_with('\n'));
        let mut described: Option<(String, String)> = None;
        let mut names = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap();
                assert!(!help.is_empty() && !names.contains(&name), "{line}");
                names.push(name);
                let kind = lines.next().unwrap().strip_prefix("# TYPE ").unwrap();
                let (of, kind) = kind.split_once(' ').unwrap();
                assert_eq!(of, name);
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                described = Some((name.to_owned(), kind.to_owned()));
                continue;
            }
            let (name, kind) = described.as_ref().unwrap();
            let (sample, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            let (sampled, labels) = sample.split_once('{').unwrap();
            let part = sampled.strip_prefix(name.as_str()).unwrap();
            assert!(part.is_empty() || kind == "summary" && ["_sum", "_count"].contains(&part));
            assert!(labels.ends_with("\"}"), "{line}");
        }
        assert!(names.len() >= 14, "{names:?}");
        let put = r#"hotseat_function_requests_total{function="put-course",status="201"} 6"#;
        assert!(text.lines().any(|line| line == put), "{text}");
        let count = r#"hotseat_function_duration_seconds_count{function="put-course"} 6"#;
        assert!(text.lines().any(|line| line == count), "{text}");
        let write = r#"hotseat_dynamodb_capacity_units_total{function="put-student",kind="write"}"#;
        assert!(text.lines().any(|line| line.starts_with(write) && !line.ends_with(" 0")));
    }

    #[test]
    fn labels_and_help_are_escaped() {
        let mut metric = Metric::new("things", Kind::Gauge, "one\ntwo \\ \"three\"");
        metric.add(&[("name", "a\"b\\c\nd"), ("other", "é")], 1.5);
        let mut text = String::new();
        metric.write(&mut text);
        let expected = "# HELP things one\\ntwo \\\\ \"three\"\n# TYPE things gauge\n\
                        things{name=\"a\\\"b\\\\c\\nd\",other=\"é\"} 1.5\n";
        assert_eq!(text, expected);
    }
}
