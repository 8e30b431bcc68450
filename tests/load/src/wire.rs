//! Requests over a socket.

use std::time::Duration;

use async_trait::async_trait;
use http::header::CONTENT_TYPE;

use crate::call::{Answer, Call, Lost, Request};

/// How long an answer may take before the outcome counts as unknown. API
/// Gateway gives up after 30 seconds.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// Requests to one URL, by a client that keeps its connections.
#[derive(Clone)]
pub(crate) struct Wire {
    client: reqwest::Client,
    url: String,
}

impl Wire {
    /// Requests to `url` by `client`.
    pub(crate) fn new(client: reqwest::Client, url: &str) -> Self {
        Self { client, url: url.trim_end_matches('/').to_owned() }
    }

    /// Requests to `url` by a client of its own.
    pub(crate) fn to(url: &str) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().timeout(TIMEOUT).build()?;
        Ok(Self::new(client, url))
    }
}

#[async_trait]
impl Call for Wire {
    async fn call(&self, request: &Request) -> Result<Answer, Lost> {
        let url = format!("{}{}", self.url, request.path);
        let mut sent = self.client.request(request.method.clone(), url);
        if let Some(token) = &request.token {
            sent = sent.bearer_auth(token);
        }
        if let Some(key) = &request.idempotency_key {
            sent = sent.header("idempotency-key", key);
        }
        for (name, value) in &request.headers {
            sent = sent.header(*name, value);
        }
        if let Some(body) = &request.body {
            sent = sent.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = sent.send().await.map_err(|error| lost(&error))?;
        let status = response.status().as_u16();
        let body = response.bytes().await.map_err(|error| lost(&error))?.to_vec();
        Ok(Answer { status, body })
    }
}

/// The error with its causes, since the outermost one says little.
fn lost(error: &reqwest::Error) -> Lost {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    Lost(text)
}
