//! The SDK's requests, handed over without a socket.

use std::sync::Arc;

use aws_sdk_dynamodb::config::{
    BehaviorVersion, Credentials, Region, StalledStreamProtectionConfig,
};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use axum::body::Bytes;

use super::link::{Answer, Call, Link};

/// A client whose calls go to `link`.
pub(crate) fn client(link: Arc<dyn Link>) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(Connector(link));
    platform::app::dynamodb_client(config)
}

#[derive(Clone, Debug)]
struct Connector(Arc<dyn Link>);

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
        let link = Arc::clone(&self.0);
        HttpConnectorFuture::new(async move {
            let answer = link.call(to_call(&request)).await;
            answer.map_err(|lost| ConnectorError::io(lost.into())).and_then(to_response)
        })
    }
}

fn to_call(request: &HttpRequest) -> Call {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    let body = request.body().bytes().unwrap_or_default();
    Call { operation: operation(target).to_owned(), body: Bytes::copy_from_slice(body) }
}

fn to_response(answer: Answer) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(answer.status);
    let status = status.map_err(|error| ConnectorError::other(error.into(), None))?;
    let mut response = HttpResponse::new(status, SdkBody::from(answer.body));
    let headers = response.headers_mut();
    headers.insert("content-type", "application/x-amz-json-1.0");
    Ok(response)
}

/// The operation in an `X-Amz-Target`, as in `DynamoDB_20120810.GetItem`.
pub(crate) fn operation(target: &str) -> &str {
    target.split_once('.').map_or("", |(_, operation)| operation)
}
