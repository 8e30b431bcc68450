//! What the herd is after, and the counter behind it.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use clap::ValueEnum;
use http::Method;
use platform::auth::Role;
use platform::table::{Key, s};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::Request;
use crate::caller::Caller;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::stripes::set;

const HOUR_MS: i64 = 60 * 60_000;

/// What everybody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// To read the same post: each view is counted
    Post,
    /// To mark the same announcement: each favorite is counted
    Announcement,
    /// To enter the same queue: everybody gets a number
    Queue,
}

/// One of those, created for a run.
pub(crate) struct Thing {
    target: Target,
    id: String,
}

/// What a counter holds.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    /// All stripes together.
    pub(crate) sum: u64,
    /// How many those are.
    pub(crate) stripes: u32,
}

impl Target {
    /// The operation that counts.
    pub(crate) fn operation(self) -> &'static str {
        match self {
            Self::Post => "get-post",
            Self::Announcement => "add-favorite",
            Self::Queue => "enter-queue",
        }
    }

    /// Creates one.
    pub(crate) async fn create(self, cloud: &Cloud, caller: &Caller) -> Result<Thing, Error> {
        let run = format!("load-{:016x}", fastrand::u64(..));
        let at = |hours: i64| cloud.now().plus_millis(hours * HOUR_MS).to_string();
        let (operation, method, path, body) = match self {
            Self::Post => ("create-post", Method::POST, "/posts".to_owned(), post()),
            Self::Announcement => {
                let path = format!("/announcements/{run}");
                ("put-announcement", Method::PUT, path, announcement(&at(-1), &at(24)))
            }
            Self::Queue => {
                let path = format!("/matches/{run}");
                let body = match_(&at(-1), &at(24), &at(48));
                ("put-match", Method::PUT, path, body)
            }
        };
        let token = cloud.token("load-staff", Role::Staff)?;
        let request = Request::new(operation, method, path).token(&token).body(body);
        let answer = caller.insist(&request.idempotency_key(run.clone())).await?;
        let id = match self {
            Self::Announcement | Self::Queue => run,
            Self::Post => {
                #[derive(Deserialize)]
                struct Created {
                    id: String,
                }
                let created: Result<Created, _> = answer.json();
                created.map_err(|error| Error::NotAsPromised { operation, error })?.id
            }
        };
        Ok(Thing { target: self, id })
    }
}

fn post() -> Value {
    json!({
        "title": "What everybody reads",
        "body": "It opens at nine. ".repeat(100),
        "tags": [],
        "status": "PUBLISHED",
    })
}

fn announcement(opens_at: &str, closes_at: &str) -> Value {
    json!({
        "title": "What everybody marks",
        "organisation": "Housing Office",
        "category": "housing",
        "region": "north",
        "body": "It closes tomorrow.",
        "opensAt": opens_at,
        "closesAt": closes_at,
        "documents": [],
    })
}

fn match_(opens_at: &str, closes_at: &str, starts_at: &str) -> Value {
    json!({
        "home": "Reds",
        "away": "Blues",
        "venue": "Old Ground",
        "startsAt": starts_at,
        "saleOpensAt": opens_at,
        "saleClosesAt": closes_at,
        "blocks": [{
            "section": "North", "block": "B1", "grade": 1, "price": 100,
            "rows": 10, "seatsPerRow": 10,
        }],
        // With so many admitted, there are as many lanes as there can be.
        "admitPerSecond": 100_000,
        "passMinutes": 10,
        "holdMinutes": 10,
        "payMinutes": 10,
        "maxSeatsPerMember": 4,
    })
}

impl Thing {
    /// What everybody sends.
    pub(crate) fn request(&self) -> Request {
        let (method, path) = match self.target {
            Target::Post => (Method::GET, format!("/posts/{}", self.id)),
            Target::Announcement => (Method::PUT, format!("/announcements/{}/favorite", self.id)),
            Target::Queue => (Method::POST, format!("/matches/{}/queue", self.id)),
        };
        Request::new(self.target.operation(), method, path)
    }

    /// Spreads its counter, which has counted nothing yet, over so many stripes.
    pub(crate) async fn spread(&self, client: &Client, stripes: u32) -> Result<(), Error> {
        let (table, key, attribute) = self.item()?;
        set(client, table, key, &[(attribute, stripes.into())]).await
    }

    /// What its counter holds.
    pub(crate) async fn count(&self, client: &Client) -> Result<Counted, Error> {
        let (table, key, attribute) = self.item()?;
        let stripes = number(client, table, key, attribute).await?;
        if self.target == Target::Queue {
            let stripes = u32::try_from(stripes).unwrap_or(u32::MAX);
            return Ok(Counted { sum: self.turns(client).await?, stripes });
        }
        let stripes = u32::try_from(stripes).map_err(|error| Error::Tables(error.to_string()))?;
        let mut sum = 0;
        for stripe in 0..stripes {
            let (key, attribute) = self.stripe(stripe)?;
            sum += number(client, table, key, attribute).await?;
        }
        Ok(Counted { sum, stripes })
    }

    /// The item that says how many stripes there are: its table, key and attribute.
    fn item(&self) -> Result<(&'static str, Key, &'static str), Error> {
        Ok(match self.target {
            Target::Post => (blog::TABLE.default, blog::keys::meta(self.id()?), "view_stripes"),
            Target::Announcement => {
                let key = announcement::keys::meta(&self.id()?);
                (announcement::TABLE.default, key, "favorite_stripes")
            }
            Target::Queue => {
                (ticketing::TABLE.default, ticketing::keys::match_(&self.id()?), "lanes")
            }
        })
    }

    /// A stripe: its key, and the attribute that counts.
    fn stripe(&self, number: u32) -> Result<(Key, &'static str), Error> {
        Ok(match self.target {
            Target::Post => (blog::keys::views(self.id()?, number), "views"),
            Target::Announcement => (announcement::keys::favorites(&self.id()?, number), "held"),
            Target::Queue => (ticketing::keys::lane(&self.id()?, number), "tail"),
        })
    }

    /// How many turns of the queue are somebody's: lanes count those, too, that have
    /// passed while nobody was there. One that two people have counts once. An entry
    /// without a turn is of somebody who was never answered.
    async fn turns(&self, client: &Client) -> Result<u64, Error> {
        let failed = |error: String| Error::Tables(error);
        let scan = client
            .scan()
            .table_name(ticketing::TABLE.default)
            .filter_expression("begins_with(pk, :match) AND sk = :entry")
            .expression_attribute_values(":match", s(format!("MATCH#{}#MEMBER#", self.id)))
            .expression_attribute_values(":entry", s("ENTRY"))
            .consistent_read(true);
        let mut pages = scan.into_paginator().items().send();
        let mut turns = BTreeSet::new();
        while let Some(item) = pages.next().await {
            let item = item.map_err(|error| failed(DisplayErrorContext(error).to_string()))?;
            turns.extend(item.get("turn").and_then(|turn| turn.as_n().ok()).cloned());
        }
        Ok(turns.len() as u64)
    }

    fn id<T: std::str::FromStr<Err: std::fmt::Display>>(&self) -> Result<T, Error> {
        self.id.parse().map_err(|error: T::Err| Error::Tables(error.to_string()))
    }
}

/// A number in an item; 0 if that is not there yet.
async fn number(client: &Client, table: &str, key: Key, attribute: &str) -> Result<u64, Error> {
    let get = client.get_item().table_name(table).set_key(Some(key.into_item()));
    let got = get.consistent_read(true).send().await;
    let got = got.map_err(|error| Error::Tables(DisplayErrorContext(error).to_string()))?;
    let Some(value) = got.item.as_ref().and_then(|item| item.get(attribute)) else {
        return Ok(0);
    };
    let number = value.as_n().ok().and_then(|number| number.parse().ok());
    number.ok_or_else(|| Error::Tables(format!("{attribute} is no count")))
}
