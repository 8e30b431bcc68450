//! Which announcements there are, who the users are, and what one asks for next.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use platform::auth::Role;
use serde_json::json;

use super::ledger::Told;
use crate::call::Request;
use crate::caller::Caller;
use crate::cloud::Cloud;
use crate::error::Error;

/// Announcements of a run.
const ANNOUNCEMENTS: usize = 120;
/// Those that most users look at and mark.
const HOT: usize = 5;
/// Of ten, so many look at a hot one.
const HOT_OF_TEN: u32 = 8;
/// The first so many may be marked: fewer than a member may have favorites.
const MARKED: usize = 60;
/// The first so many have checklists.
const CHECKED: usize = 10;
/// One of so many looks at home without a token.
const GUEST: u32 = 5;
/// Announcements that are put at the same time.
const PUT_AT_A_TIME: usize = 20;
/// The time between two closings. None closes during a run, nor soon after.
const BETWEEN: Duration = Duration::from_secs(6 * 60 * 60);
/// The documents that each announcement asks for.
pub(crate) const DOCUMENTS: [&str; 5] = ["id-card", "letter", "photo", "income", "references"];

/// The announcements and members of a run.
pub(crate) struct Plan {
    run: String,
    staff: Arc<str>,
    members: Vec<Arc<str>>,
    places: usize,
}

/// What to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Home, with a token or without.
    Home { is_guest: bool },
    /// To mark the announcement at this place, or to take the mark back.
    Mark(usize),
    /// The announcement at this place.
    Read(usize),
    /// To write the checklist for the announcement at this place.
    Check(usize),
    /// To read it.
    Recheck(usize),
}

impl Plan {
    /// Of a run with so many users. No other run has their ids.
    pub(crate) fn new(cloud: &Cloud, users: usize) -> Result<Self, Error> {
        let run = format!("load-{:016x}", fastrand::u64(..));
        let tokens = (0..users).map(|user| cloud.token(&format!("{run}-{user}"), Role::Member));
        let members = tokens.collect::<Result<_, _>>()?;
        Ok(Self { staff: cloud.staff_token()?, members, places: ANNOUNCEMENTS, run })
    }

    /// How many announcements there are.
    pub(crate) fn places(&self) -> usize {
        self.places
    }

    /// The token of a user.
    pub(crate) fn token(&self, user: usize) -> &Arc<str> {
        &self.members[user]
    }

    /// The token of the staff.
    pub(crate) fn staff(&self) -> &Arc<str> {
        &self.staff
    }

    /// The category of the run's announcements, which no other has.
    pub(crate) fn category(&self) -> &str {
        &self.run
    }

    /// The id of the announcement at a place.
    pub(crate) fn id(&self, place: usize) -> String {
        format!("{}-{place}", self.run)
    }

    /// The place of an announcement of this run.
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        id.strip_prefix(&self.run)?.strip_prefix('-')?.parse().ok()
    }

    /// How many requests reading back takes.
    pub(crate) fn requests_to_read_back(&self, told: &Told) -> u64 {
        let lists = told.members.values().map(|member| 1 + member.checked.len() as u64);
        lists.sum::<u64>() + (self.places as u64).div_ceil(100)
    }

    /// Puts the announcements there.
    pub(crate) async fn announce(&self, cloud: &Cloud, caller: &Caller) -> Result<(), Error> {
        let now = cloud.now();
        let between_ms = i64::try_from(BETWEEN.as_millis()).unwrap_or(i64::MAX);
        let documents = DOCUMENTS.iter().enumerate().map(
            |(place, id)| json!({ "id": id, "name": format!("Your {id}"), "required": place < 3 }),
        );
        let documents: Vec<_> = documents.collect();
        let requests = (0..self.places).zip(8_i64..).map(|(place, number)| {
            let path = format!("/announcements/{}", self.id(place));
            Request::new("put-announcement", Method::PUT, path).token(&self.staff).body(json!({
                "title": format!("Rooms near the campus, number {place}"),
                "organisation": "Housing Office",
                "category": self.category(),
                "region": if place % 2 == 0 { "north" } else { "south" },
                "body": "Everybody wants one of these rooms. ".repeat(20),
                "opensAt": now.plus_millis(-between_ms),
                "closesAt": now.plus_millis(number * between_ms),
                "documents": documents,
            }))
        });
        let requests: Vec<Request> = requests.collect();
        let put = stream::iter(&requests).map(|request| caller.insist(request));
        put.buffer_unordered(PUT_AT_A_TIME).try_for_each(|_| async { Ok(()) }).await?;
        Ok(())
    }

    /// What a user asks for next: each of the four as often as the others.
    pub(crate) fn next(&self, random: &mut fastrand::Rng) -> Step {
        let hot = random.u32(0..10) < HOT_OF_TEN;
        let one_of = |random: &mut fastrand::Rng, all: usize| {
            let all = all.min(self.places);
            random.usize(..if hot { HOT.min(all) } else { all })
        };
        match random.u32(0..8) {
            0 | 1 => Step::Home { is_guest: random.u32(0..GUEST) == 0 },
            2 | 3 => Step::Mark(one_of(random, MARKED)),
            4 | 5 => Step::Read(one_of(random, self.places)),
            6 => Step::Check(one_of(random, CHECKED)),
            _ => Step::Recheck(one_of(random, CHECKED)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    pub(crate) fn plan(users: usize) -> Plan {
        let members = (0..users).map(|user| format!("token-{user}").into()).collect();
        Plan { run: "load-1".to_owned(), staff: "staff".into(), members, places: ANNOUNCEMENTS }
    }

    #[test]
    fn each_api_is_asked_as_often_as_the_others_and_mostly_for_the_same() {
        let (plan, mut random) = (plan(1), fastrand::Rng::with_seed(1));
        let (mut asked, mut hot, mut guests) = (BTreeMap::new(), 0, 0);
        for _ in 0..8_000 {
            let (api, place) = match plan.next(&mut random) {
                Step::Home { is_guest } => {
                    guests += u32::from(is_guest);
                    ("home", None)
                }
                Step::Mark(place) => ("favorite", Some((place, MARKED))),
                Step::Read(place) => ("announcement", Some((place, ANNOUNCEMENTS))),
                Step::Check(place) | Step::Recheck(place) => ("checklist", Some((place, CHECKED))),
            };
            *asked.entry(api).or_insert(0) += 1;
            if let Some((place, all)) = place {
                assert!(place < all);
                hot += u32::from(place < HOT);
            }
        }
        assert!(asked.values().all(|count| (1_850..2_150).contains(count)), "{asked:?}");
        assert!((4_800..5_600).contains(&hot) && (300..500).contains(&guests), "{hot} {guests}");
    }

    #[test]
    fn a_place_is_known_by_the_id_in_this_run_alone() {
        let plan = plan(1);
        assert_eq!(plan.place(&plan.id(17)), Some(17));
        for foreign in ["load-2-17", "youth-rooms", "load-1", "load-1-x"] {
            assert_eq!(plan.place(foreign), None, "{foreign}");
        }
    }
}
