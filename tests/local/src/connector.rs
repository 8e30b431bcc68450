//! The SDK's requests, handed over without a socket.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_async::time::TimeSource;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use axum::body::Bytes;
use platform::app::Clients;
use platform::clock::Clock;

use crate::link::{Answer, Call, Link};
use crate::sqs;

/// The ways to the services.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    pub(crate) dynamodb: Arc<dyn Link>,
    pub(crate) sqs: Arc<dyn Link>,
    pub(crate) secrets: Arc<dyn Link>,
}

/// Clients whose calls go to `links`. They sign nothing, since nobody here would
/// check it. Their time is that of `clock`, and they wait on Tokio's.
pub(crate) fn clients(links: &Links, clock: &Clock) -> Clients {
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .sleep_impl(TokioSleep::new())
        .time_source(Time(clock.clone()))
        .http_client(Connector(links.clone()))
        .build();
    let secrets = aws_sdk_secretsmanager::config::Builder::from(&config).allow_no_auth();
    let config = Clients::configure(&config);
    let dynamodb = aws_sdk_dynamodb::config::Builder::from(&config).allow_no_auth();
    let sqs = aws_sdk_sqs::config::Builder::from(&config).allow_no_auth();
    Clients {
        dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb.build()),
        sqs: aws_sdk_sqs::Client::from_conf(sqs.build()),
        secrets: Some(aws_sdk_secretsmanager::Client::from_conf(secrets.build())),
    }
}

/// The cloud's time, as the SDK asks for it.
#[derive(Debug)]
struct Time(Clock);

impl TimeSource for Time {
    fn now(&self) -> SystemTime {
        let ms = u64::try_from(self.0.now().as_millis()).unwrap_or(0);
        SystemTime::UNIX_EPOCH + Duration::from_millis(ms)
    }
}

#[derive(Clone, Debug)]
struct Connector(Links);

impl HttpClient for Connector {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let link = match target.split('.').next() {
            Some("AmazonSQS") => &self.0.sqs,
            Some("secretsmanager") => &self.0.secrets,
            _ => &self.0.dynamodb,
        };
        let (link, call) = (Arc::clone(link), to_call(target, &request));
        HttpConnectorFuture::new(async move {
            let answer = link.call(call).await;
            answer.map_err(|lost| ConnectorError::io(lost.into())).and_then(to_response)
        })
    }
}

fn to_call(target: &str, request: &HttpRequest) -> Call {
    let body = request.body().bytes().unwrap_or_default();
    Call { operation: operation(target).to_owned(), body: Bytes::copy_from_slice(body) }
}

fn to_response(answer: Answer) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(answer.status);
    let status = status.map_err(|error| ConnectorError::other(error.into(), None))?;
    let query_error = sqs::query_error(&answer);
    let mut response = HttpResponse::new(status, SdkBody::from(answer.body));
    let headers = response.headers_mut();
    headers.insert("content-type", "application/x-amz-json-1.0");
    if let Some(error) = query_error {
        headers.insert(sqs::QUERY_ERROR, error);
    }
    Ok(response)
}

/// The operation in an `X-Amz-Target`, as in `DynamoDB_20120810.GetItem`.
pub(crate) fn operation(target: &str) -> &str {
    target.split_once('.').map_or("", |(_, operation)| operation)
}
