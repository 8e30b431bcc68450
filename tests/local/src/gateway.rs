//! The HTTP API: a request becomes an event as API Gateway makes it.
//!
//! The form is payload format 2.0 of HTTP APIs
//! ([reference](https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html)).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_lambda_events::apigw::{
    ApiGatewayV2httpRequest, ApiGatewayV2httpRequestContext,
    ApiGatewayV2httpRequestContextHttpDescription,
};
use axum::body::Bytes;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{CONTENT_TYPE, COOKIE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use jiff::Timestamp;
use platform::clock::Instant;
use platform::http::Response;
use platform::lambda::Outcome;
use platform::meter::Usage;

use crate::routes::{Match, decode};

/// The largest body that a function can be handed, in bytes
/// ([Lambda's limit](https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)).
pub(crate) const MOST_BODY_BYTES: usize = 6 * 1024 * 1024;

/// The API's own name. API Gateway takes requests for its own name only, and
/// what else stands in `Host` never reaches a function.
const DOMAIN: &str = "localhost";

/// Gives requests their ids.
#[derive(Debug)]
pub(crate) struct RequestIds {
    seed: u64,
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new(seed: u64) -> Self {
        let next = AtomicU64::new(0);
        Self { seed, next }
    }

    fn next(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(number));
        format!("{:016x}", random.u64(..))
    }
}

/// The event for `request`, which took the route `found`.
pub(crate) fn event<T>(
    request: Request<Bytes>,
    found: Match<'_, T>,
    ids: &RequestIds,
    now: Instant,
) -> ApiGatewayV2httpRequest {
    let (parts, body) = request.into_parts();
    let path = decode(parts.uri.path());
    let query = parts.uri.query().unwrap_or_default();
    let mut context = ApiGatewayV2httpRequestContext::default();
    context.http = description(&parts, &path);
    context.request_id = Some(ids.next());
    context.route_key = Some(found.key.to_owned());
    context.stage = Some("$default".to_owned());
    context.domain_name = Some(DOMAIN.to_owned());
    context.time = Some(time(now));
    context.time_epoch = now.as_millis();
    let mut event = ApiGatewayV2httpRequest::default();
    event.version = Some("2.0".to_owned());
    event.route_key = Some(found.key.to_owned());
    event.raw_path = Some(path);
    event.raw_query_string = Some(query.to_owned());
    event.query_string_parameters = query.parse().unwrap_or_default();
    event.path_parameters = found.parameters;
    event.request_context = context;
    event.is_base64_encoded = !body.is_empty() && !is_text(&parts.headers, &body);
    event.cookies = cookies(&parts.headers);
    event.headers = headers(&parts.headers);
    event.body = (!body.is_empty()).then(|| match std::str::from_utf8(&body) {
        Ok(text) if !event.is_base64_encoded => text.to_owned(),
        _ => BASE64_STANDARD.encode(&body),
    });
    event
}

fn description(
    parts: &http::request::Parts,
    path: &str,
) -> ApiGatewayV2httpRequestContextHttpDescription {
    let agent = parts.headers.get(USER_AGENT);
    let mut description = ApiGatewayV2httpRequestContextHttpDescription::default();
    description.method = parts.method.clone();
    description.path = Some(path.to_owned());
    description.protocol = Some("HTTP/1.1".to_owned());
    description.source_ip = Some("127.0.0.1".to_owned());
    description.user_agent = agent.and_then(|a| a.to_str().ok()).map(str::to_owned);
    description
}

/// As in `12/Mar/2030:19:03:58 +0000`.
fn time(now: Instant) -> String {
    let timestamp = Timestamp::from_millisecond(now.as_millis()).unwrap_or_default();
    timestamp.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string()
}

/// Headers as the event has them: repeated ones joined with commas, cookies
/// apart, and those that the API itself sets.
fn headers(sent: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(sent.len() + 4);
    for name in sent.keys().filter(|name| **name != COOKIE) {
        let values: Vec<&[u8]> = sent.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(value) = HeaderValue::from_bytes(&values.join(&b","[..])) {
            headers.insert(name.clone(), value);
        }
    }
    headers.insert(HOST, HeaderValue::from_static(DOMAIN));
    headers.insert("x-forwarded-for", HeaderValue::from_static("127.0.0.1"));
    headers.insert("x-forwarded-port", HeaderValue::from_static("443"));
    headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
    headers
}

fn cookies(sent: &HeaderMap) -> Option<Vec<String>> {
    let sent = sent.get_all(COOKIE).iter().filter_map(|c| c.to_str().ok());
    let cookies: Vec<String> = sent
        .flat_map(|cookies| cookies.split(';'))
        .map(|cookie| cookie.trim().to_owned())
        .collect();
    (!cookies.is_empty()).then_some(cookies)
}

/// Whether a body goes into the event as it is. Bodies of any other type, and
/// of none, are base64 there.
fn is_text(headers: &HeaderMap, body: &[u8]) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let content_type = content_type.unwrap_or_default().split(';').next();
    let content_type = content_type.unwrap_or_default().trim().to_ascii_lowercase();
    let is_text_type = content_type.starts_with("text/")
        || content_type.ends_with("+json")
        || content_type.ends_with("+xml")
        || matches!(
            content_type.as_str(),
            "application/json" | "application/javascript" | "application/xml"
        );
    is_text_type && std::str::from_utf8(body).is_ok()
}

/// What API Gateway answers by itself.
pub(crate) fn refusal(status: StatusCode, message: &str) -> Outcome {
    let mut response = Response::new(serde_json::json!({ "message": message }).to_string());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Outcome { response, usage: Usage::default(), took: Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn event_of(request: http::request::Builder, body: &'static [u8]) -> ApiGatewayV2httpRequest {
        let found = Match {
            key: "POST /things/{id}",
            parameters: HashMap::from([("id".to_owned(), "7".to_owned())]),
            to: &(),
        };
        let request = request.method("POST").body(Bytes::from_static(body));
        let now = Instant::from_millis(1_899_399_838_000);
        event(request.unwrap(), found, &RequestIds::new(1), now)
    }

    fn builder() -> http::request::Builder {
        Request::builder().uri("/things/7")
    }

    #[test]
    fn an_event_has_the_form_of_payload_2_0() {
        let request = builder()
            .uri("/things/a%20b?day=MON&day=TUE&x=%20")
            .header("Host", "evil[")
            .header("X-Forwarded-Proto", "ftp:")
            .header("X-Many", "a")
            .header("X-Many", "b")
            .header("Cookie", "a=1; b=2")
            .header("Cookie", "c=3")
            .header("User-Agent", "test")
            .header("Content-Type", "application/json; charset=utf-8");
        let event = serde_json::to_value(event_of(request, b"{}")).unwrap();
        assert_eq!(event["version"], "2.0");
        assert_eq!(event["routeKey"], "POST /things/{id}");
        assert_eq!(event["rawPath"], "/things/a b");
        assert_eq!(event["rawQueryString"], "day=MON&day=TUE&x=%20");
        assert_eq!(event["queryStringParameters"]["day"], "MON,TUE");
        assert_eq!(event["pathParameters"]["id"], "7");
        assert_eq!(event["headers"]["x-many"], "a,b");
        assert_eq!(event["headers"]["host"], "localhost");
        assert_eq!(event["headers"]["x-forwarded-proto"], "https");
        assert_eq!(event["headers"].get("cookie"), None);
        assert_eq!(event["cookies"], serde_json::json!(["a=1", "b=2", "c=3"]));
        assert_eq!((&event["body"], &event["isBase64Encoded"]), (&"{}".into(), &false.into()));
        let context = &event["requestContext"];
        assert_eq!(context["http"]["method"], "POST");
        assert_eq!(context["http"]["path"], "/things/a b");
        assert_eq!(context["http"]["userAgent"], "test");
        assert_eq!(context["stage"], "$default");
        assert_eq!(context["time"], "10/Mar/2030:19:03:58 +0000");
        assert_eq!(context["timeEpoch"], 1_899_399_838_000_i64);
        assert_eq!(context["requestId"].as_str().unwrap().len(), 16);
    }

    #[test]
    fn a_body_that_is_not_said_to_be_text_is_base64() {
        let typed = |content_type: &str| builder().header("Content-Type", content_type);
        for text in ["text/plain", "Application/JSON", "application/problem+json"] {
            let event = event_of(typed(text), b"{}");
            assert_eq!((event.body.as_deref(), event.is_base64_encoded), (Some("{}"), false));
        }
        for other in ["application/x-www-form-urlencoded", "image/png", ""] {
            let event = event_of(typed(other), b"{}");
            assert_eq!((event.body.as_deref(), event.is_base64_encoded), (Some("e30="), true));
        }
        let no_type = event_of(builder(), b"{}");
        assert!(no_type.is_base64_encoded);
        let no_text = event_of(typed("text/plain"), b"\xff");
        assert_eq!((no_text.body.as_deref(), no_text.is_base64_encoded), (Some("/w=="), true));
        let empty = event_of(builder(), b"");
        assert_eq!((empty.body, empty.is_base64_encoded), (None, false));
    }
}
