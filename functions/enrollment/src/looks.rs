//! Looks at a course's stripes, for whoever met one without a seat.
//!
//! Some are looked at first, and all only when those have no seat either. What was
//! seen serves the requests of the next second: which stripes to try, or that there
//! is no use in looking. An environment remembers it; and since a thousand of them
//! find a course sold out within the same moment, one looks at all stripes for the
//! others, who wait for what it saw.

use std::sync::Arc;
use std::time::Duration;

use platform::cache::Cache;
use platform::clock::Instant;
use platform::table::{Item, Key, Read, Write, WriteError, n};
use platform::{App, Problem};
use serde::Deserialize;

use crate::course::{Course, broken};
use crate::ids::CourseId;
use crate::seats::Stripe;
use crate::{TABLE, keys};

/// How long a look at the stripes is remembered at most, in milliseconds.
pub const LOOK_LIFETIME_MS: i64 = 1_000;

/// By up to so many milliseconds it is forgotten earlier, at random: so the first
/// one looks again before all others have to.
pub const EARLIER_MS: i64 = 300;

/// Before looking at all, environments wait up to so many milliseconds, at random:
/// a thousand that want to look at the same moment would use up the 1,000 write
/// units a second that the partition of the turn has.
const APART_MS: u64 = 100;

/// How many stripes the first looks take in, before one takes in all.
const SAMPLES: [usize; 2] = [16, 64];

/// Up to so many stripes it costs less to look than to ask what others saw.
const FEW: u32 = 16;

/// How long others wait for the one who looks, in milliseconds: many times what
/// that takes. After that, the next one looks.
pub const TURN_MS: i64 = 500;

/// Stripes as they were when somebody looked.
#[derive(Debug, Default)]
pub struct Look {
    /// Those that were looked at.
    pub stripes: Vec<Stripe>,
    /// Whether no other stripe had a free seat.
    pub is_complete: bool,
    /// When the look began.
    pub at: Instant,
}

impl Look {
    /// Whether any of them has a free seat.
    pub fn has_seats(&self) -> bool {
        self.stripes.iter().any(|stripe| stripe.seats_left > 0)
    }
}

/// What was last seen of each course's stripes.
struct Looks(Cache<CourseId, Arc<Look>>);

impl Default for Looks {
    fn default() -> Self {
        Self(Cache::new(10_000, LOOK_LIFETIME_MS))
    }
}

/// What was seen within the last second, if this environment looked or asked.
pub fn remembered(app: &App, course: CourseId) -> Option<Arc<Look>> {
    app.memory::<Looks>().0.get(&course, app.clock.now())
}

/// Remembers a look for a second, less `earlier_ms`.
fn remember(app: &App, course: CourseId, look: Look, earlier_ms: i64) -> Arc<Look> {
    let look = Arc::new(look);
    let at = look.at.plus_millis(-earlier_ms);
    app.memory::<Looks>().0.put(course, at, Arc::clone(&look));
    look
}

/// Remembers what others know, too, so that not all of them forget it at the same
/// moment.
fn remember_shared(app: &App, course: CourseId, look: Look) -> Arc<Look> {
    remember(app, course, look, earlier_ms(app))
}

fn earlier_ms(app: &App) -> i64 {
    i64::try_from(app.random_below(EARLIER_MS.unsigned_abs())).unwrap_or(EARLIER_MS)
}

/// Looks at every stripe of `course`, and remembers it for a second.
pub async fn look(app: &App, course: &Course, read: Read) -> Result<Arc<Look>, Problem> {
    let (at, id) = (app.clock.now(), course.course_id);
    let keys = (0..course.stripes).map(|number| keys::seats(id, number)).collect();
    let items = app.table(TABLE).batch_get(keys, read).await?;
    let stripes = items.into_iter().map(Stripe::from_item).collect::<Result<Vec<_>, _>>()?;
    let is_complete = stripes.len() == course.stripes as usize;
    if !is_complete && read == Read::Consistent {
        return Err(broken("a stripe of seats"));
    }
    Ok(remember(app, id, Look { stripes, is_complete, at }, 0))
}

/// Looks at some stripes, picked at random: more than were `seen` before without
/// a seat. Returns what settles the matter: some with seats, or what another
/// environment saw of all within the last second. `None` when nothing less than a
/// look at all will.
///
/// While one stripe in ten has seats, 16 of them show one four times in five, for
/// a sixteenth of the cost of looking at all; while one in fifty has, 64 do.
pub async fn sample(app: &App, course: &Course, seen: usize) -> Result<Option<Arc<Look>>, Problem> {
    let mut numbers: Vec<u32> = (0..course.stripes).collect();
    for wanted in SAMPLES.into_iter().filter(|wanted| *wanted > seen) {
        for place in 0..wanted.min(numbers.len()) {
            let rest = numbers.len() - place;
            let other = place + usize::try_from(app.random_below(rest as u64)).unwrap_or(0);
            numbers.swap(place, other);
        }
        let picked = numbers.iter().take(wanted).copied();
        let look = look_at_some(app, course, picked).await?;
        if look.has_seats() || look.is_complete {
            return Ok(Some(look));
        }
        if numbers.len() <= wanted {
            break;
        }
    }
    Ok(None)
}

async fn look_at_some(
    app: &App,
    course: &Course,
    numbers: impl Iterator<Item = u32>,
) -> Result<Arc<Look>, Problem> {
    let (at, id) = (app.clock.now(), course.course_id);
    let mut keys: Vec<Key> = numbers.map(|number| keys::seats(id, number)).collect();
    if is_shared(course) && keys.len() == SAMPLES[0] {
        keys.push(keys::look(id));
    }
    let mut stripes = Vec::with_capacity(keys.len());
    for item in app.table(TABLE).batch_get(keys, Read::Eventual).await? {
        if Key::of(&item) != Some(keys::look(id)) {
            stripes.push(Stripe::from_item(item)?);
        } else if let Some(look) = Shared::from_item(item)?.look(app, at) {
            return Ok(remember_shared(app, id, look));
        }
    }
    Ok(remember(app, id, Look { stripes, is_complete: false, at }, 0))
}

/// Whether environments share what they see of this course's stripes.
pub fn is_shared(course: &Course) -> bool {
    course.stripes > FEW
}

/// A look at all stripes, as the table keeps it for other environments.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shared {
    /// Since when somebody is looking; 0 if nobody is.
    looking_since_ms: i64,
    /// When the last look began; 0 if there was none.
    looked_at_ms: i64,
    /// The stripes that had seats then.
    stripes: Vec<Stripe>,
}

impl Shared {
    fn from_item(item: Item) -> Result<Self, Problem> {
        platform::table::read(item)
    }

    /// What was seen, if that was within the last second of `now` or a little less.
    /// A time to come, by a clock that is ahead, counts no longer.
    fn look(&self, app: &App, now: Instant) -> Option<Look> {
        let lifetime_ms = (LOOK_LIFETIME_MS - earlier_ms(app)).unsigned_abs();
        let is_recent = now.as_millis().abs_diff(self.looked_at_ms) < lifetime_ms;
        let at = Instant::from_millis(self.looked_at_ms);
        is_recent.then(|| Look { stripes: self.stripes.clone(), is_complete: true, at })
    }
}

/// Lets a moment pass, another one in each environment.
pub async fn keep_apart(app: &App) {
    tokio::time::sleep(Duration::from_millis(app.random_below(APART_MS))).await;
}

/// What was seen of all stripes of `course` after `after`, by another environment
/// or by looking now. `None` while another one is looking.
pub async fn look_for_all(
    app: &App,
    course: &Course,
    after: Instant,
) -> Result<Option<Arc<Look>>, Problem> {
    let (now, id) = (app.clock.now(), course.course_id);
    let item = app.table(TABLE).get(keys::look(id), Read::Eventual).await?;
    let shared = item.map(Shared::from_item).transpose()?.unwrap_or_default();
    if let Some(look) = shared.look(app, now).filter(|look| look.at > after) {
        return Ok(Some(remember_shared(app, id, look)));
    }
    let is_taken = now.as_millis().abs_diff(shared.looking_since_ms) < TURN_MS.unsigned_abs();
    if is_taken || !take_turn(app, id, &shared, now).await? {
        return Ok(None);
    }
    let look = look(app, course, Read::Consistent).await?;
    share(app, id, &look, now).await?;
    Ok(Some(look))
}

/// Whether it is this environment's turn to look, nobody having looked since
/// `seen` was read, and nobody being about to.
async fn take_turn(
    app: &App,
    course: CourseId,
    seen: &Shared,
    now: Instant,
) -> Result<bool, Problem> {
    let take = "SET looking_since_ms = :now, looked_at_ms = :looked_at";
    let turn = Write::update(keys::look(course), take)
        .when("(attribute_not_exists(pk) OR looked_at_ms = :looked_at)")
        .when("(attribute_not_exists(pk) OR looking_since_ms = :looking_since)")
        .bind(":now", n(now.as_millis()))
        .bind(":looked_at", n(seen.looked_at_ms))
        .bind(":looking_since", n(seen.looking_since_ms));
    match app.table(TABLE).update(turn).await {
        Ok(()) => Ok(true),
        Err(WriteError::Refused(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Tells the others, unless the turn that began `since` is over.
async fn share(app: &App, course: CourseId, look: &Look, since: Instant) -> Result<(), Problem> {
    let free: Vec<_> = look.stripes.iter().filter(|stripe| stripe.seats_left > 0).collect();
    let tell = "SET looked_at_ms = :at, stripes = :stripes, looking_since_ms = :nobody";
    let told = Write::update(keys::look(course), tell)
        .when("looking_since_ms = :since")
        .bind(":at", n(look.at.as_millis()))
        .bind(":stripes", platform::table::value(&free)?)
        .bind(":nobody", n(0))
        .bind(":since", n(since.as_millis()));
    match app.table(TABLE).update(told).await {
        Ok(()) | Err(WriteError::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
