//! The command `cargo load`, as a terminal and its scripts see it.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const LOAD: &str = env!("CARGO_BIN_EXE_load");

fn load(arguments: &[&str]) -> Output {
    Command::new(LOAD).args(arguments).output().expect("it runs")
}

/// The cloud that a run starts in a process of its own. Killed when the test is
/// through with it.
struct Cloud {
    process: Child,
    address: String,
}

impl Cloud {
    fn start(port: &str, folder: &Path) -> Self {
        let mut process = Command::new(LOAD)
            .args(["serve-cloud", "--environments", "2", "--seed", "1", "--port", port])
            .arg("--data-dir")
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let lines = output.lines().map(|line| line.expect("a line"));
        let address = lines
            .into_iter()
            .find_map(|line| line.strip_prefix("ready http://").map(str::to_owned));
        Self { process, address: address.expect("it is ready") }
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().expect("a port")
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")
            .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended
        let _ = self.process.wait();
    }
}

#[test]
fn wrong_usage_exits_with_2_and_says_what_is_wanted() {
    for (arguments, remedy) in [
        (&["mixed-flow", "--think", "soon"][..], "1..5"),
        (&["relay", "--users", "5"], "leave --url"),
        (&["hot-course", "--users", "20000"], "at most 19000"),
        (&["popular-posts", "--hot", "80"], "from 0 to 1"),
        (&["compare", "/no/such/a.json", "/no/such/b.json"], "cannot read /no/such/a.json"),
        (&["sleep"], "unrecognized subcommand"),
    ] {
        let output = load(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(remedy), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_report_that_cannot_be_written_fails_before_the_run() {
    let output = load(&["relay", "--events", "1", "--html", "/no/such/folder/report.html"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("/no/such/folder/report.html"), "{error}");
}

#[test]
fn a_cloud_in_a_process_of_its_own_ends_when_its_input_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cloud = Cloud::start("0", folder.path());
    assert!(cloud.get("/health").contains(r#"{"status":"ok"}"#));
    drop(cloud.process.stdin.take());
    assert!(cloud.process.wait().expect("it ends").success());
}

#[test]
fn a_cloud_that_was_killed_is_started_again_at_its_port_with_its_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut first = Cloud::start("0", folder.path());
    first.process.kill().expect("it can be killed");
    first.process.wait().expect("it is gone");
    let second = Cloud::start(first.port(), folder.path());
    assert_eq!(second.address, first.address);
    assert!(second.get("/_local/status.json").contains("stream_lag"));
}

#[test]
fn a_small_mixed_flow_keeps_every_promise_and_reports_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let [json, html] = ["report.json", "report.html"].map(|name| folder.path().join(name));
    let mut arguments: Vec<&str> =
        "mixed-flow --users 6 --loops 5 --think 0..0.01 --ramp 0 --seed 1".split(' ').collect();
    arguments.extend(["--json", json.to_str().expect("text")]);
    arguments.extend(["--html", html.to_str().expect("text")]);
    let output = load(&arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}{error}");

    let json = std::fs::read_to_string(json).expect("the report");
    let report: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&report["requests"], &report["events"]), (&30.into(), &"running".into()));
    let invariants = report["invariants"].as_array().expect("a list");
    assert!(
        invariants.len() >= 9 && invariants.iter().all(|i| i["held"] == true),
        "{invariants:?}"
    );
    assert!(!report["backlog"].as_array().expect("a list").is_empty());
    assert!(report["seconds_to_empty"].is_number() && report["closed_model"]["bound"].is_number());
    let rate = report["rate"].to_string();
    let page = std::fs::read_to_string(html).expect("the page");
    assert!(
        text.contains("one reminder per schedule") && page.contains("one reminder per schedule")
    );
    assert!(page.contains("<svg") && !page.contains("class=\"BROKEN\""), "rate {rate}");
}

#[test]
fn two_runs_are_compared_and_other_files_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (a, b, home, page) = (path("a.json"), path("b.json"), path("h.json"), path("page.html"));
    for (json, seed) in [(&a, "1"), (&b, "2")] {
        let size = "hot-course --simulate --students 40 --seats 20 --users 20 --seed";
        let mut arguments: Vec<&str> = size.split(' ').collect();
        arguments.extend([seed, "--json", json]);
        assert_eq!(load(&arguments).status.code(), Some(0));
    }
    let compare = |arguments: &[&str]| {
        let output = load(&[&["compare"], arguments].concat());
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let (code, text) = compare(&[&a, &b, "--html", &page]);
    assert_eq!(code, Some(0), "{text}");
    for part in ["hot-course, b ÷ a", "seed (1; 2)", "409 COURSE_FULL", "enroll: write units"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let html = std::fs::read_to_string(&page).expect("the page");
    assert!(html.contains("key-2\">b</span>") && html.contains("hottest partition keys"));

    let mut report: Value =
        serde_json::from_slice(&std::fs::read(&b).expect("the report")).expect("JSON");
    report["invariants"][0]["held"] = false.into();
    std::fs::write(&b, report.to_string()).expect("it is written");
    let (code, text) = compare(&[&a, &b]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("held     BROKEN"), "{text}");

    report["scenario"] = "home".into();
    std::fs::write(&home, report.to_string()).expect("it is written");
    for (other, why) in [(&home, "of the same scenario"), (&page, "is no report of cargo load")] {
        let (code, text) = compare(&[&a, other]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(why) && !text.contains("b ÷ a"), "{text}");
    }
}

const RANKING: &str = "the ranking costs eight queries a second and environment";

#[test]
fn popular_posts_keep_every_promise_and_a_folder_keeps_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let [data, json, html] =
        ["data", "report.json", "report.html"].map(|name| folder.path().join(name));
    let read = |posts: &str| {
        let mut arguments: Vec<&str> =
            "popular-posts --users 8 --seconds 1 --seed 1 --environments 2".split(' ').collect();
        arguments.extend(["--posts", posts, "--data-dir", data.to_str().expect("text")]);
        arguments.extend(["--json", json.to_str().expect("text")]);
        arguments.extend(["--html", html.to_str().expect("text")]);
        let output = load(&arguments);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let report = || {
        let json = std::fs::read_to_string(&json).expect("the report");
        serde_json::from_str::<Value>(&json).expect("JSON")
    };

    let (code, text) = read("150");
    assert_eq!(code, Some(0), "{text}");
    let first = report();
    let invariants = first["invariants"].as_array().expect("a list");
    // So few users in so short a time may ask too seldom to tell of all.
    let is_kept = |i: &Value| i["held"] == true || (i["name"] == RANKING && i["held"].is_null());
    assert!(invariants.len() >= 8 && invariants.iter().all(is_kept), "{invariants:?}");
    let operations = first["by_operation"].as_object().expect("operations");
    assert_eq!(operations.len(), 3, "{operations:?}");
    assert!(operations["list-posts"]["p99_over_p50"].is_number());
    assert!(first["operations"]["count-views"]["write_units"].is_number());
    let page = std::fs::read_to_string(&html).expect("the page");
    assert!(text.contains("popular = the true top 20") && page.contains("· list-posts"));

    let (code, text) = read("150");
    assert_eq!(code, Some(0), "{text}");
    let views = first["by_operation"]["get-post"]["answers"].to_string();
    let detail = report()["invariants"][0]["detail"].to_string();
    assert!(detail.contains(&format!("beside {views} from before")), "{views}: {detail}");

    let (code, text) = read("151");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("holds 150 published posts, not 151: say --posts 150"), "{text}");
}

#[test]
fn home_keeps_every_promise_in_a_cloud_of_its_own_and_behind_a_url() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("report.json");
    let run = |more: &[&str]| {
        let mut arguments: Vec<&str> = "home --users 8 --seconds 4 --seed 1".split(' ').collect();
        arguments.extend(["--json", json.to_str().expect("text")]);
        arguments.extend(more);
        let output = load(&arguments);
        let text = [output.stdout, output.stderr].concat();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&text));
        let json = std::fs::read_to_string(&json).expect("the report");
        serde_json::from_str::<Value>(&json).expect("JSON")
    };
    let report = run(&["--environments", "4"]);
    let invariants = report["invariants"].as_array().expect("a list");
    assert!(invariants.len() >= 9, "{invariants:?}");
    let broken: Vec<&Value> = invariants.iter().filter(|i| i["held"] == false).collect();
    assert!(broken.is_empty(), "{broken:?}");
    let operations = report["by_operation"].as_object().expect("operations");
    assert_eq!(operations.len(), 6, "{operations:?}");
    assert!(report["operations"]["count-announcements"]["write_units"].is_number());
    assert!(report["operations"]["refresh-home"]["requests"].as_u64() >= Some(2));

    let cloud = Cloud::start("0", &folder.path().join("data"));
    let url = format!("http://{}", cloud.address);
    let report = run(&["--url", &url]);
    assert_eq!(report["operations"]["put-announcement"]["requests"], 120);
}

#[test]
fn popular_posts_behind_a_url_are_created_first_and_told_by_the_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let cloud = Cloud::start("0", &folder.path().join("data"));
    let json = folder.path().join("report.json");
    let url = format!("http://{}", cloud.address);
    let mut arguments: Vec<&str> =
        "popular-posts --posts 130 --users 4 --seconds 1".split(' ').collect();
    arguments.extend(["--url", &url, "--json", json.to_str().expect("text")]);
    let output = load(&arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let json = std::fs::read_to_string(&json).expect("the report");
    let report: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["operations"]["create-post"]["requests"], 130);
    let invariants = report["invariants"].as_array().expect("a list");
    let unchecked = invariants.iter().filter(|i| i["held"].is_null()).map(|i| &i["name"]);
    let unchecked: Vec<&Value> = unchecked.filter(|name| *name != RANKING).collect();
    assert_eq!(unchecked, ["views of a post = sum of its stripes"]);
}

#[test]
fn a_simulation_with_the_same_seed_has_the_same_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, seed: &str| {
        let path = folder.path().join(name);
        let mut arguments: Vec<&str> =
            "hot-course --simulate --students 60 --seats 20 --users 60 --seed".split(' ').collect();
        arguments.extend([seed, "--aws-limits=lost=0.02,errors=0.01,again=0.05", "--json"]);
        arguments.push(path.to_str().expect("text"));
        let output = load(&arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        let report = std::fs::read_to_string(&path).expect("a report");
        serde_json::from_str::<Value>(&report).expect("JSON")
    };
    let (first, second, other) = (run("1", "7"), run("2", "7"), run("3", "8"));
    assert_eq!(first, second);
    assert_ne!(first["latency_ms"], other["latency_ms"]);
    assert_eq!(first["clock"], "simulated");
    assert!(first["limited"]["conflicts"].as_u64().is_some_and(|met| met > 0), "{first}");
}
