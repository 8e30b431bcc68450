//! An announcement: as the table keeps it, and as JSON.
//!
//! What lists show, what checklists need and what counting changes is one small
//! item; the texts are another: DynamoDB bills the whole item on every update,
//! and counts change often.

use std::collections::HashMap;

use platform::clock::Instant;
use platform::table::{AttributeValue, Item, Key, Write, item, n, s};
use platform::{Problem, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ids::{AnnouncementId, DocumentId};
use crate::keys;
use crate::wanted::Wanted;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A document that an announcement asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its id.
    pub id: DocumentId,
    /// Whether nobody can do without it.
    pub required: bool,
    /// The version of the announcement since which it is asked for: one that
    /// was taken away and came back is another.
    pub since: u64,
}

/// Everything small of an announcement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Its id.
    pub announcement_id: AnnouncementId,
    /// Its title.
    pub title: String,
    /// Who announces it.
    pub organisation: String,
    /// Its category.
    pub category: String,
    /// Its region.
    pub region: String,
    /// Its first millisecond.
    pub opens_at_ms: i64,
    /// The first millisecond after it.
    pub closes_at_ms: i64,
    /// How many closing times it has had, this one included.
    pub closing_number: u64,
    /// What it asks for.
    pub documents: Vec<Document>,
    /// Its favorites, as far as they have been added up.
    pub favorites: u64,
    /// How many changes of favorites that sum is of.
    pub favorite_changes: u64,
    /// Its views, as far as they have been added up.
    pub views: u64,
    /// Over how many stripes its views are spread. It only grows.
    pub view_stripes: u32,
    /// Over how many stripes its favorites are spread.
    pub favorite_stripes: u32,
    /// When its views were last added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_at_ms: Option<i64>,
    /// 1 at first, and one more with each change; counts are none.
    pub version: u64,
    /// When it was created.
    pub created_at_ms: i64,
    /// When it got this version.
    pub updated_at_ms: i64,
    /// The request that wrote this version, so that it knows its own write.
    pub change_id: String,
}

/// An announcement's texts, as the table keeps them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// What it says.
    pub body: String,
    /// The names of its documents, in their order.
    pub document_names: Vec<String>,
    /// The version that these belong to.
    pub version: u64,
}

/// A whole announcement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Everything small of it.
    pub meta: Meta,
    /// Its texts.
    pub body: Body,
}

/// An announcement as lists and home show it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AnnouncementEntry)]
pub struct Entry<'a> {
    id: &'a AnnouncementId,
    title: &'a str,
    organisation: &'a str,
    category: &'a str,
    region: &'a str,
    opens_at: Instant,
    closes_at: Instant,
    open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    days_left: Option<i64>,
    favorites: u64,
    views: u64,
}

/// A whole announcement as JSON.
#[derive(Serialize, ToSchema)]
pub struct View<'a> {
    #[serde(flatten)]
    entry: Entry<'a>,
    body: &'a str,
    documents: Vec<DocumentView<'a>>,
    version: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Document)]
struct DocumentView<'a> {
    id: &'a DocumentId,
    name: &'a str,
    required: bool,
}

/// An announcement in a list, in the document's examples.
pub(crate) fn entry_example() -> Value {
    json!({
        "id": "youth-rooms",
        "title": "Rooms for students",
        "organisation": "City",
        "category": "housing",
        "region": "north",
        "opensAt": "2030-01-01T00:00:00Z",
        "closesAt": "2030-02-01T00:00:00Z",
        "open": true,
        "daysLeft": 12,
        "favorites": 318,
        "views": 1843,
    })
}

/// A whole announcement in the document's examples.
pub(crate) fn example() -> Value {
    let mut example = entry_example();
    example["body"] = json!("Apply with these documents.");
    example["documents"] =
        json!([{ "id": "id-card", "name": "Copy of your identity card", "required": true }]);
    example["version"] = json!(3);
    example
}

impl Meta {
    /// Whether one can apply at `now`: from the opening to just before the
    /// closing.
    pub fn is_open(&self, now: Instant) -> bool {
        self.opens_at_ms <= now.as_millis() && !self.is_over(now)
    }

    /// Whether it has closed by `now`.
    pub fn is_over(&self, now: Instant) -> bool {
        self.closes_at_ms <= now.as_millis()
    }

    /// When it closes.
    pub fn closes_at(&self) -> Instant {
        Instant::from_millis(self.closes_at_ms)
    }

    /// It in a list, at `now`.
    pub fn entry(&self, now: Instant) -> Entry<'_> {
        let left_ms = self.closes_at_ms - now.as_millis();
        Entry {
            id: &self.announcement_id,
            title: &self.title,
            organisation: &self.organisation,
            category: &self.category,
            region: &self.region,
            opens_at: Instant::from_millis(self.opens_at_ms),
            closes_at: self.closes_at(),
            open: self.is_open(now),
            days_left: (left_ms > 0).then_some(left_ms / DAY_MS),
            favorites: self.favorites,
            views: self.views,
        }
    }

    /// About how many bytes it takes up in memory.
    pub fn weight(&self) -> u64 {
        let Self { title, organisation, category, region, documents, .. } = self;
        let texts: usize = [title, organisation, category, region].map(String::len).iter().sum();
        (texts + documents.len() * 100 + 500) as u64
    }

    /// The item in the table.
    pub fn to_item(&self) -> Result<Item, Problem> {
        let id = &self.announcement_id;
        let mut item = item(keys::meta(id), self)?;
        item.insert("index1_pk".to_owned(), s(keys::rank_partition_of(id)));
        item.insert("index1_sk".to_owned(), s(keys::rank_position(self.favorites, id)));
        Ok(item)
    }

    /// The keys that it has in lists: of its category and region, of each of the
    /// two, and of all.
    fn listings(&self) -> [Key; 4] {
        let position = keys::position(self.closes_at_ms, &self.announcement_id);
        let (category, region) = (self.category.as_str(), self.region.as_str());
        [(Some(category), Some(region)), (Some(category), None), (None, Some(region)), (None, None)]
            .map(|(category, region)| {
                Key::new(keys::list_partition(category, region), position.clone())
            })
    }

    /// The writes that put it into its lists, and take it out of those that only
    /// `seen` was in.
    fn list(&self, seen: Option<&Self>) -> Vec<Write> {
        let (before, after) = (seen.map(Self::listings), self.listings());
        let before = before.as_ref().map_or(&[][..], |keys| &keys[..]);
        let is_same = seen.is_some_and(|seen| seen.opens_at_ms == self.opens_at_ms);
        let new = after.iter().filter(|key| !is_same || !before.contains(key));
        let puts = new.map(|key| {
            let mut item = key.clone().into_item();
            item.insert("opens_at_ms".to_owned(), n(self.opens_at_ms));
            Write::put(item)
        });
        let old = before.iter().filter(|key| !after.contains(key));
        puts.chain(old.map(|key| Write::delete(key.clone()))).collect()
    }

    /// The write that turns `seen` into this. It leaves alone what counting
    /// changes, and puts it back into the ranking.
    fn replace(&self, seen: &Self) -> Result<Write, Problem> {
        const CHANGING: [&str; 12] = [
            "title",
            "organisation",
            "category",
            "region",
            "opens_at_ms",
            "closes_at_ms",
            "closing_number",
            "documents",
            "version",
            "updated_at_ms",
            "change_id",
            "index1_pk",
        ];
        let mut attributes = self.to_item()?;
        let sets = CHANGING.map(|name| format!("#{name} = :{name}")).join(", ");
        let mut write = Write::update(keys::meta(&self.announcement_id), format!("SET {sets}"))
            .when("#version = :seen")
            .bind(":seen", n(seen.version));
        for name in CHANGING {
            let value = attributes.remove(name).unwrap_or(AttributeValue::Null(true));
            write = write.name(&format!("#{name}"), name).bind(&format!(":{name}"), value);
        }
        Ok(write)
    }
}

impl Announcement {
    /// A new announcement.
    pub fn new(id: AnnouncementId, wanted: Wanted, change_id: &str, now: Instant) -> Self {
        let documents = wanted.documents.iter().map(|(id, _, required)| Document {
            id: id.clone(),
            required: *required,
            since: 1,
        });
        let meta = Meta {
            announcement_id: id,
            documents: documents.collect(),
            title: wanted.title,
            organisation: wanted.organisation,
            category: wanted.category,
            region: wanted.region,
            opens_at_ms: wanted.opens_at.as_millis(),
            closes_at_ms: wanted.closes_at.as_millis(),
            closing_number: 1,
            favorites: 0,
            favorite_changes: 0,
            views: 0,
            view_stripes: 1,
            favorite_stripes: keys::FAVORITE_STRIPES,
            counted_at_ms: None,
            version: 1,
            created_at_ms: now.as_millis(),
            updated_at_ms: now.as_millis(),
            change_id: change_id.to_owned(),
        };
        let document_names = wanted.documents.into_iter().map(|(_, name, _)| name).collect();
        Self { meta, body: Body { body: wanted.body, document_names, version: 1 } }
    }

    /// The next version, as `wanted` by the request `change_id`. `None` if
    /// nothing would be different.
    pub fn changed(&self, wanted: Wanted, change_id: &str, now: Instant) -> Option<Self> {
        let seen = &self.meta;
        let version = seen.version + 1;
        let next = Self::new(seen.announcement_id.clone(), wanted, change_id, now);
        let since: HashMap<_, _> = seen.documents.iter().map(|it| (&it.id, it.since)).collect();
        let documents = next.meta.documents.iter().map(|document| Document {
            since: since.get(&document.id).copied().unwrap_or(version),
            ..document.clone()
        });
        let moves = next.meta.closes_at_ms != seen.closes_at_ms;
        let meta = Meta {
            documents: documents.collect(),
            closing_number: seen.closing_number + u64::from(moves),
            favorites: seen.favorites,
            favorite_changes: seen.favorite_changes,
            views: seen.views,
            view_stripes: seen.view_stripes,
            favorite_stripes: seen.favorite_stripes,
            counted_at_ms: seen.counted_at_ms,
            version: seen.version,
            created_at_ms: seen.created_at_ms,
            updated_at_ms: seen.updated_at_ms,
            change_id: seen.change_id.clone(),
            ..next.meta
        };
        let body = Body { version: seen.version, ..next.body };
        if (&meta, &body) == (seen, &self.body) {
            return None;
        }
        let updated_at_ms = now.as_millis().max(seen.updated_at_ms + 1);
        let meta = Meta { version, updated_at_ms, change_id: change_id.to_owned(), ..meta };
        Some(Self { meta, body: Body { version, ..body } })
    }

    /// The writes that put it where there is none.
    pub fn create(&self) -> Result<Vec<Write>, Problem> {
        let id = &self.meta.announcement_id;
        let mut writes = vec![
            Write::put(self.meta.to_item()?).when("attribute_not_exists(pk)"),
            Write::put(item(keys::body(id), &self.body)?),
            Write::put(keys::newest(self.meta.created_at_ms, id).into_item()),
        ];
        writes.extend(self.meta.list(None));
        Ok(writes)
    }

    /// The writes that turn `seen` into this.
    pub fn replace(&self, seen: &Self) -> Result<Vec<Write>, Problem> {
        let id = &self.meta.announcement_id;
        let mut writes =
            vec![self.meta.replace(&seen.meta)?, Write::put(item(keys::body(id), &self.body)?)];
        writes.extend(self.meta.list(Some(&seen.meta)));
        Ok(writes)
    }

    /// It as JSON, at `now`.
    pub fn view(&self, now: Instant) -> View<'_> {
        let documents = self.meta.documents.iter().zip(&self.body.document_names);
        let documents = documents.map(|(document, name)| {
            let Document { id, required, .. } = document;
            DocumentView { id, name, required: *required }
        });
        View {
            entry: self.meta.entry(now),
            body: &self.body.body,
            documents: documents.collect(),
            version: self.meta.version,
        }
    }

    /// 200 with it, at `now`.
    pub fn reply(&self, now: Instant) -> Result<Reply, Problem> {
        Ok(Reply::ok(&self.view(now))?.etag(self.meta.version))
    }

    /// About how many bytes it takes up in memory.
    pub fn weight(&self) -> u64 {
        let names: usize = self.body.document_names.iter().map(String::len).sum();
        (names + self.body.body.len()) as u64 + self.meta.weight()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) const NOW: i64 = 1_893_456_000_000;

    pub(crate) fn wanted(documents: &[&str]) -> Wanted {
        Wanted {
            title: "Rooms".into(),
            organisation: "City".into(),
            category: "housing".into(),
            region: "north".into(),
            body: "Apply now.".into(),
            opens_at: Instant::from_millis(NOW),
            closes_at: Instant::from_millis(NOW + 2 * DAY_MS),
            documents: documents
                .iter()
                .map(|id| (id.parse().unwrap(), format!("Name of {id}"), true))
                .collect(),
        }
    }

    pub(crate) fn announcement(documents: &[&str]) -> Announcement {
        let now = Instant::from_millis(NOW);
        Announcement::new("a-1".parse().unwrap(), wanted(documents), "c-1", now)
    }

    fn later(announcement: &Announcement, wanted: Wanted) -> Option<Announcement> {
        announcement.changed(wanted, "c-2", Instant::from_millis(NOW + 5))
    }

    #[test]
    fn it_is_open_from_its_opening_to_just_before_its_closing() {
        let meta = announcement(&[]).meta;
        let at = |ms: i64| {
            let now = Instant::from_millis(NOW + ms);
            (meta.is_open(now), meta.is_over(now), meta.entry(now).days_left)
        };
        assert_eq!(at(-1), (false, false, Some(2)));
        assert_eq!(at(0), (true, false, Some(2)));
        assert_eq!(at(1), (true, false, Some(1)));
        assert_eq!(at(2 * DAY_MS - 1), (true, false, Some(0)));
        assert_eq!(at(2 * DAY_MS), (false, true, None));
    }

    #[test]
    fn a_change_of_nothing_is_none() {
        let announcement = announcement(&["a", "b"]);
        assert_eq!(later(&announcement, wanted(&["a", "b"])), None);
        let body = Wanted { body: "Too late.".into(), ..wanted(&["a", "b"]) };
        let changed = later(&announcement, body).unwrap();
        assert_eq!((changed.meta.version, changed.body.version), (2, 2));
        assert_eq!(changed.meta.closing_number, 1);
        let title = Wanted { title: "Flats".into(), ..wanted(&["a", "b"]) };
        assert_eq!(later(&announcement, title).unwrap().meta.title, "Flats");
    }

    #[test]
    fn a_document_that_comes_back_is_another_one() {
        let first = announcement(&["a", "b"]);
        let without = later(&first, wanted(&["b"])).unwrap();
        let again = later(&without, wanted(&["b", "a"])).unwrap();
        let since = |it: &Announcement| {
            let documents = it.meta.documents.iter();
            documents.map(|d| (d.id.to_string(), d.since)).collect::<Vec<_>>()
        };
        assert_eq!(since(&without), [("b".into(), 1)]);
        assert_eq!(since(&again), [("b".into(), 1), ("a".into(), 3)]);
    }

    #[test]
    fn each_other_closing_time_has_a_number() {
        let first = announcement(&[]);
        let moved = |ms| {
            let closes_at = Instant::from_millis(NOW + ms);
            Wanted { closes_at, ..wanted(&[]) }
        };
        let second = later(&first, moved(7)).unwrap();
        let third = later(&second, moved(2 * DAY_MS)).unwrap();
        assert_eq!((second.meta.closing_number, third.meta.closing_number), (2, 3));
    }

    #[test]
    fn lists_are_written_only_as_far_as_they_change() {
        let first = announcement(&[]);
        assert_eq!(first.meta.list(None).len(), 4);
        let lists =
            |wanted: Wanted| later(&first, wanted).unwrap().meta.list(Some(&first.meta)).len();
        assert_eq!(lists(Wanted { title: "Flats".into(), ..wanted(&[]) }), 0);
        assert_eq!(lists(Wanted { region: "south".into(), ..wanted(&[]) }), 4);
        let opens_at = Instant::from_millis(NOW - 1);
        assert_eq!(lists(Wanted { opens_at, ..wanted(&[]) }), 4);
        let closes_at = Instant::from_millis(NOW + 1);
        assert_eq!(lists(Wanted { closes_at, ..wanted(&[]) }), 8);
    }

    #[test]
    fn clients_see_documents_with_their_names() {
        let view = serde_json::to_value(announcement(&["a"]).view(Instant::from_millis(NOW)));
        let view = view.unwrap();
        let documents = json!([{ "id": "a", "name": "Name of a", "required": true }]);
        assert_eq!(view["documents"], documents);
        assert_eq!(
            (&view["id"], &view["open"], &view["daysLeft"]),
            (&json!("a-1"), &json!(true), &json!(2))
        );
        assert_eq!(view["closesAt"], "2030-01-03T00:00:00Z");
    }
}
