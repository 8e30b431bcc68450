//! What the API's document must hold, beside what every suite checks of it with
//! every answer: see [`suites::documented`].

use std::collections::BTreeSet;

use local::template::Template;
use serde_json::{Value, json};
use suites::World;
use suites::documented::{self, document, fits, part};

/// Every operation of the document: its path, its method, and what it says.
fn operations() -> Vec<(&'static str, &'static str, &'static Value)> {
    let paths = document()["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap();
        methods.iter().map(|(method, it)| (path.as_str(), method.as_str(), it))
    });
    operations.collect()
}

#[test]
fn the_document_has_every_route_of_the_template_and_no_other() {
    let functions = Template::of_checkout().unwrap().functions;
    let routes = functions.iter().flat_map(|function| {
        let routes = function.routes.iter().filter(|route| route.path != "$default");
        routes.map(|route| {
            let method = route.method.as_ref().unwrap().as_str();
            (format!("{method} {}", route.path), function.name.clone())
        })
    });
    let documented = operations().into_iter().map(|(path, method, operation)| {
        let id = operation["operationId"].as_str().unwrap();
        (format!("{} {path}", method.to_uppercase()), id.trim_end_matches("-head").to_owned())
    });
    assert_eq!(routes.collect::<BTreeSet<_>>(), documented.collect::<BTreeSet<_>>());
}

#[test]
fn every_operation_says_what_it_takes_and_answers_by_examples_that_fit() {
    for (path, method, operation) in operations() {
        let told = format!("{method} {path}");
        assert!(operation["summary"].as_str().unwrap().ends_with('.'), "{told}");
        let mut contents = vec![];
        if operation["requestBody"].is_object() {
            contents.push(vec!["requestBody"]);
        }
        let statuses: Vec<&str> =
            operation["responses"].as_object().unwrap().keys().map(String::as_str).collect();
        assert!(statuses.iter().any(|status| status.starts_with('2')), "{told}");
        contents.extend(statuses.into_iter().map(|status| vec!["responses", status]));
        for of in contents {
            let (place, it) = part(&[&["paths", path, method], of.as_slice()].concat());
            for (media, content) in it["content"].as_object().into_iter().flatten() {
                let place = format!("{place}/content/{}/schema", media.replace('/', "~1"));
                let examples = content["examples"].as_object();
                let examples = examples.into_iter().flatten().map(|(_, example)| &example["value"]);
                let examples: Vec<&Value> = examples.chain(content.get("example")).collect();
                assert!(!examples.is_empty() || media == "text/html", "{told}: no example");
                for example in examples {
                    fits(&place, example, &told);
                }
            }
        }
    }
}

#[test]
fn parameters_of_a_path_are_all_described_and_their_examples_fit() {
    for (path, method, operation) in operations() {
        let parameters = operation["parameters"].as_array().unwrap();
        let of_path = parameters.iter().filter(|it| it["in"] == "path");
        let described: BTreeSet<&str> = of_path.map(|it| it["name"].as_str().unwrap()).collect();
        let named = path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
        assert_eq!(described, named.collect::<BTreeSet<_>>(), "{method} {path}");
        for (index, parameter) in parameters.iter().enumerate() {
            if let Some(example) = parameter.get("example") {
                let place = ["paths", path, method, "parameters", &index.to_string(), "schema"];
                fits(&part(&place).0, example, path);
            }
        }
    }
}

#[test]
fn whatever_refuses_for_want_of_a_token_says_that_it_needs_one() {
    for (path, method, operation) in operations() {
        let needs_one = operation["security"] == json!([{ "bearer": [] }]);
        let needs_one = needs_one || operation["security"] == json!([{ "signature": [] }]);
        let is_protected = crate::protected().iter().any(|(of, at, _)| {
            let (at, path) = (at.split('/'), path.split('/'));
            let same = at.clone().count() == path.clone().count()
                && at.zip(path).all(|(at, name)| name.starts_with('{') || at == name);
            of.eq_ignore_ascii_case(method) && same
        });
        assert_eq!(needs_one, is_protected, "{method} {path}");
    }
}

#[tokio::test]
async fn the_document_is_served_to_machines_and_to_people() {
    let world = World::start().await;
    let answer = world.as_nobody().get("/openapi.json").await.expect(200);
    assert_eq!(answer.json, *document());
    let page = world.as_nobody().get("/docs").await.expect(200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    assert_eq!(page.headers["content-security-policy"], policy);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_wherever_there_is_one() {
    let world = World::start().await;
    let body = vec![b' '; 1_000_001];
    for (path, method, operation) in operations() {
        if operation["requestBody"].is_object() {
            let mut path = path.to_owned();
            for parameter in operation["parameters"].as_array().unwrap() {
                let name = format!("{{{}}}", parameter["name"].as_str().unwrap());
                path = path.replace(&name, parameter["example"].to_string().trim_matches('"'));
            }
            let method = method.to_uppercase();
            let answer = world.as_staff().send_raw(&method, &path, body.clone()).await;
            answer.refused(413, "BODY_TOO_LARGE");
        }
    }
}

/// Every refusal that a test gets is documented, or that test fails. So what
/// remains is to find those that nobody gets.
#[test]
#[ignore = "needs a record of all tests: HOTSEAT_REFUSALS_SEEN=$(mktemp -d), as in .ci/run"]
fn the_document_has_no_refusal_that_no_test_gets() {
    /// What is malformed may be the event itself, which no client can make so; and
    /// failures are injected where they matter, not into every operation.
    const EVERYWHERE: [&str; 3] = ["INVALID_REQUEST", "INTERNAL", "BUSY"];
    let folder =
        std::env::var_os(documented::RECORD).expect("HOTSEAT_REFUSALS_SEEN names a folder");
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a record");
        seen.extend(text.lines().map(str::to_owned));
    }
    let documented = operations().into_iter().filter(|(_, method, _)| *method != "head");
    let documented = documented.flat_map(|(_, _, operation)| {
        let id = operation["operationId"].as_str().unwrap();
        let answers = operation["responses"].as_object().unwrap().values();
        let examples = answers
            .filter_map(|it| it["content"]["application/problem+json"]["examples"].as_object());
        let codes = examples.flat_map(|examples| examples.keys());
        let codes = codes.filter(|code| !EVERYWHERE.contains(&code.as_str()));
        codes.map(move |code| format!("{id} {code}"))
    });
    let unseen: Vec<String> = documented.filter(|line| !seen.contains(line)).collect();
    assert!(unseen.is_empty(), "no test gets\n{}", unseen.join("\n"));
}
