//! A member's checklist for an announcement: which of its documents are there.
//!
//! It is one item, written whole. What counts of it is worked out when it is
//! read: a check of a document that was taken away since is none any more, also
//! when a document with its id comes back.

use std::collections::HashSet;

use platform::clock::Instant;
use platform::table::{Query, Write, item, n, read, s};
use platform::{App, Problem, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::announcement::Meta;
use crate::ids::{AnnouncementId, DocumentId};
use crate::{TABLE, keys};

/// A checklist, as the table keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checklist {
    /// For which announcement.
    pub announcement_id: AnnouncementId,
    /// Which documents are there.
    pub checked: Vec<DocumentId>,
    /// The version of the announcement whose documents these are.
    pub announcement_version: u64,
    /// 1 at first, and one more with each change.
    pub version: u64,
    /// When it got this version.
    pub changed_at_ms: i64,
    /// The request that wrote this version, so that it knows its own write. The
    /// index of the last ones has it not.
    #[serde(default)]
    pub change_id: String,
}

/// A checklist as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Checklist)]
pub struct View<'a> {
    checked: Vec<&'a DocumentId>,
    total: usize,
    required: usize,
    version: u64,
}

/// A checklist in the document's examples.
pub(crate) fn example() -> Value {
    json!({ "checked": ["id-card"], "total": 2, "required": 1, "version": 3 })
}

impl Checklist {
    /// Those documents of an announcement that are checked, in its order.
    fn checked_of<'a>(&self, meta: &'a Meta) -> Vec<&'a DocumentId> {
        let checked: HashSet<&DocumentId> = self.checked.iter().collect();
        let documents = meta.documents.iter();
        let there = documents.filter(|document| {
            document.since <= self.announcement_version && checked.contains(&document.id)
        });
        there.map(|document| &document.id).collect()
    }

    /// Whether exactly `documents` are checked.
    pub fn says(&self, documents: &[DocumentId], meta: &Meta) -> bool {
        let checked = self.checked_of(meta);
        checked.len() == documents.len() && checked.into_iter().eq(documents)
    }

    /// The write that puts it where `seen` was, or where none was.
    pub fn write(&self, member_id: &str, seen: Option<&Self>) -> Result<Write, Problem> {
        let write = Write::put(item(keys::checklist(member_id, &self.announcement_id), self)?);
        Ok(match seen {
            Some(seen) => write.when("version = :seen").bind(":seen", n(seen.version)),
            None => write.when("attribute_not_exists(pk)"),
        })
    }
}

/// What a member sees of a checklist, which may not have been begun.
pub fn view<'a>(checklist: Option<&Checklist>, meta: &'a Meta) -> View<'a> {
    View {
        checked: checklist.map(|checklist| checklist.checked_of(meta)).unwrap_or_default(),
        total: meta.documents.len(),
        required: meta.documents.iter().filter(|document| document.required).count(),
        version: checklist.map_or(0, |checklist| checklist.version),
    }
}

/// 200 with it.
pub fn reply(checklist: Option<&Checklist>, meta: &Meta) -> Result<Reply, Problem> {
    let reply = Reply::ok(&view(checklist, meta))?;
    Ok(match checklist {
        Some(checklist) => reply.etag(checklist.version),
        None => reply, // there is no version to change yet
    })
}

/// The member's checklists that were changed last.
pub async fn last_of(app: &App, member_id: &str, most: usize) -> Result<Vec<Checklist>, Problem> {
    let query = Query {
        index: Some(keys::RECENT),
        condition: "pk = :pk".to_owned(),
        values: vec![(":pk", s(keys::member_partition(member_id)))],
        limit: most,
        descending: true,
        consistent: true,
    };
    let items = app.table(TABLE).query(query).await?;
    items.into_iter().map(read).collect()
}

/// The next version of `seen`, with these documents checked.
pub fn next(
    seen: Option<&Checklist>,
    meta: &Meta,
    checked: Vec<DocumentId>,
    change_id: &str,
    now: Instant,
) -> Checklist {
    let last_ms = seen.map_or(i64::MIN, |seen| seen.changed_at_ms);
    Checklist {
        announcement_id: meta.announcement_id.clone(),
        checked,
        announcement_version: meta.version,
        version: seen.map_or(0, |seen| seen.version) + 1,
        changed_at_ms: now.as_millis().max(last_ms.saturating_add(1)),
        change_id: change_id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::{NOW, announcement, wanted};

    fn ids(names: &[&str]) -> Vec<DocumentId> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn checked(names: &[&str], meta: &Meta) -> Checklist {
        next(None, meta, ids(names), "c", Instant::from_millis(NOW))
    }

    #[test]
    fn checks_of_documents_that_are_gone_vanish_and_the_rest_stays() {
        let first = announcement(&["a", "b", "c"]);
        let checklist = checked(&["c", "a"], &first.meta);
        let at = |documents: &[&str], from: &crate::announcement::Announcement| {
            let now = Instant::from_millis(NOW + 1);
            from.changed(wanted(documents), "c-2", now).unwrap()
        };
        let without = at(&["b", "c"], &first);
        let again = at(&["a", "b", "c", "d"], &without);
        for (announcement, expected) in
            [(&first, vec!["a", "c"]), (&without, vec!["c"]), (&again, vec!["c"])]
        {
            let view = view(Some(&checklist), &announcement.meta);
            let seen: Vec<&str> = view.checked.iter().map(|id| id.as_str()).collect();
            assert_eq!(seen, expected);
            assert_eq!(view.total, announcement.meta.documents.len());
            assert!(checklist.says(&ids(&expected), &announcement.meta));
        }
    }

    #[test]
    fn a_checklist_that_was_not_begun_has_no_version_and_nothing_checked() {
        let meta = announcement(&["a"]).meta;
        let view = view(None, &meta);
        assert_eq!((view.checked.len(), view.total, view.required, view.version), (0, 1, 1, 0));
        assert_eq!(reply(None, &meta).unwrap().version(), None);
    }

    #[test]
    fn versions_and_times_go_on() {
        let meta = announcement(&["a"]).meta;
        let first = checked(&["a"], &meta);
        let second = next(Some(&first), &meta, vec![], "d", Instant::from_millis(NOW - 9));
        assert_eq!((first.version, second.version), (1, 2));
        assert!(second.changed_at_ms > first.changed_at_ms, "a clock that is behind");
    }
}
