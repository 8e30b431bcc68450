//! What the template must hold for every function, and nothing besides.

use std::collections::{BTreeMap, BTreeSet};

use local::permissions::RECORD;
use local::template::{Source, Template};
use serde_json::{Value, json};

/// Functions that no event runs: administrators invoke them.
const INVOKED_BY_ADMINISTRATORS: &[&str] = &["set-role"];

fn template() -> Template {
    Template::of_checkout().unwrap()
}

#[test]
fn every_function_has_what_runs_it() {
    for function in template().functions {
        let is_run = !function.routes.is_empty() || !function.sources.is_empty();
        let is_invoked = INVOKED_BY_ADMINISTRATORS.contains(&function.name.as_str());
        assert!(is_run != is_invoked, "{}: no event runs it, or it needs none", function.name);
    }
}

/// The resources of one type, by their logical ids.
fn of_type<'a>(resources: &'a Value, kind: &str) -> Vec<(&'a str, &'a Value)> {
    let all = resources.as_object().unwrap().iter();
    let wanted = all.filter(|(_, resource)| resource["Type"] == kind);
    wanted.map(|(id, resource)| (id.as_str(), &resource["Properties"])).collect()
}

/// A metric that is watched: its name, and the resource that has it.
type Watched = (String, String);

/// The metrics that alarms watch, each as often as it is watched. A metric with
/// an alarm of its own stands in the alarm, others in a list.
fn watched(resources: &Value) -> Vec<Watched> {
    let mut watched = Vec::new();
    for (id, alarm) in of_type(resources, "AWS::CloudWatch::Alarm") {
        assert_eq!(alarm["AlarmActions"], json!([{ "Ref": "Alarms" }]), "{id}");
        let listed = alarm["Metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
        let listed = listed.iter().map(|query| &query["MetricStat"]["Metric"]);
        let metrics: Vec<_> =
            listed.chain([alarm]).filter(|m| m["MetricName"].is_string()).collect();
        assert!((1..=10).contains(&metrics.len()), "{id} watches {} metrics", metrics.len());
        for metric in metrics {
            let of = &metric["Dimensions"][0]["Value"];
            let of = of["Ref"].as_str().or(of["Fn::GetAtt"].as_str()).unwrap();
            let of = of.split('.').next().unwrap().to_owned();
            watched.push((metric["MetricName"].as_str().unwrap().to_owned(), of));
        }
    }
    watched
}

#[test]
fn alarms_watch_every_function_stream_and_queue() {
    let template = template();
    let watched = watched(&template.resources);
    let assert_watched = |metric: &str, of: &str| {
        let times = watched.iter().filter(|(name, id)| name == metric && id == of).count();
        assert_eq!(times, 1, "alarms on {metric} of {of}");
    };
    for function in &template.functions {
        assert_watched("Errors", &function.logical_id);
        assert_watched("Throttles", &function.logical_id);
        if function.sources.iter().any(|source| matches!(source, Source::Stream(_))) {
            assert_watched("IteratorAge", &function.logical_id);
        }
    }
    for queue in &template.queues {
        match queue.redrive {
            Some(_) => assert_watched("ApproximateAgeOfOldestMessage", &queue.logical_id),
            None => assert_watched("ApproximateNumberOfMessagesVisible", &queue.logical_id),
        }
    }
    assert_watched("5xx", "Api");
}

#[test]
fn the_dashboard_shows_every_function_table_and_queue() {
    let template = template();
    let dashboards = of_type(&template.resources, "AWS::CloudWatch::Dashboard");
    let body = dashboards[0].1["DashboardBody"]["Fn::Sub"].as_str().unwrap();
    let widgets = &serde_json::from_str::<Value>(body).unwrap()["widgets"];
    let shown = |name: &str| widgets.to_string().matches(&format!("${{{name}}}")).count();
    for function in &template.functions {
        assert_eq!(shown(&function.logical_id) / 4, 1, "{}", function.logical_id);
    }
    for table in &template.tables {
        assert_eq!(shown(&table.logical_id), 4, "{}", table.logical_id);
    }
    for queue in &template.queues {
        assert!(shown(&format!("{}.QueueName", queue.logical_id)) > 0, "{}", queue.logical_id);
    }
}

#[test]
fn every_function_logs_where_logs_end() {
    let resources = template().resources;
    let groups = of_type(&resources, "AWS::Logs::LogGroup");
    for (id, group) in &groups {
        assert_eq!(group["RetentionInDays"], json!({ "Ref": "LogRetentionDays" }), "{id}");
    }
    for (id, function) in of_type(&resources, "AWS::Serverless::Function") {
        let group = &function["LoggingConfig"]["LogGroup"]["Ref"];
        assert!(groups.iter().any(|(id, _)| group == id), "{id} logs into {group}");
    }
}

#[test]
fn every_table_and_queue_keeps_what_it_is_given() {
    let resources = template().resources;
    let tables = of_type(&resources, "AWS::DynamoDB::Table");
    for (id, table) in &tables {
        let kept = &resources[id]["DeletionPolicy"];
        assert_eq!((kept, &resources[id]["UpdateReplacePolicy"]), (&json!("Retain"), kept), "{id}");
        assert_eq!(table["BillingMode"], "PAY_PER_REQUEST", "{id}");
        assert_eq!(table["DeletionProtectionEnabled"], true, "{id}");
        let recovery = &table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
        assert_eq!((recovery, &table["SSESpecification"]["SSEEnabled"]), (&json!(true), recovery));
        assert_eq!(table["TimeToLiveSpecification"]["AttributeName"], "expires_at_s", "{id}");
    }
    for (id, queue) in of_type(&resources, "AWS::SQS::Queue") {
        assert_eq!(queue["FifoThroughputLimit"], "perMessageGroupId", "{id}");
        assert_eq!(queue["DeduplicationScope"], "messageGroup", "{id}");
        assert_eq!(queue["SqsManagedSseEnabled"], true, "{id}");
    }
}

/// `cargo lambda watch` answers what the API does, as `Cargo.toml` tells it.
#[test]
fn the_routes_for_cargo_lambda_are_those_of_the_template() {
    let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for function in template().functions {
        for route in &function.routes {
            let method = route.method.as_ref().map_or("ANY", |method| method.as_str());
            let line = format!(r#"{{ method = "{method}", function = "{}" }}"#, function.name);
            paths.entry(route.path.clone()).or_default().insert(line);
        }
    }
    let wanted = paths.into_iter().map(|(path, routes)| {
        let routes: Vec<_> = routes.into_iter().collect();
        if path == "$default" {
            return r#""/{*path}" = "not-found""#.to_owned();
        }
        format!(r#""{path}" = [{}]"#, routes.join(", "))
    });
    let wanted: BTreeSet<String> = wanted.collect();
    let manifest = std::fs::read_to_string(suites::project().join("Cargo.toml")).unwrap();
    let (_, rest) = manifest.split_once("[workspace.metadata.lambda.watch.router]\n").unwrap();
    let (section, _) = rest.split_once("\n\n").unwrap();
    let there: BTreeSet<String> = section.lines().map(str::to_owned).collect();
    let differences: Vec<_> = there.symmetric_difference(&wanted).collect();
    assert!(differences.is_empty(), "Cargo.toml has these wrongly or not: {differences:#?}");
}

/// A stack holds 500 resources. This is what SAM's transform makes of ours: a
/// function brings a role, a route a permission, a schedule a role of its own.
#[test]
fn the_stack_stays_clear_of_its_most_resources() {
    const MOST: usize = 450;
    let template = template();
    let mut count = 0;
    for resource in template.resources.as_object().unwrap().values() {
        count += match resource["Type"].as_str().unwrap() {
            "AWS::Serverless::Function" | "AWS::Serverless::HttpApi" => 2, // its role, or its stage
            other => {
                assert!(!other.starts_with("AWS::Serverless"), "{other}: what does it bring?");
                1
            }
        };
    }
    for function in &template.functions {
        count += function.routes.len();
        count += function.sources.iter().fold(0, |count, source| {
            count + if matches!(source, Source::Schedule(_)) { 2 } else { 1 }
        });
    }
    assert!((270..MOST).contains(&count), "{count} resources");
}

/// Every call that a function makes in any test passes its policies, or the test
/// fails. So what remains is to find those that no test needs.
#[test]
#[ignore = "needs a record of all tests: HOTSEAT_PERMISSIONS_USED=$(mktemp -d), as in .ci/run"]
fn no_policy_allows_what_no_test_does() {
    let folder = std::env::var_os(RECORD).expect("HOTSEAT_PERMISSIONS_USED names a folder");
    let mut used = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a record");
        used.extend(text.lines().map(str::to_owned));
    }
    let allowed = template().functions.into_iter().flat_map(|function| {
        let name = function.name;
        let permissions = function.permissions.into_iter();
        permissions
            .map(move |permission| format!("{name} {} {}", permission.action, permission.resource))
    });
    let superfluous: Vec<_> = allowed.filter(|line| !used.contains(line)).collect();
    assert!(superfluous.is_empty(), "no test needs\n{}", superfluous.join("\n"));
}
