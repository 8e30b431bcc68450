//! What happened in a cloud so far: as JSON, as figures for Prometheus, and as
//! a page for people.

mod metrics;

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use crate::cloud::Cloud;
pub(crate) use metrics::CONTENT_TYPE as METRICS_TYPE;

/// The page. It loads nothing but `/_local/status.json`.
pub(crate) const PAGE: &str = include_str!("status/page.html");

impl Cloud {
    /// What happened so far, as `/_local/status.json` shows it.
    pub fn status(&self) -> Value {
        let mut functions = BTreeMap::new();
        let tables = self.tables().iter().map(|name| (name.clone(), 0));
        let mut calls: BTreeMap<String, u64> = tables.collect();
        for pool in self.pools() {
            let (statistics, environments) = pool.statistics();
            functions.insert(pool.name(), statistics.to_json(environments));
            for (table, count) in statistics.calls_by_table() {
                *calls.entry(table.to_owned()).or_default() += count;
            }
        }
        let tables = calls.into_iter();
        let tables: BTreeMap<_, _> = tables.map(|(t, n)| (t, json!({ "calls": n }))).collect();
        let mut status = json!({
            "functions": functions,
            "tables": tables,
            "queues": self.queues().status(),
            "sources": self.sources().counts(),
            "stream_lag": self.sources().lags(),
            "hottest_keys": self.hottest_keys(),
        });
        if let Some(limited) = self.limited() {
            status["limits"] = limited;
        }
        status
    }

    /// The same figures in Prometheus' text format.
    pub fn metrics(&self) -> String {
        metrics::write(self)
    }

    /// Whether `/` is free for the page: the API has no route of its own there.
    pub(crate) fn shows_page(&self) -> bool {
        self.route_key(&Method::GET, "/").is_none_or(|key| key == "$default")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::Options;
    use crate::template::Template;

    /// Whether the page is shown where a function takes these requests.
    fn shows_page(method: &str, path: &str) -> bool {
        let text = format!(
            "Resources:\n  Work:\n    Type: AWS::Serverless::Function\n    Properties:\n      \
             FunctionName: !Sub '${{AWS::StackName}}-work'\n      Events:\n        \
             Call: {{ Type: HttpApi, Properties: {{ Method: {method}, Path: {path} }} }}\n"
        );
        let work = platform::Function::http("work", |_, _| {
            Box::pin(async { Ok(platform::Reply::no_content()) })
        });
        let template = Template::parse(&text).unwrap();
        Cloud::assemble(Options::default(), &template, &[work]).unwrap().shows_page()
    }

    #[tokio::test]
    async fn the_page_leaves_an_api_its_own_root() {
        assert!(shows_page("GET", "/things"));
        assert!(shows_page("ANY", "$default"));
        assert!(shows_page("POST", "/"));
        assert!(!shows_page("GET", "/"));
        assert!(!shows_page("ANY", "/"));
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        for mark in ["http:", "https:", "//", "src=", "@import", "url("] {
            let found = PAGE.lines().find(|line| line.contains(mark));
            assert_eq!(found, None, "{mark}");
        }
        let fetched = PAGE.matches("fetch(").count();
        assert_eq!((fetched, PAGE.contains("fetch(\"/_local/status.json\"")), (1, true));
    }

    #[test]
    fn every_table_of_the_page_says_what_it_shows() {
        let count = |mark: &str| PAGE.matches(mark).count();
        assert_eq!(count("<table"), 4);
        assert_eq!((count("<caption"), count("<tbody>")), (4, 4));
        assert_eq!(count("<th "), count("<th scope=\"col\">"));
        assert!(PAGE.contains("<html lang=\"en\">") && PAGE.contains("role=\"status\""));
        assert!(PAGE.contains("prefers-color-scheme: dark"));
    }

    #[tokio::test]
    async fn the_status_has_every_part_that_the_page_reads() {
        let cloud = Cloud::start(Options::default()).await.unwrap();
        let status = cloud.status();
        for part in ["functions", "tables", "queues", "sources", "stream_lag", "hottest_keys"] {
            assert!(status[part].is_object(), "{part}");
        }
        let function = status["functions"]["health"].as_object().unwrap();
        for field in ["requests", "statuses", "latency_ms", "environments", "calls", "read_units"] {
            assert!(function.contains_key(field), "{field}");
        }
    }
}
