//! Requests without a socket, to a local cloud of this process: what a
//! simulation needs, in which time jumps from one wait to the next.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::call::{Answer, Call, Lost, Request};
use crate::wire::TIMEOUT;

/// Where the status page is.
const STATUS: &str = "/_local/status.json";

/// Requests to whichever cloud lives.
#[derive(Clone)]
pub(crate) struct Direct(Arc<watch::Sender<Current>>);

/// The cloud that lives, if one does.
struct Current {
    life: u64,
    cloud: Option<local::Cloud>,
    /// What those before it counted.
    past: Vec<(&'static str, Value)>,
}

/// The parts of the status page that count from the start of a cloud.
const COUNTED: [&str; 2] = ["functions", "limits"];

impl Direct {
    /// Requests to `cloud`.
    pub(crate) fn to(cloud: local::Cloud) -> Self {
        Self(Arc::new(watch::Sender::new(Current {
            life: 0,
            cloud: Some(cloud),
            past: Vec::new(),
        })))
    }

    /// The cloud that lives, if one does.
    pub(crate) fn cloud(&self) -> Option<local::Cloud> {
        self.0.borrow().cloud.clone()
    }

    /// Lets every request of this life end without an answer. The next cloud,
    /// if there is one, begins another.
    pub(crate) fn replace(&self, cloud: Option<local::Cloud>) {
        self.0.send_modify(|current| {
            if let Some(ending) = current.cloud.take() {
                let status = current.with_past(ending.status());
                current.past = COUNTED.map(|part| (part, status[part].clone())).into();
            }
            current.life += 1;
            current.cloud = cloud;
        });
    }

    async fn answer(&self, cloud: &local::Cloud, request: &Request) -> Result<Answer, Lost> {
        if request.path == STATUS {
            let status = self.0.borrow().with_past(cloud.status());
            return Ok(Answer { status: 200, body: status.to_string().into_bytes() });
        }
        let request = to_http(request).map_err(|error| Lost(error.to_string()))?;
        let outcome = tokio::time::timeout(TIMEOUT, cloud.request(request)).await;
        let response = outcome.map_err(|_| Lost("operation timed out".to_owned()))?.response;
        let status = response.status().as_u16();
        Ok(Answer { status, body: response.into_body().into_bytes() })
    }
}

impl Current {
    /// The status page, going on with what was counted before.
    fn with_past(&self, mut status: Value) -> Value {
        for (part, past) in &self.past {
            add(&mut status[part], past);
        }
        status
    }
}

/// Adds the numbers of `past` to those of `now`, and what is only there.
fn add(now: &mut Value, past: &Value) {
    match (&mut *now, past) {
        (Value::Object(fields), Value::Object(past)) => {
            for (name, past) in past {
                add(fields.entry(name).or_insert(Value::Null), past);
            }
        }
        (Value::Null, past) => *now = past.clone(),
        (Value::Number(number), Value::Number(past)) => {
            *now = match (number.as_u64(), past.as_u64()) {
                (Some(number), Some(past)) => json!(number + past),
                _ => json!(number.as_f64().unwrap_or(0.0) + past.as_f64().unwrap_or(0.0)),
            };
        }
        _ => {}
    }
}

fn to_http(request: &Request) -> http::Result<http::Request<local::Bytes>> {
    let mut built = http::Request::builder().method(request.method.clone()).uri(&request.path);
    if let Some(token) = &request.token {
        built = built.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    if let Some(key) = &request.idempotency_key {
        built = built.header("idempotency-key", key);
    }
    for (name, value) in &request.headers {
        built = built.header(*name, value);
    }
    let body = request.body.as_ref().map(ToString::to_string);
    if body.is_some() {
        built = built.header(CONTENT_TYPE, "application/json");
    }
    built.body(body.unwrap_or_default().into())
}

#[async_trait]
impl Call for Direct {
    async fn call(&self, request: &Request) -> Result<Answer, Lost> {
        let (life, cloud) = {
            let current = self.0.borrow();
            (current.life, current.cloud.clone())
        };
        let Some(cloud) = cloud else {
            return Err(Lost("nobody listens".to_owned()));
        };
        let mut changes = self.0.subscribe();
        tokio::select! {
            biased; // so that a simulation repeats
            answer = self.answer(&cloud, request) => answer,
            _ = changes.wait_for(|now| now.life != life) => {
                Err(Lost("the connection was closed".to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_over_deaths_and_lists_are_those_of_the_living() {
        let mut now = json!({ "enroll": { "requests": 2, "units": 0.5 }, "keys": [1] });
        let past = json!({ "enroll": { "requests": 3, "units": 1 }, "drop": { "requests": 1 },
            "keys": [2] });
        add(&mut now, &past);
        let both = json!({ "enroll": { "requests": 5, "units": 1.5 }, "drop": { "requests": 1 },
            "keys": [1] });
        assert_eq!(now, both);
    }
}
