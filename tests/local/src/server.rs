//! A cloud on sockets: its API for browsers and load generators, and its
//! DynamoDB, SQS and Secrets Manager for other tools. All listen on the loopback
//! interface, unless another address is asked for.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodFilter, get, on};
use axum::serve::ListenerExt;
use futures_util::StreamExt;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cloud::Cloud;
use crate::connector::operation;
use crate::gateway::{MOST_BODY_BYTES, refusal};
use crate::link::{Answer, Call, Link};
use crate::sources::Drivers;
use crate::sqs;
use crate::status::{METRICS_TYPE, PAGE};
use crate::template::QUEUE_HOST;

/// The largest body that DynamoDB takes, in bytes; SQS takes less.
const MOST_CALL_BYTES: usize = 16 * 1024 * 1024;

/// How long connections may stay open when the cloud is stopped: long enough
/// for a request that is being sent to be answered.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// A port that cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process has it.
    #[error(
        "port {0} is in use: stop what listens there, or choose another --port (0 takes a free one)"
    )]
    InUse(u16),
    /// The system refuses.
    #[error("cannot listen on {address}: {error}; choose another --port or --bind")]
    Refused {
        /// The address and the port.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
}

/// A cloud that is being served. Dropped, it takes no more connections.
pub struct Served {
    url: String,
    dynamodb_url: String,
    sqs_url: String,
    secrets_url: String,
    cloud: Cloud,
    stop: watch::Sender<()>,
    servers: Vec<JoinHandle<io::Result<()>>>,
    drivers: Option<Drivers>,
}

impl Cloud {
    /// Serves the API on `port` of the loopback interface (0 takes a free one),
    /// and the services behind it on free ones.
    pub async fn serve(&self, port: u16) -> Result<Served, ServeError> {
        self.serve_at(Ipv4Addr::LOCALHOST.into(), port).await
    }

    /// Serves the same at another address: whoever reaches it can do anything.
    pub async fn serve_at(&self, address: IpAddr, port: u16) -> Result<Served, ServeError> {
        let (api, url) = listen((address, port).into()).await?;
        let (dynamodb, dynamodb_url) = listen((address, 0).into()).await?;
        let (sqs, sqs_url) = listen((address, 0).into()).await?;
        let (secrets, secrets_url) = listen((address, 0).into()).await?;
        let (stop, stopped) = watch::channel(());
        let servers = [
            (api, api_router(self)),
            (dynamodb, service_router(self.link(), None)),
            (sqs, service_router(self.queue_link(), Some(sqs_url.clone()))),
            (secrets, service_router(self.secrets_link(), None)),
        ];
        let servers = servers.map(|(listener, router)| {
            let mut stopped = stopped.clone();
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true); // slower without, but no less right
            });
            let server = axum::serve(listener, router).with_graceful_shutdown(async move {
                let _ = stopped.changed().await; // sent or dropped, both mean stop
            });
            tokio::spawn(server.into_future())
        });
        Ok(Served {
            url,
            dynamodb_url,
            sqs_url,
            secrets_url,
            cloud: self.clone(),
            stop,
            servers: servers.into(),
            drivers: self.runs_sources().then(|| self.drive()),
        })
    }
}

impl Served {
    /// Where the API answers, as in `http://127.0.0.1:9000`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where DynamoDB answers, for other tools.
    pub fn dynamodb_url(&self) -> &str {
        &self.dynamodb_url
    }

    /// Where SQS answers, for other tools.
    pub fn sqs_url(&self) -> &str {
        &self.sqs_url
    }

    /// Where Secrets Manager answers, for functions that run elsewhere.
    pub fn secrets_url(&self) -> &str {
        &self.secrets_url
    }

    /// With what settings a function that runs elsewhere finds this cloud: lines
    /// like `NAME='value'`, for a shell or as an environment file.
    pub fn settings(&self) -> String {
        let line = |(name, value): (&str, &str)| {
            format!("{name}='{}'\n", value.replace(QUEUE_HOST, &self.sqs_url))
        };
        let own = [
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL_DYNAMODB", &self.dynamodb_url),
            ("AWS_ENDPOINT_URL_SQS", &self.sqs_url),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", &self.secrets_url),
        ];
        let declared = self.cloud.settings().iter().map(|(n, v)| (n.as_str(), v.as_str()));
        own.into_iter().chain(declared).map(line).collect()
    }

    /// The cloud behind.
    pub fn cloud(&self) -> &Cloud {
        &self.cloud
    }

    /// Takes no more requests, and comes back when those in flight are done. A
    /// request that was sent only in part is not waited for.
    pub async fn stop(mut self) {
        self.stop.send_replace(());
        let servers = std::mem::take(&mut self.servers);
        let closed = async {
            for server in servers {
                let _ = server.await; // how it ended does not matter any more
            }
        };
        if tokio::time::timeout(LAST_REQUESTS, closed).await.is_err() {
            tracing::info!("closing connections that are still open");
        }
        if let Some(drivers) = self.drivers.take() {
            drivers.stop().await;
        }
        self.cloud.quiet().await;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        for server in &self.servers {
            server.abort();
        }
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, String), ServeError> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => ServeError::InUse(address.port()),
        _ => ServeError::Refused { address, error },
    };
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok((listener, format!("http://{address}")))
}

fn api_router(cloud: &Cloud) -> Router {
    let mut router = Router::new()
        .route("/_local/status.json", get(status))
        .route("/_local/metrics", get(metrics));
    if cloud.shows_page() {
        // what is no GET goes to the API
        router = router.route("/", on(MethodFilter::GET, page).fallback(answer));
    }
    router.fallback(answer).with_state(cloud.clone())
}

async fn page() -> Response {
    json(StatusCode::OK, "text/html; charset=utf-8", PAGE)
}

async fn metrics(State(cloud): State<Cloud>) -> Response {
    json(StatusCode::OK, METRICS_TYPE, cloud.metrics())
}

async fn status(State(cloud): State<Cloud>) -> Response {
    json(StatusCode::OK, "application/json", cloud.status().to_string())
}

async fn answer(State(cloud): State<Cloud>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = read(body, MOST_BODY_BYTES).await else {
        return refusal(StatusCode::BAD_REQUEST, "Bad Request").response.map(Body::from);
    };
    let response = cloud.request(Request::from_parts(parts, body)).await.response;
    response.map(Body::from)
}

/// A service of AWS behind a port.
#[derive(Clone)]
struct Service {
    link: Arc<dyn Link>,
    /// Where queues are, as seen from here.
    queue_host: Option<String>,
}

/// Takes calls on any path, since some clients of SQS send to a queue's URL.
fn service_router(link: Arc<dyn Link>, queue_host: Option<String>) -> Router {
    Router::new().fallback(call).with_state(Service { link, queue_host })
}

async fn call(State(service): State<Service>, request: Request) -> Response {
    let target = request.headers().get("x-amz-target");
    let target = target.and_then(|target| target.to_str().ok());
    let operation = operation(target.unwrap_or_default()).to_owned();
    let Ok(body) = read(request.into_body(), MOST_CALL_BYTES).await else {
        return json(StatusCode::BAD_REQUEST, "text/plain", "the request was cut off");
    };
    let names_queues = sqs::names_queues(&operation);
    match service.link.call(Call { operation, body }).await {
        Ok(mut answer) => {
            if let (true, Some(host)) = (names_queues, &service.queue_host) {
                answer = sqs::at(host, &answer);
            }
            answered(answer)
        }
        Err(lost) => json(StatusCode::GATEWAY_TIMEOUT, "text/plain", lost.to_string()),
    }
}

fn answered(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let query_error = sqs::query_error(&answer).and_then(|error| error.parse().ok());
    let mut response = json(status, "application/x-amz-json-1.0", answer.body);
    if let Some(error) = query_error {
        response.headers_mut().insert(sqs::QUERY_ERROR, error);
    }
    response
}

fn json(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// Reads a body to its end, since a client that still sends would not hear the
/// answer; but keeps no more than one byte above `most` of it. A body that does
/// not arrive whole is an error: nothing may be done by half of a request.
async fn read(body: Body, most: usize) -> Result<Bytes, axum::Error> {
    let mut kept = Vec::new();
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        let room = (most + 1).saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }
    Ok(kept.into())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::cloud::Options;

    async fn send(url: &str, head: &str, body: &[u8]) -> String {
        let address = url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let head = format!(
            "{head}\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn served() -> Served {
        let cloud = Cloud::start(Options::default()).await.unwrap();
        cloud.serve(0).await.unwrap()
    }

    #[tokio::test]
    async fn the_api_and_the_status_page_answer_on_one_port() {
        let served = served().await;
        let health = send(served.url(), "GET /health HTTP/1.1", b"").await;
        assert!(health.starts_with("HTTP/1.1 200") && health.ends_with(r#"{"status":"ok"}"#));
        let head = send(served.url(), "HEAD /health HTTP/1.1", b"").await;
        assert!(head.starts_with("HTTP/1.1 404") && head.ends_with("\r\n\r\n"), "{head}");
        let status = send(served.url(), "GET /_local/status.json HTTP/1.1", b"").await;
        assert!(status.contains(r#""health":{"actions":{},"calls":0"#), "{status}");
        served.stop().await;
    }

    #[tokio::test]
    async fn figures_and_a_page_for_people_stand_beside_the_status() {
        let served = served().await;
        let figures = send(served.url(), "GET /_local/metrics HTTP/1.1", b"").await;
        assert!(figures.contains("content-type: text/plain; version=0.0.4"), "{figures}");
        assert!(figures.contains("# TYPE hotseat_function_requests_total counter"), "{figures}");
        let page = send(served.url(), "GET / HTTP/1.1", b"").await;
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        assert!(page.contains("content-type: text/html; charset=utf-8"), "{page}");
        assert!(page.trim_end().ends_with("</html>"), "{page}");
        let post = send(served.url(), "POST / HTTP/1.1", b"").await;
        assert!(post.contains("ROUTE_NOT_FOUND"), "{post}");
        served.stop().await;
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_answered_all_the_same() {
        let served = served().await;
        let body = vec![b'x'; 2 * MOST_BODY_BYTES];
        let answer = send(served.url(), "POST /enrollments HTTP/1.1", &body).await;
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    }

    #[tokio::test]
    async fn dynamodb_answers_on_a_port_of_its_own() {
        let served = served().await;
        let head = "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.ListTables";
        let tables = send(served.dynamodb_url(), head, b"{}").await;
        assert!(tables.contains(r#"{"TableNames":["Announcement""#), "{tables}");
        let unknown = send(served.dynamodb_url(), "POST / HTTP/1.1", b"{}").await;
        assert!(unknown.starts_with("HTTP/1.1 400"), "{unknown}");
        assert!(unknown.contains("UnknownOperationException"), "{unknown}");
    }

    #[tokio::test]
    async fn sqs_answers_on_a_port_of_its_own() {
        let served = served().await;
        let head = "POST / HTTP/1.1\r\nX-Amz-Target: AmazonSQS.ListQueues";
        let queues = send(served.sqs_url(), head, b"{}").await;
        assert!(queues.starts_with("HTTP/1.1 200") && queues.contains("QueueUrls"), "{queues}");
        let head = "POST /000000000000/None HTTP/1.1\r\nX-Amz-Target: AmazonSQS.GetQueueUrl";
        let unknown = send(served.sqs_url(), head, br#"{"QueueName": "None"}"#).await;
        let header = "x-amzn-query-error: AWS.SimpleQueueService.NonExistentQueue;Sender";
        assert!(unknown.starts_with("HTTP/1.1 400") && unknown.contains(header), "{unknown}");
    }

    #[tokio::test]
    async fn secrets_manager_answers_on_a_port_of_its_own() {
        let served = served().await;
        let head = "POST / HTTP/1.1\r\nX-Amz-Target: secretsmanager.GetSecretValue";
        let secret =
            send(served.secrets_url(), head, br#"{"SecretId": "hotseat-signing-keys"}"#).await;
        assert!(secret.contains("BEGIN PRIVATE KEY"), "{secret}");
        let unknown = send(served.secrets_url(), head, br#"{"SecretId": "none"}"#).await;
        assert!(unknown.contains("ResourceNotFoundException"), "{unknown}");
    }

    #[tokio::test]
    async fn settings_lead_a_function_elsewhere_to_this_cloud() {
        let served = served().await;
        let settings = served.settings();
        let has = |line: String| assert!(settings.lines().any(|l| l == line), "{line}: {settings}");
        has(format!("AWS_ENDPOINT_URL_SECRETS_MANAGER='{}'", served.secrets_url()));
        has(format!("EVENTS_QUEUE_URL='{}/000000000000/Events.fifo'", served.sqs_url()));
        has("ENROLLMENT_TABLE='Enrollment'".to_owned());
        has("SIGNING_KEYS_SECRET='hotseat-signing-keys'".to_owned());
        assert!(settings.contains("TOKEN_KEYS='{\"keys\":[{"), "{settings}");
        assert!(!settings.contains("PRIVATE"), "{settings}");
    }

    #[tokio::test]
    async fn everything_listens_at_the_address_that_is_asked_for() {
        let cloud = Cloud::start(Options::default()).await.unwrap();
        let served = cloud.serve_at([127, 0, 0, 2].into(), 0).await.unwrap();
        let urls = [served.url(), served.dynamodb_url(), served.sqs_url(), served.secrets_url()];
        for url in urls {
            assert!(url.starts_with("http://127.0.0.2:"), "{url}");
            let port = url.rsplit(':').next().unwrap();
            assert!(TcpStream::connect(format!("127.0.0.1:{port}")).await.is_err(), "{url}");
        }
        let nowhere = cloud.serve_at([192, 0, 2, 1].into(), 0).await.err().unwrap().to_string();
        assert!(nowhere.contains("192.0.2.1") && nowhere.contains("--bind"), "{nowhere}");
    }

    #[tokio::test]
    async fn a_port_in_use_is_named() {
        let served = served().await;
        let port: u16 = served.url().rsplit(':').next().unwrap().parse().unwrap();
        let error = served.cloud().serve(port).await.err().unwrap().to_string();
        assert!(error.contains(&port.to_string()) && error.contains("--port"), "{error}");
    }

    #[tokio::test]
    async fn once_stopped_nothing_listens() {
        let served = served().await;
        let address = served.url().strip_prefix("http://").unwrap().to_owned();
        served.stop().await;
        assert!(TcpStream::connect(address).await.is_err());
    }
}
