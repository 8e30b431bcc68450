//! A member's favorites, and what counts them.
//!
//! A favorite is three writes in one transaction: the favorite itself, how many
//! its member has, and a stripe of the announcement's count. Nobody but the
//! member writes the first two, and of the third there are many.

use platform::table::{Item, Key, Patience, Query, WriteError, item, n, read, s};
use platform::table::{Refusals, Write};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::announcement::Meta;
use crate::ids::AnnouncementId;
use crate::{TABLE, keys};

/// The most favorites of a member.
pub const MOST: u32 = 100;

/// Writes of the transactions, in order.
pub const FAVORITE: usize = 0;
/// See [`FAVORITE`].
pub const COUNT: usize = 1;

/// A favorite, as the table keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Favorite {
    /// Of which announcement.
    pub announcement_id: AnnouncementId,
    /// Whose.
    pub member_id: String,
    /// Since when.
    pub added_at_ms: i64,
}

impl Favorite {
    /// The item in the table. Its member waits to be told of the closing.
    pub fn to_item(&self) -> Result<Item, Problem> {
        let Self { announcement_id, member_id, .. } = self;
        let mut item = item(keys::favorite(member_id, announcement_id), self)?;
        let partition = keys::waiting_partition_of(announcement_id, member_id);
        item.insert("index2_pk".to_owned(), s(partition));
        item.insert("index2_sk".to_owned(), s(keys::waiting_position(0, member_id)));
        Ok(item)
    }

    fn add(&self, stripe: Key) -> Result<Vec<Write>, Problem> {
        let count = Write::update(keys::favorite_count(&self.member_id), "ADD favorites :one")
            .when("(attribute_not_exists(favorites) OR favorites < :most)")
            .bind(":one", n(1))
            .bind(":most", n(MOST));
        Ok(vec![
            Write::put(self.to_item()?).when("attribute_not_exists(pk)"),
            count,
            change(stripe, 1),
        ])
    }
}

fn remove(member_id: &str, id: &AnnouncementId, stripe: Key) -> Vec<Write> {
    let count = Write::update(keys::favorite_count(member_id), "ADD favorites :less");
    vec![
        Write::delete(keys::favorite(member_id, id)).when("attribute_exists(pk)"),
        count.bind(":less", n(-1)),
        change(stripe, -1),
    ]
}

/// The write that counts a change in a stripe. One may hold less than nothing:
/// only their sum means anything.
fn change(stripe: Key, by: i64) -> Write {
    Write::update(stripe, "ADD held :by, changes :one").bind(":by", n(by)).bind(":one", n(1))
}

/// What became of a change of favorites.
pub enum Changed {
    /// It is as it should be.
    Now,
    /// Conditions failed.
    Refused(Refusals),
}

/// Adds a favorite of this announcement.
pub async fn add(app: &App, meta: &Meta, favorite: &Favorite) -> Result<Changed, Problem> {
    commit(app, meta, |stripe| favorite.add(stripe)).await
}

/// Removes a member's favorite of this announcement.
pub async fn take(app: &App, meta: &Meta, member_id: &str) -> Result<Changed, Problem> {
    commit(app, meta, |stripe| Ok(remove(member_id, &meta.announcement_id, stripe))).await
}

/// Commits what `writes` does with a stripe, on any. If another transaction
/// holds that one, there are others.
async fn commit(
    app: &App,
    meta: &Meta,
    writes: impl Fn(Key) -> Result<Vec<Write>, Problem>,
) -> Result<Changed, Problem> {
    let mut patience = Patience::default();
    loop {
        let stripe = app.random_below(meta.favorite_stripes.into());
        let stripe = u32::try_from(stripe).unwrap_or_default();
        let stripe = keys::favorites(&meta.announcement_id, stripe);
        match app.table(TABLE).transact(writes(stripe)?, &mut patience).await {
            Ok(()) => return Ok(Changed::Now),
            Err(WriteError::Refused(refusals)) => return Ok(Changed::Refused(refusals)),
            Err(WriteError::Conflict(_)) if patience.pause(app).await => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// All favorites of a member: there are at most [`MOST`].
pub async fn all_of(app: &App, member_id: &str) -> Result<Vec<Favorite>, Problem> {
    let query = Query {
        condition: "pk = :pk AND begins_with(sk, :favorite)".to_owned(),
        values: vec![
            (":pk", s(keys::member_partition(member_id))),
            (":favorite", s(keys::FAVORITE)),
        ],
        limit: MOST as usize,
        consistent: true,
        ..Query::default()
    };
    let items = app.table(TABLE).query(query).await?;
    items.into_iter().map(read).collect()
}
