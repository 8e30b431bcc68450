//! Running handlers: on AWS, and for the local cloud, which calls [`invoke`].
//!
//! A handler's future is boxed where it is written and taken type-erased here,
//! so that the runtime is compiled once and a binary only names its function.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use aws_lambda_events::encodings::Body;
use futures_util::FutureExt;
use http::header::HOST;
use http::uri::PathAndQuery;
use lambda_http::request::LambdaRequest;
pub use lambda_runtime::Error;
use lambda_runtime::{LambdaEvent, service_fn};
use tracing::Instrument;

use crate::app::App;
use crate::http::{Reply, Request, Response, is_base64, refuse, respond};
use crate::meter::Usage;
use crate::problem::Problem;
use crate::telemetry;

/// What a handler promises to answer.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send + 'a>>;

/// One operation, which is one Lambda function.
#[derive(Clone, Copy)]
pub struct Function {
    /// Its name: that of its file, binary, event and template resource.
    pub name: &'static str,
    /// Its handler.
    pub handle: for<'a> fn(&'a App, Request) -> Answer<'a>,
}

/// What came of one invocation.
#[derive(Debug)]
pub struct Outcome {
    /// The answer.
    pub response: Response,
    /// Calls and units that it took.
    pub usage: Usage,
    /// How long it took.
    pub took: Duration,
}

/// Runs `function` on AWS Lambda until the environment ends.
pub fn run(function: Function) -> Result<(), Error> {
    telemetry::log_as_json();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let app = App::of_process().await?;
        lambda_runtime::run(service_fn(async |event: LambdaEvent<ApiGatewayV2httpRequest>| {
            let outcome = invoke(&app, function, event.payload).await;
            telemetry::write_metrics(function.name, &outcome, app.clock.now());
            Ok::<_, Error>(to_api_gateway(outcome.response))
        }))
        .await
    })
}

/// Runs `function` once on an event of an API Gateway HTTP API (payload format
/// 2.0). Whatever happens inside, a panic included, there is an answer.
pub async fn invoke(app: &App, function: Function, event: ApiGatewayV2httpRequest) -> Outcome {
    let started = tokio::time::Instant::now();
    let request_id = event.request_context.request_id.clone().unwrap_or_else(|| app.new_id());
    let trace = event.headers.get("x-amzn-trace-id").and_then(|id| id.to_str().ok());
    let span = tracing::info_span!("request", function = function.name, request_id, trace);
    app.meter.take(); // what an invocation that was cut off left behind
    let work = async {
        let request = to_request(event)?;
        (function.handle)(app, request).await
    };
    let answer = AssertUnwindSafe(work.instrument(span.clone())).catch_unwind().await;
    let answer = answer.unwrap_or_else(|panic| {
        Err(Problem::internal(format!("panicked: {}", panic_message(panic.as_ref()))))
    });
    let response = match answer {
        Ok(reply) => respond(&reply),
        Err(problem) => {
            span.in_scope(|| log(&problem));
            refuse(&problem, &request_id)
        }
    };
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

    use aws_sdk_dynamodb::config::{BehaviorVersion, Region};

    use super::*;
    use crate::app::{Settings, dynamodb_client};
    use crate::clock::Clock;

    fn app() -> App {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"));
        let random = fastrand::Rng::with_seed(1);
        App::new(Settings::default(), Clock::System, random, dynamodb_client(config)).unwrap()
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

    const PANICS: Function = Function { name: "panics", handle: |_, _| Box::pin(panic_once()) };
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
    async fn events_that_cannot_be_requests_are_refused() {
        const OK: Function =
            Function { name: "ok", handle: |_, _| Box::pin(async { Ok(Reply::no_content()) }) };
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
