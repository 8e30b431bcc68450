//! Every answer that a suite gets must stand in the API's document: its status,
//! its content type, the form of its body, and the code of a refusal. So must
//! every body that an operation has taken.
//!
//! Where [`RECORD`] names a folder, the refusals that were seen are written there,
//! so that what the document promises and no test ever gets can be found.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use docs::document::Document;
use jsonschema::Validator;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::Answer;

/// The environment variable with the folder for the refusals that were seen:
/// lines of an operation and a code.
pub const RECORD: &str = "HOTSEAT_REFUSALS_SEEN";

/// What takes whatever no other route takes.
const NO_ROUTE: &str = "$default";

static DOCUMENT: LazyLock<Documented> = LazyLock::new(Documented::new);

struct Documented {
    document: Value,
    /// Validators that were needed, by the place of their schema.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
    seen: Option<File>,
}

/// The API's document.
pub fn document() -> &'static Value {
    &DOCUMENT.document
}

/// The part of the document at a JSON pointer, made of these names.
pub fn part(names: &[&str]) -> (String, &'static Value) {
    let names = names.iter().map(|name| name.replace('~', "~0").replace('/', "~1"));
    let place: String = names.map(|name| format!("/{name}")).collect();
    let value = document().pointer(&place).unwrap_or(&Value::Null);
    (place, value)
}

/// Fails the test unless the document has `answer`, to a request that took the
/// route `key`, as in `GET /courses/{courseId}`.
pub fn require(key: &str, sent: &[u8], answer: &Answer) {
    if is_of_gateway(&answer.json) {
        return;
    }
    let told = format!("{}: {} {}", answer.request, answer.status, answer.json);
    let Some((method, path)) = key.split_once(' ').filter(|_| key != NO_ROUTE) else {
        assert!(answer.status == 404, "{told}");
        return;
    };
    let (method, status) = (method.to_lowercase(), answer.status.to_string());
    let (place, documented) = part(&["paths", path, &method, "responses", &status]);
    assert!(documented.is_object(), "the document does not have {told}");
    let content_type = answer.headers.get("content-type").map(|it| it.to_str().unwrap_or_default());
    let content_type = content_type.and_then(|it| it.split(';').next()).unwrap_or_default();
    if method != "head" {
        let content = &documented["content"];
        let is_there = content.is_null() == content_type.is_empty();
        assert!(is_there && (content.is_null() || content[content_type].is_object()), "{told}");
    }
    if content_type.ends_with("json") && method != "head" {
        let schema = format!("{place}/content/{}/schema", content_type.replace('/', "~1"));
        fits(&schema, &answer.json, &told);
    }
    DOCUMENT.note(&answer.json, path, &method);
    let body = format!("/paths/{}/{method}/requestBody", path.replace('/', "~1"));
    if answer.status < 300 && document().pointer(&body).is_some() {
        let schema = format!("{body}/content/application~1json/schema");
        fits(&schema, &composed(sent), &format!("what {} was sent", answer.request));
    }
}

/// Fails the test unless `value` fits the schema at a place of the document.
pub fn fits(place: &str, value: &Value, told: &str) {
    let errors = DOCUMENT.errors(place, value);
    assert!(errors.is_empty(), "{told} does not fit {place}: {}", errors.join("; "));
}

/// A body as the operations count its characters: composed (NFC).
fn composed(sent: &[u8]) -> Value {
    let text: String = String::from_utf8_lossy(sent).nfc().collect();
    serde_json::from_str(&text).unwrap_or_default()
}

/// API Gateway answers some requests by itself, in a form of its own.
fn is_of_gateway(json: &Value) -> bool {
    json.as_object().is_some_and(|fields| fields.len() == 1 && fields.contains_key("message"))
}

impl Documented {
    fn new() -> Self {
        let document = Document::default().as_json().clone();
        let seen = std::env::var_os(RECORD).filter(|folder| !folder.is_empty()).map(|folder| {
            std::fs::create_dir_all(&folder).expect("a folder for refusals");
            let program = std::env::current_exe().expect("a program");
            let path = Path::new(&folder).join(program.file_name().unwrap_or_default());
            File::options().create(true).append(true).open(path).expect("a record")
        });
        Self { document, validators: Mutex::default(), seen }
    }

    fn note(&self, json: &Value, path: &str, method: &str) {
        let (Some(mut seen), Some(code)) = (self.seen.as_ref(), json["code"].as_str()) else {
            return;
        };
        let id = &self.document["paths"][path][method]["operationId"];
        let line = format!("{} {code}\n", id.as_str().unwrap_or_default());
        seen.write_all(line.as_bytes()).expect("a record");
    }

    fn errors(&self, place: &str, value: &Value) -> Vec<String> {
        let validator = self.validator(place);
        validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    fn validator(&self, place: &str) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let known = validators.entry(place.to_owned());
        Arc::clone(known.or_insert_with(|| {
            let mut schema = self.document.pointer(place).expect("a schema").clone();
            // Where its references lead.
            schema["components"] = self.document["components"].clone();
            // Times are taken in more forms than the one that is documented.
            let is_answer = place.contains("/responses/");
            let options = jsonschema::options().should_validate_formats(is_answer);
            Arc::new(options.build(&schema).expect("a valid schema"))
        }))
    }
}
