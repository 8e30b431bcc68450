//! What a member wants of one match: how many seats, where, and for how much.

use garde::Validate;
use platform::text;
use platform::{App, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ids::MatchId;
use crate::keys;
use crate::wishes::{self, Sections};

/// The most seats that one can ask for together.
pub const MOST_SEATS: u32 = 8;

/// The highest number that every reader of JSON takes for what it is
/// ([RFC 8259, section 6](https://www.rfc-editor.org/rfc/rfc8259#section-6)).
const MOST_PRICE: u64 = (1 << 53) - 1;

/// What a member wants of a match, in JSON and in the table alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    /// How many seats.
    #[garde(range(min = 1, max = MOST_SEATS))]
    #[schema(minimum = 1, maximum = 8)]
    pub seats: u32,
    /// In one of these sections, the best liked first; anywhere if there are none.
    #[serde(default)]
    #[garde(dive)]
    #[schema(value_type = Vec<text::Title>)]
    pub sections: Sections,
    /// For no more than this each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(range(max = MOST_PRICE))]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    pub max_price: Option<u64>,
    /// Whether they must be next to each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(skip)]
    pub adjacent: Option<bool>,
}

/// Options in the document's examples.
pub(crate) fn example() -> Value {
    json!({ "seats": 2, "sections": ["North"], "maxPrice": 10000, "adjacent": true })
}

/// One seat, anywhere.
impl Default for Options {
    fn default() -> Self {
        Self { seats: 1, sections: Sections::default(), max_price: None, adjacent: None }
    }
}

/// What the member has said, if anything.
pub async fn read(
    app: &App,
    match_id: &MatchId,
    member_id: &str,
) -> Result<Option<Options>, Problem> {
    wishes::get(app, keys::options(match_id, member_id)).await
}

/// Keeps what the member says. Whether it is the first time.
pub async fn write(
    app: &App,
    match_id: &MatchId,
    member_id: &str,
    options: &Options,
) -> Result<bool, Problem> {
    wishes::put(app, keys::options(match_id, member_id), options).await
}
