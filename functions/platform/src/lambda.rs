//! Running handlers: on AWS, and for the local cloud, which calls [`invoke`].
//!
//! A handler's future is boxed where it is written and taken type-erased here,
//! so that the runtime is compiled once and a binary only names its function. That
//! is a `static`: a `const` would be compiled again in each binary, with all that its
//! closure calls.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use aws_lambda_events::encodings::Body;
use futures_util::FutureExt;
use http::Method;
use http::header::HOST;
use http::uri::PathAndQuery;
use lambda_http::request::LambdaRequest;
pub use lambda_runtime::Error;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use tracing::Instrument;

use crate::app::App;
use crate::events::{Change, Failures, Message};
use crate::http::{Reply, Request, Response, is_base64, refuse, respond};
use crate::meter::Usage;
use crate::problem::Problem;
use crate::telemetry;

/// What a handler promises, once it is done.
pub type Promise<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;

/// What a handler of requests promises to answer.
pub type Answer<'a> = Promise<'a, Reply>;

/// One operation, which is one Lambda function.
#[derive(Clone, Copy)]
pub struct Function {
    /// Its name: that of its file, binary, event and template resource.
    pub name: &'static str,
    /// What it does, by what invokes it.
    pub handler: Handler,
}

/// A function's code, by what invokes it.
#[derive(Clone, Copy)]
pub enum Handler {
    /// A request through the HTTP API.
    Http(for<'a> fn(&'a App, Request) -> Answer<'a>),
    /// A batch of changes from a table's stream.
    Stream(for<'a> fn(&'a App, Vec<Change>) -> Promise<'a, Failures>),
    /// A batch of messages from a queue.
    Queue(for<'a> fn(&'a App, Vec<Message>) -> Promise<'a, Failures>),
    /// A schedule: there is nothing in its event that anybody asks for.
    Schedule(for<'a> fn(&'a App) -> Promise<'a, ()>),
    /// An administrator, through IAM: any JSON in, any JSON out.
    Direct(for<'a> fn(&'a App, Value) -> Promise<'a, Value>),
}

impl Function {
    /// A function of the HTTP API.
    pub const fn http(
        name: &'static str,
        handle: for<'a> fn(&'a App, Request) -> Answer<'a>,
    ) -> Self {
        Self { name, handler: Handler::Http(handle) }
    }

    /// A function on a table's stream.
    pub const fn stream(
        name: &'static str,
        handle: for<'a> fn(&'a App, Vec<Change>) -> Promise<'a, Failures>,
    ) -> Self {
        Self { name, handler: Handler::Stream(handle) }
    }

    /// A function on a queue.
    pub const fn queue(
        name: &'static str,
        handle: for<'a> fn(&'a App, Vec<Message>) -> Promise<'a, Failures>,
    ) -> Self {
        Self { name, handler: Handler::Queue(handle) }
    }

    /// A function on a schedule.
    pub const fn schedule(
        name: &'static str,
        handle: for<'a> fn(&'a App) -> Promise<'a, ()>,
    ) -> Self {
        Self { name, handler: Handler::Schedule(handle) }
    }

    /// A function that administrators invoke.
    pub const fn direct(
        name: &'static str,
        handle: for<'a> fn(&'a App, Value) -> Promise<'a, Value>,
    ) -> Self {
        Self { name, handler: Handler::Direct(handle) }
    }
}

/// What came of one invocation.
#[derive(Debug)]
pub struct Outcome<T = Response> {
    /// The answer.
    pub response: T,
    /// Calls and units that it took.
    pub usage: Usage,
    /// How long it took.
    pub took: Duration,
}

/// An invocation that failed, as Lambda tells whatever invoked it. What is
/// behind an event source tries again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Failed {
    /// The stable code.
    pub code: &'static str,
    /// What the caller may know.
    pub detail: String,
}

/// Runs `function` on AWS Lambda until the environment ends.
pub fn run(function: Function) -> Result<(), Error> {
    telemetry::log_as_json();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let app = App::of_process().await?;
        if !matches!(function.handler, Handler::Http(_)) {
            return lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
                let outcome = invoke_event(&app, function, event.payload).await;
                telemetry::write_event_metrics(function.name, &outcome, app.clock.now());
                outcome.response.map_err(Error::from)
            }))
            .await;
        }
        lambda_runtime::run(service_fn(async |event: LambdaEvent<ApiGatewayV2httpRequest>| {
            let outcome = invoke(&app, function, event.payload).await;
            telemetry::write_metrics(function.name, &outcome, app.clock.now());
            Ok::<_, Error>(to_api_gateway(outcome.response))
        }))
        .await
    })
}

/// Runs `function` once on an event of an API Gateway HTTP API (payload format
/// 2.0). Whatever happens inside, a panic included, there is an answer. To
/// `HEAD` it has no body (RFC 9110, section 9.3.2).
pub async fn invoke(app: &App, function: Function, event: ApiGatewayV2httpRequest) -> Outcome {
    let request_id = event.request_context.request_id.clone().unwrap_or_else(|| app.new_id());
    let trace = event.headers.get("x-amzn-trace-id").and_then(|id| id.to_str().ok());
    let wants_body = event.request_context.http.method != Method::HEAD;
    let span = tracing::info_span!("request", function = function.name, request_id, trace);
    let work = async {
        let Handler::Http(handle) = function.handler else {
            return Err(Problem::internal("this function takes no requests"));
        };
        handle(app, to_request(event)?).await
    };
    let Outcome { response, usage, took } = watch(app, &span, work).await;
    let mut response = match response {
        Ok(reply) => respond(&reply),
        Err(problem) => refuse(&problem, &request_id),
    };
    if !wants_body {
        response.body_mut().clear();
    }
    Outcome { response, usage, took }
}

/// Runs `function` once on any event, as JSON: a batch of a stream or a queue,
/// a schedule's, or what an administrator sends. The answer to a batch names
/// those records that must come again
/// ([partial batch responses](https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html)).
pub async fn invoke_event(
    app: &App,
    function: Function,
    event: Value,
) -> Outcome<Result<Value, Failed>> {
    let request_id = app.new_id();
    let span = tracing::info_span!("event", function = function.name, request_id);
    let work = async {
        match function.handler {
            Handler::Http(_) => Err(Problem::internal("this function takes requests only")),
            Handler::Stream(handle) => {
                let failures = handle(app, Change::all_of(event)?).await?;
                failures.to_json()
            }
            Handler::Queue(handle) => {
                let failures = handle(app, Message::all_of(event)?).await?;
                failures.to_json()
            }
            Handler::Schedule(handle) => handle(app).await.map(|()| Value::Null),
            Handler::Direct(handle) => handle(app, event).await,
        }
    };
    let Outcome { response, usage, took } = watch(app, &span, work).await;
    let response = response.map_err(|problem| Failed {
        code: problem.kind().code,
        detail: problem.detail_or_title().to_owned(),
    });
    Outcome { response, usage, took }
}

/// Does `work` in `span`: a panic becomes a problem, a problem a line in the
/// log, and what it took is counted.
async fn watch<T>(
    app: &App,
    span: &tracing::Span,
    work: impl Future<Output = Result<T, Problem>>,
) -> Outcome<Result<T, Problem>> {
    let started = tokio::time::Instant::now();
    app.meter.take(); // what an invocation that was cut off left behind
    let response = AssertUnwindSafe(work.instrument(span.clone())).catch_unwind().await;
    let response = response.unwrap_or_else(|panic| {
        Err(Problem::internal(format!("panicked: {}", panic_message(panic.as_ref()))))
    });
    if let Err(problem) = &response {
        span.in_scope(|| log(problem));
    }
    Outcome { response, usage: app.meter.take(), took: started.elapsed() }
}

fn log(problem: &Problem) {
    let code = problem.kind().code;
    if problem.kind().status >= 500 {
        tracing::error!(code, cause = problem.cause(), "failed");
    } else {
        tracing::debug!(code, cause = problem.cause(), "refused");
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// The request in an event. The conversion in `lambda_http` panics on a host
/// that cannot stand in a URL, on base64 that is none and on a query that is not
/// encoded; a caller's bad event must not look like a failure of ours.
fn to_request(mut event: ApiGatewayV2httpRequest) -> Result<Request, Problem> {
    if event.is_base64_encoded && !event.body.as_deref().is_none_or(is_base64) {
        return Err(Problem::invalid("body", "expected base64"));
    }
    let query = event.raw_query_string.as_deref().unwrap_or_default();
    if format!("/?{query}").parse::<PathAndQuery>().is_err() {
        return Err(Problem::invalid("query", "expected a percent-encoded query"));
    }
    if !event.raw_path.as_deref().is_some_and(|path| path.starts_with('/')) {
        event.raw_path = Some("/".to_owned());
    }
    event.headers.remove(HOST); // no handler asks by which name it was called
    event.request_context.domain_name = None;
    Ok(LambdaRequest::ApiGatewayV2(event).into())
}

/// A response as an API Gateway HTTP API takes it.
pub fn to_api_gateway(response: Response) -> ApiGatewayV2httpResponse {
    let (parts, body) = response.into_parts();
    let mut answer = ApiGatewayV2httpResponse::default();
    answer.status_code = i64::from(parts.status.as_u16());
    answer.headers = parts.headers;
    answer.body = (!body.is_empty()).then_some(Body::Text(body));
    answer
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::app::{Clients, Settings};
    use crate::clock::Clock;

    fn app() -> App {
        let config = aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .region(aws_config::Region::new("us-east-1"))
            .build();
        let random = fastrand::Rng::with_seed(1);
        App::new(Settings::default(), Clock::System, random, Clients::of(&config)).unwrap()
    }

    fn event(body: &str) -> ApiGatewayV2httpRequest {
        serde_json::from_value(serde_json::json!({
            "version": "2.0",
            "rawPath": "/x",
            "rawQueryString": "",
            "headers": {},
            "requestContext": { "http": { "method": "POST", "path": "/x" }, "requestId": "r-1" },
            "body": body,
            "isBase64Encoded": false,
        }))
        .unwrap()
    }

    const PANICS: Function = Function::http("panics", |_, _| Box::pin(panic_once()));
    static PANICKED: AtomicBool = AtomicBool::new(false);

    async fn panic_once() -> Result<Reply, Problem> {
        assert!(PANICKED.swap(true, Ordering::SeqCst), "the first request fails");
        Ok(Reply::no_content())
    }

    #[tokio::test]
    async fn a_panic_answers_500_and_the_next_request_works() {
        let app = app();
        let first = invoke(&app, PANICS, event("")).await.response;
        assert_eq!(first.status(), 500);
        let body: serde_json::Value = serde_json::from_str(first.body()).unwrap();
        assert_eq!((&body["code"], &body["requestId"]), (&"INTERNAL".into(), &"r-1".into()));
        assert_eq!(invoke(&app, PANICS, event("")).await.response.status(), 204);
    }

    #[tokio::test]
    async fn the_answer_to_head_has_the_headers_and_no_body() {
        const FOUND: Function = Function::http("found", |_, _| {
            Box::pin(async { Ok(Reply::ok(&serde_json::json!({ "id": 1 }))?.etag(3)) })
        });
        const MISSING: Function = Function::http("missing", |_, _| {
            Box::pin(async { Err(crate::problem::ROUTE_NOT_FOUND.into()) })
        });
        let app = app();
        for (function, status) in [(FOUND, 200), (MISSING, 404)] {
            let mut head = event("");
            head.request_context.http.method = Method::HEAD;
            let response = invoke(&app, function, head).await.response;
            assert_eq!((response.status().as_u16(), response.body().as_str()), (status, ""));
            assert!(response.headers()["content-type"].to_str().unwrap().ends_with("json"));
            assert_eq!(response.headers().contains_key("etag"), status == 200);
        }
    }

    #[tokio::test]
    async fn events_that_cannot_be_requests_are_refused() {
        const OK: Function =
            Function::http("ok", |_, _| Box::pin(async { Ok(Reply::no_content()) }));
        let app = app();
        let mut bad_base64 = event("not base64!");
        bad_base64.is_base64_encoded = true;
        assert_eq!(invoke(&app, OK, bad_base64).await.response.status(), 400);
        let mut bad_query = event("");
        bad_query.raw_query_string = Some("a b".into());
        assert_eq!(invoke(&app, OK, bad_query).await.response.status(), 400);
        for path in ["", "evil:99999999", "/a b/\u{7f}", "//[", "/\\?#", "/é%zz"] {
            let mut odd = event("");
            odd.raw_path = Some(path.into());
            odd.headers.insert(HOST, "evil[".parse().unwrap());
            odd.headers.insert("x-forwarded-proto", "::".parse().unwrap());
            odd.request_context.domain_name = Some("evil[".into());
            assert_eq!(invoke(&app, OK, odd).await.response.status(), 204, "{path}");
        }
    }

    #[tokio::test]
    async fn an_event_that_fails_says_so_to_what_invoked_it() {
        const TWICE: Function = Function::direct("twice", |_, event| {
            Box::pin(async move {
                let number =
                    event.as_u64().ok_or_else(|| Problem::invalid("event", "no number"))?;
                Ok(Value::from(number * 2))
            })
        });
        let app = app();
        assert_eq!(invoke_event(&app, TWICE, 21.into()).await.response, Ok(42.into()));
        let failed = invoke_event(&app, TWICE, "x".into()).await.response.unwrap_err();
        assert_eq!(failed.to_string(), "INVALID_REQUEST: event: no number");
        let failed = invoke_event(&app, PANICS, Value::Null).await.response.unwrap_err();
        assert_eq!(failed.code, "INTERNAL");
        assert_eq!(invoke(&app, TWICE, event("")).await.response.status(), 500);
    }

    #[test]
    fn an_answer_becomes_what_api_gateway_takes() {
        let reply = Reply::created("/things/1", &serde_json::json!({"id": 1})).unwrap();
        let answer = serde_json::to_value(to_api_gateway(respond(&reply))).unwrap();
        assert_eq!(answer["statusCode"], 201);
        assert_eq!(answer["headers"]["location"], "/things/1");
        assert_eq!(answer["body"], r#"{"id":1}"#);
        assert_eq!(answer["isBase64Encoded"], false);
    }
}
