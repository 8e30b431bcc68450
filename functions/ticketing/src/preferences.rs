//! What a member wants of every match: a team's side, and where to sit.

use garde::Validate;
use platform::text::{self, Text};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::keys;
use crate::wishes::{self, Sections};

/// What a member likes, in JSON and in the table alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preferences {
    /// For which team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(text::title)))]
    #[schema(value_type = Option<text::Title>)]
    pub team: Option<Text>,
    /// In one of these sections, the best liked first.
    #[serde(default)]
    #[garde(dive)]
    #[schema(value_type = Vec<text::Title>)]
    pub sections: Sections,
}

/// Preferences in the document's examples.
pub(crate) fn example() -> Value {
    json!({ "team": "Reds", "sections": ["North"] })
}

/// What the member has said, if anything.
pub async fn read(app: &App, member_id: &str) -> Result<Option<Preferences>, Problem> {
    wishes::get(app, keys::preferences(member_id)).await
}

/// Keeps what the member says. Whether it is the first time.
pub async fn write(app: &App, member_id: &str, preferences: &Preferences) -> Result<bool, Problem> {
    wishes::put(app, keys::preferences(member_id), preferences).await
}
