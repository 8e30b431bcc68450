//! What an announcement is to be: the body of put-announcement.

use std::collections::HashSet;

use garde::Validate;
use platform::clock::Instant;
use platform::text::{self, Text};
use platform::{Problem, Request, http};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ids::DocumentId;

/// The most documents that an announcement asks for.
const MOST_DOCUMENTS: usize = 50;

/// The body of put-announcement.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    title: Text,
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    organisation: Text,
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    category: Text,
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    region: Text,
    #[garde(custom(text::contents))]
    #[schema(value_type = text::Contents)]
    body: Text,
    #[garde(skip)]
    opens_at: Instant,
    #[garde(skip)]
    closes_at: Instant,
    #[garde(length(max = MOST_DOCUMENTS), dive)]
    #[schema(max_items = 50)]
    documents: Vec<Document>,
}

#[derive(Deserialize, Validate, ToSchema)]
#[schema(as = DocumentWanted)]
struct Document {
    #[garde(skip)]
    id: DocumentId,
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    name: Text,
    #[garde(skip)]
    required: bool,
}

/// What an announcement is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its title.
    pub title: String,
    /// Who announces it.
    pub organisation: String,
    /// Its category.
    pub category: String,
    /// Its region.
    pub region: String,
    /// What it says.
    pub body: String,
    /// Its first millisecond.
    pub opens_at: Instant,
    /// The first millisecond after it.
    pub closes_at: Instant,
    /// What it asks for: id, name, and whether it is required.
    pub documents: Vec<(DocumentId, String, bool)>,
}

/// The body in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "title": "Rooms for students",
        "organisation": "City",
        "category": "housing",
        "region": "north",
        "body": "Apply with these documents.",
        "opensAt": "2030-01-01T00:00:00Z",
        "closesAt": "2030-02-01T00:00:00Z",
        "documents": [{ "id": "id-card", "name": "Copy of your identity card", "required": true }],
    })
}

impl Wanted {
    /// Reads the body of a request.
    pub fn of(request: &Request) -> Result<Self, Problem> {
        let body: Body = http::body(request)?;
        if body.opens_at >= body.closes_at {
            return Err(Problem::invalid("closesAt", "expected a time after opensAt"));
        }
        let mut seen = HashSet::new();
        for (place, document) in body.documents.iter().enumerate() {
            if !seen.insert(&document.id) {
                let field = format!("documents[{place}].id");
                return Err(Problem::invalid(field, "is the id of another document too"));
            }
        }
        let documents = body.documents.into_iter();
        let documents = documents.map(|it| (it.id, it.name.into_string(), it.required)).collect();
        Ok(Self {
            title: body.title.into_string(),
            organisation: body.organisation.into_string(),
            category: body.category.into_string(),
            region: body.region.into_string(),
            body: body.body.into_string(),
            opens_at: body.opens_at,
            closes_at: body.closes_at,
            documents,
        })
    }
}
