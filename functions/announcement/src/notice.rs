//! What a member is told of a favorite that is about to close. It is there once
//! for each closing time, and its stream record becomes an event.

use platform::Problem;
use platform::clock::Instant;
use platform::table::{Item, item};
use serde::{Deserialize, Serialize};

use crate::announcement::Meta;
use crate::ids::AnnouncementId;
use crate::keys;

/// How long it is kept after the closing, in milliseconds: nobody is told of a
/// time that is over.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// A notice, as the table keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Of which announcement.
    pub announcement_id: AnnouncementId,
    /// To whom.
    pub member_id: String,
    /// The announcement's title.
    pub title: String,
    /// When it closes.
    pub closes_at_ms: i64,
    /// Its version.
    pub announcement_version: u64,
    /// When it was told.
    pub told_at_ms: i64,
    /// When it may be removed.
    pub expires_at_s: i64,
}

impl Notice {
    /// What a member is told of `meta` at `now`.
    pub fn of(meta: &Meta, member_id: &str, now: Instant) -> Self {
        Self {
            announcement_id: meta.announcement_id.clone(),
            member_id: member_id.to_owned(),
            title: meta.title.clone(),
            closes_at_ms: meta.closes_at_ms,
            announcement_version: meta.version,
            told_at_ms: now.as_millis(),
            expires_at_s: meta.closes_at().plus_millis(KEPT_MS).as_seconds(),
        }
    }

    /// The item in the table.
    pub fn to_item(&self) -> Result<Item, Problem> {
        let Self { announcement_id, member_id, closes_at_ms, .. } = self;
        item(keys::closing(member_id, announcement_id, *closes_at_ms), self)
    }
}
