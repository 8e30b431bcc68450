//! What the API's document says of one operation (OpenAPI 3.1).
//!
//! It stands in the operation's own file, next to its handler, and is made of
//! what the handler goes by: the types that it reads and answers, with their
//! limits, and the very problems that it refuses with. Only the functions that
//! show the document call it, so the linker leaves it out of all others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, Type};

use crate::lambda::Function;
use crate::problem::{
    BODY_TOO_LARGE, BUSY, FORBIDDEN, IDEMPOTENCY_KEY_REUSED, Kind, Problem, UNAUTHENTICATED,
    VERSION_MISMATCH,
};

const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

/// The name of the security scheme of access tokens.
pub const BEARER: &str = "bearer";
/// The name of the security scheme of signed bodies.
pub const SIGNATURE: &str = "signature";

/// The id in the examples of problems.
const REQUEST_ID: &str = "d3a1f1c2b7e04a55";

/// One operation of the API.
#[derive(Debug)]
pub struct Operation {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    who: &'static str,
    has_head: bool,
    security: Vec<Value>,
    parameters: Vec<Value>,
    body: Option<Value>,
    /// By status: description, headers and content.
    answers: BTreeMap<u16, Value>,
    refusals: Vec<Problem>,
    /// Types that others name, by their names.
    schemas: BTreeMap<String, Value>,
}

impl Operation {
    /// The operation of `function` on a route, as in `POST /orders`. Whatever it
    /// does, a request may be malformed, and something may fail.
    pub fn new(function: Function, route: &'static str, summary: &'static str) -> Self {
        let (method, path) = route.split_once(' ').unwrap_or(("", route));
        let failures = [
            Problem::invalid("query", "expected a percent-encoded query"),
            Problem::internal("(logged, not sent)"),
            Problem::busy("(logged, not sent)"),
        ];
        Self {
            name: function.name,
            method,
            path,
            summary,
            who: "Needs no token.",
            has_head: false,
            security: Vec::new(),
            parameters: Vec::new(),
            body: None,
            answers: BTreeMap::new(),
            refusals: failures.into(),
            schemas: BTreeMap::new(),
        }
    }

    /// It calls nothing that could be too busy.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.refusals.retain(|problem| problem.kind() != BUSY);
        self
    }

    /// The route also takes `HEAD`.
    #[must_use]
    pub fn with_head(self) -> Self {
        Self { has_head: true, ..self }
    }

    /// It needs a member's token.
    #[must_use]
    pub fn for_members(mut self) -> Self {
        self.who = "Needs a token.";
        self.security.push(json!({ BEARER: [] }));
        self.refuses([UNAUTHENTICATED])
    }

    /// It needs a staff token.
    #[must_use]
    pub fn for_staff(self) -> Self {
        Self { who: "Needs a staff token.", ..self.for_members().refuses([FORBIDDEN]) }
    }

    /// A token is welcome, and none is needed.
    #[must_use]
    pub fn for_anyone_with_token(mut self) -> Self {
        self.who = "Needs no token, and takes one.";
        self.security = vec![json!({}), json!({ BEARER: [] })];
        self
    }

    /// It needs a signed body instead of a token.
    #[must_use]
    pub fn for_signers(mut self) -> Self {
        self.who = "Needs a signature instead of a token.";
        self.security.push(json!({ SIGNATURE: [] }));
        self.refuses([UNAUTHENTICATED])
    }

    /// A parameter of the path.
    #[must_use]
    pub fn path<T: ToSchema>(self, name: &str, example: impl Into<Value>) -> Self {
        let schema = of::<T>();
        let example = example.into();
        self.parameter::<T>(json!({
            "in": "path", "name": name, "required": true, "schema": schema, "example": example,
        }))
    }

    /// A parameter of the query, which may be left out.
    #[must_use]
    pub fn query<T: ToSchema>(self, name: &str, description: &str) -> Self {
        let schema = of::<T>();
        self.parameter::<T>(json!({
            "in": "query", "name": name, "description": description, "schema": schema,
        }))
    }

    /// A header, which the operation does not do without.
    #[must_use]
    pub fn header(self, name: &str, description: &str) -> Self {
        self.parameter::<String>(json!({
            "in": "header", "name": name, "required": true, "description": description,
            "schema": { "type": "string" },
        }))
    }

    fn parameter<T: ToSchema>(mut self, parameter: Value) -> Self {
        self.parameters.push(parameter);
        self.knows::<T>()
    }

    /// `?limit=` and `?cursor=`, as [`crate::http::Page`] reads them.
    #[must_use]
    pub fn pages(self, default: usize) -> Self {
        let limit = json!({
            "in": "query", "name": "limit", "description": "At most so many items.",
            "schema": { "type": "integer", "minimum": 1, "maximum": 100, "default": default },
        });
        let cursor = "Where the page before ended: its nextCursor.";
        self.parameter::<u32>(limit).query::<String>("cursor", cursor)
    }

    /// It takes an `Idempotency-Key`.
    #[must_use]
    pub fn keyed(self) -> Self {
        let header = json!({
            "in": "header", "name": "Idempotency-Key",
            "description": "For 24 hours the same request under the same key gets the same answer.",
            "schema": {
                "type": "string", "minLength": 1, "maxLength": 128,
                "pattern": "^[!-~]([ -~]*[!-~])?$",
            },
        });
        self.parameter::<String>(header).refuses([IDEMPOTENCY_KEY_REUSED])
    }

    /// It takes an `If-Match`.
    #[must_use]
    pub fn if_match(self) -> Self {
        let header = json!({
            "in": "header", "name": "If-Match",
            "description": "The ETag that the thing must have; * for any.",
            "schema": { "type": "string", "pattern": "^(\\*|(W/)?\"[!#-~]*\")$" },
        });
        self.parameter::<String>(header)
            .refuses([Problem::from(VERSION_MISMATCH).with("version", 4)])
    }

    /// The body that it reads.
    #[must_use]
    pub fn body<T: ToSchema>(mut self, example: Value) -> Self {
        let content = media(of::<T>(), example);
        self.body = Some(json!({ "required": true, "content": content }));
        self.knows::<T>().refuses([BODY_TOO_LARGE])
    }

    /// 200 with the thing.
    #[must_use]
    pub fn answers<T: ToSchema>(self, example: Value) -> Self {
        self.answers_with::<T>(200, "The thing.", example)
    }

    /// 201 with the thing, and where it is.
    #[must_use]
    pub fn creates<T: ToSchema>(self, example: Value) -> Self {
        let location = json!({
            "description": "The path of the thing.", "required": true,
            "schema": { "type": "string" },
        });
        let mut created = self.answers_with::<T>(201, "The new thing.", example);
        created.tell(201, "Location", &location);
        created
    }

    /// 200 with the thing, or 201 if it is new.
    #[must_use]
    pub fn puts<T: ToSchema>(self, example: Value) -> Self {
        self.answers::<T>(example.clone()).creates::<T>(example)
    }

    /// A success with a body.
    #[must_use]
    pub fn answers_with<T: ToSchema>(self, status: u16, what: &str, example: Value) -> Self {
        self.content(status, what, media(of::<T>(), example)).knows::<T>()
    }

    /// 200 with a page of things, of which `example` is one.
    #[must_use]
    pub fn lists<T: ToSchema>(self, example: Value) -> Self {
        let schema = json!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": { "type": "array", "items": of::<T>() },
                "nextCursor": { "type": "string", "description": "Leads on, if the list goes on." },
            },
        });
        let mut page = json!({ "items": [] });
        page["items"] = vec![example].into();
        self.content(200, "A page.", media(schema, page)).knows::<T>()
    }

    /// 204.
    #[must_use]
    pub fn answers_nothing(mut self) -> Self {
        self.answers.insert(204, json!({ "description": "Done." }));
        self
    }

    /// A success with content of any type.
    #[must_use]
    pub fn content(mut self, status: u16, what: &str, content: Value) -> Self {
        let mut answer = json!({ "description": what });
        answer["content"] = content;
        self.answers.insert(status, answer);
        self
    }

    /// Every success tells the thing's version in `ETag`.
    #[must_use]
    pub fn tells_version(mut self) -> Self {
        let etag = json!({
            "description": "The version of the thing.",
            "schema": { "type": "string" }, "example": "\"3\"",
        });
        for status in [200, 201] {
            self.tell(status, "ETag", &etag);
        }
        self
    }

    /// It refuses with these.
    #[must_use]
    pub fn refuses<P: Into<Problem>>(mut self, problems: impl IntoIterator<Item = P>) -> Self {
        self.refusals.extend(problems.into_iter().map(Into::into));
        self
    }

    fn tell(&mut self, status: u16, header: &str, value: &Value) {
        if let Some(answer) = self.answers.get_mut(&status) {
            answer["headers"][header] = value.clone();
        }
    }

    /// Notes the types that `T` names.
    fn knows<T: ToSchema>(mut self) -> Self {
        let mut named = Vec::new();
        T::schemas(&mut named);
        self.schemas.extend(named.into_iter().map(|(name, schema)| (name, json!(schema))));
        self
    }

    /// Its path, as in `/courses/{courseId}`.
    pub fn route(&self) -> &'static str {
        self.path
    }

    /// The types that others name, by their names.
    pub fn schemas(&self) -> &BTreeMap<String, Value> {
        &self.schemas
    }

    /// What it refuses with.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.refusals.iter().map(Problem::kind)
    }

    /// It as OpenAPI has it, by its methods in lower case. `system` is the one
    /// that it belongs to.
    pub fn to_json(&self, system: &str) -> Map<String, Value> {
        let mut operation = json!({
            "operationId": self.name,
            "tags": [system],
            "summary": self.summary,
            "description": self.who,
            "security": self.security,
            "parameters": self.parameters,
        });
        let answers = self.answers.iter().map(|(status, answer)| (*status, answer.clone()));
        let answers: BTreeMap<u16, Value> = answers.chain(self.refused()).collect();
        operation["responses"] = json!(answers);
        let mut methods = Map::new();
        if self.has_head {
            let mut head = operation.clone();
            head["operationId"] = format!("{}-head", self.name).into();
            head["summary"] = "The same, without a body.".into();
            for (_, answer) in head["responses"].as_object_mut().into_iter().flatten() {
                answer.as_object_mut().map(|answer| answer.remove("content"));
            }
            methods.insert("head".to_owned(), head);
        }
        if let Some(body) = &self.body {
            operation["requestBody"] = body.clone();
        }
        methods.insert(self.method.to_lowercase(), operation);
        methods
    }

    /// The refusals, by their status.
    fn refused(&self) -> impl Iterator<Item = (u16, Value)> {
        let statuses: BTreeSet<u16> = self.kinds().map(|kind| kind.status).collect();
        statuses.into_iter().map(|status| {
            let refusals = self.refusals.iter().filter(move |it| it.kind().status == status);
            (status, refused_with(status, &refusals.collect::<Vec<_>>()))
        })
    }
}

/// An answer that refuses with one of `problems`, which have the same status.
fn refused_with(status: u16, problems: &[&Problem]) -> Value {
    let codes: BTreeSet<&str> = problems.iter().map(|problem| problem.kind().code).collect();
    let examples = problems.iter().map(|problem| {
        let Kind { code, title, .. } = problem.kind();
        let example = json!({ "summary": title, "value": problem.to_json(REQUEST_ID) });
        (code.to_owned(), example)
    });
    let content = json!({ PROBLEM: {
        "schema": { "allOf": [
            { "$ref": "#/components/schemas/Problem" },
            { "properties": { "status": { "const": status }, "code": { "enum": codes } } },
        ] },
        "examples": examples.collect::<Map<_, _>>(),
    } });
    let codes = codes.into_iter().collect::<Vec<_>>().join(", ");
    let mut answer = json!({ "description": codes, "content": content });
    if problems.iter().any(|problem| problem.retry_after_s().is_some()) {
        answer["headers"]["Retry-After"] = json!({
            "description": "After how many seconds asking again makes sense.",
            "schema": { "type": "integer", "minimum": 1 },
        });
    }
    answer
}

/// JSON of a schema, with an example.
fn media(schema: Value, example: Value) -> Value {
    let mut content = json!({ JSON: {} });
    content[JSON]["schema"] = schema;
    content[JSON]["example"] = example;
    content
}

/// The schema of `T` itself.
fn of<T: ToSchema>() -> Value {
    json!(T::schema())
}

/// A problem as clients get it ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)).
/// Fields that help stand in the examples.
#[derive(ToSchema)]
#[schema(as = Problem, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used: see Problem::to_json")]
pub struct ProblemBody {
    /// A name for the code, as in urn:hotseat:problem:course-full.
    r#type: String,
    /// One sentence for people.
    title: String,
    /// The HTTP status.
    status: u16,
    /// Stable: switch on it.
    code: String,
    /// More than the title says, if there is more to say.
    detail: String,
    /// Finds the request in the logs.
    request_id: String,
    /// Of `INVALID_REQUEST`: what is wrong.
    #[schema(inline, nullable = false)]
    errors: Option<Vec<FieldError>>,
}

/// What is wrong with a field.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used: see Problem::invalid_fields")]
struct FieldError {
    field: String,
    message: String,
}

/// Names a schema, for values whose rules are not those of a type.
#[macro_export]
macro_rules! schema {
    ($(#[$doc:meta])* $visible:vis $name:ident = $schema:expr) => {
        $(#[$doc])*
        $visible struct $name;

        impl ::utoipa::ToSchema for $name {}

        impl ::utoipa::PartialSchema for $name {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::Schema> {
                $schema.into()
            }
        }
    };
}

/// The schema of text of `least` to `most` characters, as [`crate::text::within`]
/// takes it.
pub fn text(least: usize, most: usize) -> ObjectBuilder {
    pattern("^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]*$")
        .min_length(Some(least))
        .max_length(Some(most))
}

/// The schema of text of a form.
pub fn pattern(pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// The schema of a whole number.
pub fn number(least: usize, most: usize) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most))
}
