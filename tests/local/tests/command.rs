//! The command `cargo local`, as a terminal and its scripts see it.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

const LOCAL: &str = env!("CARGO_BIN_EXE_local");

/// A running `cargo local`, killed when the test is through with it.
struct Running {
    process: Child,
    out: BufReader<ChildStdout>,
    dynamodb: String,
    sqs: String,
    api: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(LOCAL)
            .args(["--port", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = |prefix: &str| {
            let mut line = String::new();
            out.read_line(&mut line).expect("a line");
            let rest = line.trim_end().strip_prefix(prefix).map(str::to_owned);
            rest.unwrap_or_else(|| panic!("expected {prefix:?}, got {line:?}"))
        };
        let dynamodb = line("dynamodb http://");
        let sqs = line("sqs http://");
        line("secrets http://");
        let api = line("ready http://");
        Self { process, out, dynamodb, sqs, api }
    }

    /// Sends a request to the API: its status and its body.
    fn send(&self, request: &str, token: &str, body: &str) -> (u16, Value) {
        exchange(&self.api, request, &[("authorization", &format!("Bearer {token}"))], body)
    }

    /// Asks it to end, as a service manager does, and waits.
    fn terminate(mut self) -> i32 {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").arg(pid).status().expect("kill runs").success());
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("the rest");
        assert_eq!(rest, "", "nothing but its four lines on standard output");
        self.process.wait().expect("it ends").code().expect("it is not killed")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended
        let _ = self.process.wait();
    }
}

/// One request over a connection of its own.
fn exchange(address: &str, request: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let headers: String = headers.iter().map(|(n, v)| format!("{n}: {v}\r\n")).collect();
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(text.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), serde_json::from_str(body).unwrap_or(Value::Null))
}

fn run(arguments: &[&str]) -> Output {
    Command::new(LOCAL).args(arguments).output().expect("it runs")
}

fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn token(member: &str) -> String {
    let printed = printed(&["token", "--member", member]);
    let token = printed.strip_suffix('\n').expect("one line").to_owned();
    assert!(!token.contains(char::is_whitespace), "{token:?}");
    token
}

#[test]
fn the_sample_data_is_what_the_readme_says_and_it_stops_when_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("settings.env");
    let local = Running::start(&["--settings", settings.to_str().expect("a path of text")]);
    let settings = std::fs::read_to_string(settings).expect("settings, before it is ready");
    let dynamodb = format!("AWS_ENDPOINT_URL_DYNAMODB='http://{}'", local.dynamodb);
    assert!(settings.contains(&dynamodb), "{settings}");
    let enroll = |student: u64, course: u64| {
        let body = format!(r#"{{"studentId":{student},"courseId":{course}}}"#);
        local.send("POST /enrollments", &token(&format!("student-{student}")), &body)
    };
    assert_eq!(enroll(1, 1).0, 201);
    let codes = [(1, 1), (1, 5), (1, 6)].map(|(student, course)| enroll(student, course).1);
    let codes: Vec<&str> = codes.iter().filter_map(|json| json["code"].as_str()).collect();
    assert_eq!(codes, ["ALREADY_ENROLLED", "COURSE_FULL", "ENROLLMENT_CLOSED"]);
    assert_eq!([enroll(2, 2).0, enroll(2, 3).0, enroll(2, 4).0], [201, 201, 201]);
    assert_eq!(enroll(2, 1).1["code"], "CREDIT_LIMIT_EXCEEDED");
    let (_, status) = local.send("GET /_local/status.json", "", "");
    assert_eq!(status["functions"]["enroll"]["statuses"]["409"], 4);
    let target = ("x-amz-target", "DynamoDB_20120810.ListTables");
    let (status, tables) = exchange(&local.dynamodb, "POST /", &[target], "{}");
    assert_eq!((status, &tables["TableNames"][0]), (200, &"Announcement".into()));
    assert_eq!(local.terminate(), 0);
}

#[test]
fn a_data_dir_survives_a_kill_and_is_for_one_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let data = data.to_str().expect("a path of text");
    let mut local = Running::start(&["--data-dir", data]);
    let (status, _) =
        local.send("POST /enrollments", &token("student-1"), r#"{"studentId":1,"courseId":1}"#);
    assert_eq!(status, 201);
    let second = run(&["--port", "0", "--data-dir", data]);
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("in use"), "{second:?}");
    local.process.kill().expect("a kill -9");
    local.process.wait().expect("it ends");
    let local = Running::start(&["--data-dir", data]);
    let path = "GET /students/1/enrollments";
    let (_, timetable) = local.send(path, &token("student-1"), "");
    assert_eq!(timetable["items"][0]["courseId"], 1, "{timetable}");
}

#[test]
fn what_waits_in_streams_and_queues_arrives_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let data = data.to_str().expect("a path of text");
    let mut local = Running::start(&["--data-dir", data, "--no-events"]);
    let member = token("student-1");
    let (status, _) = local.send("POST /enrollments", &member, r#"{"studentId":1,"courseId":1}"#);
    assert_eq!(status, 201);
    let event = json!({
        "recordId": "r-1", "type": "DROPPED", "aggregate": "student", "aggregateId": "1",
        "version": 9, "occurredAt": "2099-01-01T00:00:00Z", "memberId": "student-1",
        "payload": {},
    });
    let message = json!({
        "QueueUrl": format!("http://{}/000000000000/Events.fifo", local.sqs),
        "MessageBody": event.to_string(),
        "MessageGroupId": "student-1",
        "MessageDeduplicationId": "r-1",
    });
    let target = ("x-amz-target", "AmazonSQS.SendMessage");
    let (status, sent) = exchange(&local.sqs, "POST /", &[target], &message.to_string());
    assert_eq!(status, 200, "{sent}");
    assert_eq!(local.send("GET /notifications", &member, "").1["items"], json!([]));
    local.process.kill().expect("a kill -9");
    local.process.wait().expect("it ends");

    let local = Running::start(&["--data-dir", data]);
    for _ in 0..200 {
        let (_, inbox) = local.send("GET /notifications", &member, "");
        let types: Vec<_> = inbox["items"].as_array().into_iter().flatten().collect();
        let types: Vec<_> = types.iter().filter_map(|item| item["type"].as_str()).collect();
        if types == ["DROPPED", "ENROLLED"] {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("not told: {}", local.send("GET /_local/status.json", "", "").1);
}

#[test]
fn a_signed_payment_pays_the_order_of_the_sample_data() {
    let local = Running::start(&[]);
    let url = format!("http://{}/", local.api);
    let order = "01941f29-7c00-7000-8000-0000000000c3";
    let wrong = run(&["pay", order, "1", "--url", &url]);
    assert_eq!(wrong.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&wrong.stdout).expect("JSON");
    assert_eq!((&answer["code"], &answer["amount"]), (&"AMOUNT_MISMATCH".into(), &9_000.into()));
    let answer = printed(&["pay", order, "9000", "--url", &url]);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!((&answer["orderId"], &answer["status"]), (&order.into(), &"PAID".into()));
    let again = run(&["pay", order, "9000", "--url", &url]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("ORDER_PAID"), "{again:?}");
    drop(local);
    let nobody = run(&["pay", order, "9000", "--url", &url]);
    assert_eq!((nobody.status.code(), nobody.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("cargo local"), "{nobody:?}");
}

#[test]
fn every_event_runs_and_answers_well() {
    let events = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../events"));
    let mut ran = 0;
    for entry in std::fs::read_dir(events).expect("events") {
        let path = entry.expect("an entry").path();
        let function = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let event = printed(&["event", &function]);
        for open in ["Bearer TOKEN", "\"PASS\"", "\"SIGNATURE\""] {
            assert!(!event.contains(open), "{open} is left open in the event of {function}");
        }
        let answer = printed(&["invoke", &function, path.to_str().expect("a path of text")]);
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        if answer.get("statusCode").is_some() {
            let expected = if function == "not-found" { 404..405 } else { 200..300 };
            let status = answer["statusCode"].as_i64().expect("a status");
            assert!(expected.contains(&status), "{function}: {answer}");
        } else {
            assert!(!event.contains("rawPath"), "{function} takes requests and answers none");
        }
        ran += 1;
    }
    assert!(ran >= 10, "{ran} events");
}

#[test]
fn wrong_usage_exits_with_2_and_failure_with_1_and_a_line_that_helps() {
    for arguments in [&["--port", "x"][..], &["fly"], &["token"], &["token", "--member", "a b"]] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let missing = run(&["invoke", "no-such", "events/none.json"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(missing.stdout.is_empty());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let in_use = run(&["--port", &port]);
    assert_eq!(in_use.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&in_use.stderr).contains("--port"), "{in_use:?}");
}
