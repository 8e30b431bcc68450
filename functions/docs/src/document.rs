//! What the operations of all systems say, as one OpenAPI document.

use std::collections::BTreeMap;

use platform::Operation;
use platform::operation::{BEARER, ProblemBody, SIGNATURE};
use serde_json::{Map, Value, json};
use utoipa::PartialSchema;

/// What has to be known before anything else.
const INTRODUCTION: &str = "\
    Bodies are JSON, whatever Content-Type says, and fields that are not known are passed over. \
    Every refusal is a problem (RFC 9457) with a stable code; a route that is not here is \
    answered with ROUTE_NOT_FOUND. After a BUSY, or no answer, the same request may be sent \
    again, under the same Idempotency-Key where there is one. API Gateway answers some requests by \
    itself, in a form of its own: {\"message\": ...}. Most examples name what is in the sample data \
    of the local cloud.";

/// Every system: its name, what it is about, and its operations.
type System = (&'static str, &'static str, Vec<Operation>);

/// Every operation of the API, by system.
pub fn systems() -> Vec<System> {
    vec![
        ("identity", "Members, sessions and tokens.", identity::operations()),
        ("enrollment", "Courses, seats and students.", enrollment::operations()),
        ("schedule", "Calendars and reminders.", schedule::operations()),
        ("notification", "What happened, and what did not arrive.", notification::operations()),
        ("blog", "Posts and their views.", blog::operations()),
        ("ticketing", "Matches, queues, seats, holds and orders.", ticketing::operations()),
        ("announcement", "Home, favorites and checklists.", announcement::operations()),
        ("platform", "Whether it is there.", platform::operations()),
        ("docs", "What you read.", crate::operations()),
    ]
}

/// The document, made once in an environment's life.
pub struct Document(Value);

impl Document {
    /// It as JSON.
    pub fn as_json(&self) -> &Value {
        &self.0
    }
}

impl Default for Document {
    fn default() -> Self {
        let systems = systems();
        let tags =
            systems.iter().map(|(name, about, _)| json!({ "name": name, "description": about }));
        Self(json!({
            "openapi": "3.1.0",
            "info": {
                "title": "hotseat",
                "version": env!("CARGO_PKG_VERSION"),
                "description": INTRODUCTION,
                "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            },
            "servers": [{ "url": "/" }],
            "tags": tags.collect::<Vec<_>>(),
            "paths": paths(&systems),
            "components": {
                "schemas": schemas(&systems),
                "securitySchemes": security_schemes(),
            },
        }))
    }
}

fn paths(systems: &[System]) -> Map<String, Value> {
    let mut paths = Map::new();
    for (system, _, operations) in systems {
        for operation in operations {
            let here = paths.entry(operation.route()).or_insert_with(|| json!({}));
            here.as_object_mut()
                .into_iter()
                .for_each(|here| here.extend(operation.to_json(system)));
        }
    }
    paths
}

fn schemas(systems: &[System]) -> BTreeMap<String, Value> {
    let operations = systems.iter().flat_map(|(_, _, operations)| operations);
    let named = operations.flat_map(|operation| operation.schemas().clone());
    named.chain([("Problem".to_owned(), json!(ProblemBody::schema()))]).collect()
}

fn security_schemes() -> Value {
    json!({
        BEARER: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "The accessToken of POST /auth/login. Good for 15 minutes.",
        },
        SIGNATURE: {
            "type": "apiKey",
            "in": "header",
            "name": ticketing::signature::HEADER,
            "description": "sha256= and the HMAC-SHA256 of the body in hex.",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_schema() {
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        for operation in systems().iter().flat_map(|(_, _, operations)| operations) {
            for (name, schema) in operation.schemas() {
                let before = known.insert(name.clone(), schema.clone());
                assert!(before.is_none_or(|before| before == *schema), "{name} means two things");
            }
        }
        assert!(known.len() > 20, "{known:?}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(fields) => {
                    found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    fields.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let (document, mut found) = (Document::default(), Vec::new());
        references(document.as_json(), &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap_or_default();
            assert!(document.as_json().pointer(pointer).is_some(), "{reference}");
        }
    }
}
