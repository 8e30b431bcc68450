//! HTTP in and out: body, path and query of a request, and the reply.

use base64::Engine;
use garde::Validate;
use http::{HeaderName, HeaderValue, StatusCode, header};
use lambda_http::{Body, RequestExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cursor;
use crate::problem::{self, Problem};

/// A request as API Gateway handed it over.
pub type Request = lambda_http::Request;

/// The largest body that an operation reads, in bytes (1 MB).
pub const MOST_BODY_BYTES: usize = 1_000_000;

/// The body as it came, decoded if it was base64.
pub fn body_bytes(request: &Request) -> Result<&[u8], Problem> {
    let bytes = match request.body() {
        Body::Text(text) => text.as_bytes(),
        Body::Binary(bytes) => bytes,
        _ => &[],
    };
    if bytes.len() > MOST_BODY_BYTES {
        let detail = format!("At most {MOST_BODY_BYTES} bytes, not {}.", bytes.len());
        return Err(Problem::from(problem::BODY_TOO_LARGE).detail(detail));
    }
    Ok(bytes)
}

/// The body read as JSON, whatever its Content-Type says, and validated.
pub fn body<T>(request: &Request) -> Result<T, Problem>
where
    T: DeserializeOwned + Validate<Context = ()>,
{
    let bytes = body_bytes(request)?;
    if bytes.is_empty() {
        return Err(Problem::invalid("body", "expected JSON, got nothing"));
    }
    // Fields that are passed over must be JSON too, and nested no deeper than
    // 128, which is looked at only in what is kept.
    let text = std::str::from_utf8(bytes).map_err(|error| Problem::invalid("body", error))?;
    let value: Value =
        serde_json::from_str(text).map_err(|error| Problem::invalid("body", error))?;
    if !value.is_object() {
        return Err(Problem::invalid("body", "expected a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let value: T = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        misread(&path, &error.into_inner().to_string())
    })?;
    validate(&value)?;
    Ok(value)
}

/// What the parser says of the field at `path`, in words for a client.
fn misread(path: &str, message: &str) -> Problem {
    let message = message.split(" at line ").next().unwrap_or_default();
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    match (path, missing) {
        (".", Some(field)) => Problem::invalid(field, "is missing"),
        (path, Some(field)) => Problem::invalid(format!("{path}.{field}"), "is missing"),
        (".", None) => Problem::invalid("body", message),
        (path, None) => Problem::invalid(path, message),
    }
}

/// Refuses what breaks a rule of its type, naming every field that does.
pub fn validate<T: Validate<Context = ()>>(value: &T) -> Result<(), Problem> {
    value.validate().map_err(|report| {
        Problem::invalid_fields(
            report.iter().map(|(path, error)| (camel_case(&path.to_string()), error.to_string())),
        )
    })
}

/// Fields are named in Rust style in reports and in camel case in JSON.
fn camel_case(path: &str) -> String {
    let mut camel = String::with_capacity(path.len());
    let mut upper = false;
    for c in path.chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                camel.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => camel.push(c),
        }
    }
    camel
}

/// A parameter of the path, as in `path::<CourseId>(&request, "courseId")`.
pub fn path<T>(request: &Request, name: &str) -> Result<T, Problem>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let parameters = request.path_parameters_ref();
    let text = parameters.and_then(|parameters| parameters.first(name)).unwrap_or_default();
    text.parse().map_err(|error| Problem::invalid(name, error))
}

/// A parameter of the query, if it is there.
pub fn query<T>(request: &Request, name: &str) -> Result<Option<T>, Problem>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let parameters = request.query_string_parameters_ref();
    let Some(text) = parameters.and_then(|parameters| parameters.first(name)) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|error| Problem::invalid(name, error))
}

/// A header's value, if it is there and is text.
pub fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}

/// The version that `If-Match` asks for, of those that [`Reply::etag`] tells;
/// `None` if any will do. An `ETag` that is none of ours, or a weak one, which
/// never matches here (RFC 9110, section 13.1.1), is version 0: no thing has it.
pub fn if_match(request: &Request) -> Result<Option<u64>, Problem> {
    let refused = || Problem::invalid("If-Match", "expected * or one ETag, as in \"3\"");
    let mut values = request.headers().get_all(header::IF_MATCH).into_iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        let is_absent = !request.headers().contains_key(header::IF_MATCH);
        return if is_absent { Ok(None) } else { Err(refused()) };
    };
    let value = value.to_str().map_err(|_| refused())?.trim();
    if value == "*" {
        return Ok(None);
    }
    let (is_weak, quoted) = value.strip_prefix("W/").map_or((false, value), |tag| (true, tag));
    let tag = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let tag = tag.filter(|tag| tag.bytes().all(|b| b.is_ascii_graphic() && b != b'"'));
    let version = tag.ok_or_else(refused)?.parse().ok();
    let is_ours = |version: &u64| !is_weak && value == etag(*version);
    Ok(Some(version.filter(is_ours).unwrap_or(0)))
}

/// A version as an `ETag`.
fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

/// Which page of a list is asked for.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// At most so many items, 1 to 100.
    pub limit: usize,
    /// Where the page before ended.
    pub after: Option<T>,
    list: String,
}

impl<T: Serialize + DeserializeOwned> Page<T> {
    /// Reads `?limit=` (1 to 100, default 20) and `?cursor=` of the list named
    /// `list` (see [`cursor::encode`]).
    pub fn of(request: &Request, list: impl Into<String>) -> Result<Self, Problem> {
        Self::with_default(request, list, 20)
    }

    /// Likewise, with `default` items where there is no `?limit=`.
    pub fn with_default(
        request: &Request,
        list: impl Into<String>,
        default: usize,
    ) -> Result<Self, Problem> {
        let list = list.into();
        let limit = query::<usize>(request, "limit")?.unwrap_or(default);
        if !(1..=100).contains(&limit) {
            return Err(Problem::invalid("limit", "expected 1 to 100"));
        }
        let cursor = query::<String>(request, "cursor")?;
        let after = cursor.map(|cursor| cursor::decode(&list, &cursor)).transpose()?;
        Ok(Self { limit, after, list })
    }

    /// The positions on this page, and the cursor that leads on to the next, of
    /// `positions` from where the page before ended: at least one more than
    /// [`Page::limit`] if the list goes on.
    pub fn cut(&self, mut positions: Vec<T>) -> Result<(Vec<T>, Option<String>), Problem> {
        let goes_on = positions.len() > self.limit;
        positions.truncate(self.limit);
        let last = positions.last().filter(|_| goes_on);
        let next_cursor = last.map(|last| cursor::encode(&self.list, last)).transpose()?;
        Ok((positions, next_cursor))
    }
}

/// A page of a list as JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    /// What is on the page.
    pub items: Vec<T>,
    /// Leads on to the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    status: StatusCode,
    location: Option<String>,
    version: Option<u64>,
    content: Option<Content>,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Json(Value),
    Html(String),
}

impl Reply {
    /// 200 with `body`.
    pub fn ok(body: &impl Serialize) -> Result<Self, Problem> {
        Self::new(StatusCode::OK, None, Some(body))
    }

    /// 200 with a page for people.
    pub fn html(page: impl Into<String>) -> Self {
        let content = Some(Content::Html(page.into()));
        Self { status: StatusCode::OK, location: None, version: None, content }
    }

    /// 201 with `body`, which lies at the path `location`.
    pub fn created(location: impl Into<String>, body: &impl Serialize) -> Result<Self, Problem> {
        Self::new(StatusCode::CREATED, Some(location.into()), Some(body))
    }

    /// 202 with `body`.
    pub fn accepted(body: &impl Serialize) -> Result<Self, Problem> {
        Self::new(StatusCode::ACCEPTED, None, Some(body))
    }

    /// 204.
    pub fn no_content() -> Self {
        Self { status: StatusCode::NO_CONTENT, location: None, version: None, content: None }
    }

    /// An answer that was kept: its status, `Location` and body.
    pub fn kept(status: u16, location: Option<String>, body: &Value) -> Result<Self, Problem> {
        let status = StatusCode::from_u16(status).map_err(Problem::internal)?;
        Self::new(status, location, Some(body))
    }

    fn new(
        status: StatusCode,
        location: Option<String>,
        body: Option<&impl Serialize>,
    ) -> Result<Self, Problem> {
        let body = body.map(serde_json::to_value).transpose().map_err(Problem::internal)?;
        Ok(Self { status, location, version: None, content: body.map(Content::Json) })
    }

    /// Tells the version of the thing in the header `ETag`, which a client
    /// sends back in `If-Match` to change that version only.
    #[must_use]
    pub fn etag(self, version: u64) -> Self {
        Self { version: Some(version), ..self }
    }

    /// HTTP status.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The path of what was created.
    pub fn location(&self) -> Option<&str> {
        self.location.as_deref()
    }

    /// The version in the header `ETag`.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// The JSON that is sent.
    pub fn body(&self) -> Option<&Value> {
        match &self.content {
            Some(Content::Json(json)) => Some(json),
            Some(Content::Html(_)) | None => None,
        }
    }
}

/// Pages load nothing and run nothing: their style stands in them.
const PAGE_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");

/// An answer on the wire: status, headers, text.
pub type Response = http::Response<String>;

/// The wire form of a reply.
pub(crate) fn respond(reply: &Reply) -> Response {
    let (content_type, body) = match &reply.content {
        Some(Content::Json(json)) => ("application/json", Some(json.to_string())),
        Some(Content::Html(page)) => ("text/html; charset=utf-8", Some(page.clone())),
        None => ("", None),
    };
    let mut response = response(reply.status, content_type, body);
    if matches!(reply.content, Some(Content::Html(_))) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    }
    if let Some(location) = reply.location.as_deref().and_then(|l| HeaderValue::from_str(l).ok()) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    if let Some(etag) = reply.version.and_then(|v| HeaderValue::from_str(&etag(v)).ok()) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// The wire form of a problem.
pub(crate) fn refuse(problem: &Problem, request_id: &str) -> Response {
    let status = StatusCode::from_u16(problem.kind().status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = problem.to_json(request_id).to_string();
    let mut response = response(status, "application/problem+json", Some(body));
    if let Some(seconds) = problem.retry_after_s() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn response(status: StatusCode, content_type: &'static str, body: Option<String>) -> Response {
    let has_body = body.is_some();
    let mut response = Response::new(body.unwrap_or_default());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if has_body {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderName::from_static("x-content-type-options");
    headers.insert(nosniff, HeaderValue::from_static("nosniff"));
    response
}

/// Whether a base64 body can be decoded at all.
pub(crate) fn is_base64(body: &str) -> bool {
    base64::prelude::BASE64_STANDARD.decode(body).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize, Validate)]
    #[serde(rename_all = "camelCase")]
    struct Thing {
        #[garde(range(min = 1, max = 30))]
        start_period: u32,
    }

    fn read(body: impl Into<Body>) -> Result<Thing, Problem> {
        super::body(&Request::new(body.into()))
    }

    fn field_of(problem: &Problem) -> Value {
        problem.to_json("r")["errors"][0]["field"].clone()
    }

    #[test]
    fn a_body_is_read_as_json_whatever_else_it_holds() {
        let thing = read(r#"{"startPeriod": 3, "unknown": [[1]]}"#).unwrap();
        assert_eq!(thing.start_period, 3);
        assert_eq!(read(br#"{"startPeriod": 3}"#.to_vec()).unwrap().start_period, 3);
    }

    #[test]
    fn whatever_is_no_valid_body_is_refused_with_its_field() {
        let nested = format!(r#"{{"a": {}{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        for bad in ["", "{", "null", "[]", "[3]", "{} {}", nested.as_str(), r#"{"startPeriod":"#] {
            let problem = read(bad).unwrap_err();
            assert_eq!(problem.kind(), problem::INVALID_REQUEST, "{bad:.20}");
        }
        assert_eq!(read(vec![0xff, 0xfe]).unwrap_err().kind(), problem::INVALID_REQUEST);
        assert_eq!(field_of(&read("{}").unwrap_err()), "startPeriod");
        for bad in [r#""3""#, "-1", "1.5", "0", "31", "9223372036854775808", "null"] {
            let problem = read(format!(r#"{{"startPeriod": {bad}}}"#)).unwrap_err();
            assert_eq!(field_of(&problem), "startPeriod", "{bad}");
        }
    }

    #[test]
    fn the_last_page_has_no_cursor() {
        let page = Page::of(&Request::default(), "list").unwrap();
        assert_eq!(page.limit, 20);
        let (on_page, cursor) = page.cut((0..21).collect::<Vec<u32>>()).unwrap();
        assert_eq!(on_page.len(), 20);
        assert_eq!(cursor::decode::<u32>("list", &cursor.unwrap()).unwrap(), 19);
        assert_eq!(page.cut((0..20).collect()).unwrap().1, None);
        assert_eq!(page.cut(vec![]).unwrap(), (vec![], None));
    }

    fn asked_for(if_match: &str) -> Result<Option<u64>, Problem> {
        let mut request = Request::default();
        request.headers_mut().insert("if-match", if_match.parse().unwrap());
        super::if_match(&request)
    }

    #[test]
    fn if_match_asks_for_the_version_that_an_etag_told() {
        let reply = Reply::no_content().etag(3);
        let sent = respond(&reply).headers()["etag"].clone();
        assert_eq!(sent, "\"3\"");
        assert_eq!(asked_for(sent.to_str().unwrap()).unwrap(), Some(3));
        assert_eq!(super::if_match(&Request::default()).unwrap(), None);
        assert_eq!(asked_for("*").unwrap(), None);
    }

    #[test]
    fn an_etag_that_nobody_told_matches_nothing_and_no_etag_is_refused() {
        for foreign in [r#""abc""#, r#""""#, r#""03""#, r#""-1""#, r#"W/"3""#, r#""1e400""#] {
            assert_eq!(asked_for(foreign).unwrap(), Some(0), "{foreign}");
        }
        for bad in ["3", "\"3", "abc", "", r#""3", "4""#, r#"w/"3""#, "\"a b\""] {
            assert_eq!(asked_for(bad).unwrap_err().kind(), problem::INVALID_REQUEST, "{bad}");
        }
        let mut twice = Request::default();
        twice.headers_mut().append("if-match", "\"3\"".parse().unwrap());
        twice.headers_mut().append("if-match", "\"4\"".parse().unwrap());
        assert_eq!(super::if_match(&twice).unwrap_err().kind(), problem::INVALID_REQUEST);
        let mut not_text = Request::default();
        let value = HeaderValue::from_bytes(b"\"\xff\"").unwrap();
        not_text.headers_mut().insert("if-match", value);
        assert_eq!(super::if_match(&not_text).unwrap_err().kind(), problem::INVALID_REQUEST);
    }

    #[test]
    fn a_body_over_a_megabyte_is_too_large() {
        let problem = read(vec![b' '; MOST_BODY_BYTES + 1]).unwrap_err();
        assert_eq!(problem.kind(), problem::BODY_TOO_LARGE);
    }

    #[test]
    fn a_refusal_for_want_of_a_token_says_which_scheme() {
        let response = refuse(&Problem::from(problem::UNAUTHENTICATED), "r");
        assert_eq!(response.status(), 401);
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    }
}
