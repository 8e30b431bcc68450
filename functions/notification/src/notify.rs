//! Queue → inbox: an event becomes a notification of the member it concerns.
//!
//! Things are told at the same time, events of one thing one after the other.
//! After one that failed, the rest of its thing fails too, so that they come
//! again in their order. What is no event is parked among the dead letters and
//! holds nobody up: it would never be one.

use std::collections::HashMap;

use futures_util::future::join_all;
use platform::events::{Failures, Message};
use platform::queue::Entry;
use platform::{App, Function, Problem};

use crate::dead_letter::Envelope;
use crate::item::Notification;
use crate::{DEAD_LETTERS, TABLE};

/// The function.
pub static FUNCTION: Function = Function::queue("notify", |a, m| Box::pin(handle(a, m)));

async fn handle(app: &App, messages: Vec<Message>) -> Result<Failures, Problem> {
    let groups = by_group(&messages);
    let failed = join_all(groups.iter().map(|group| tell_in_order(app, group))).await;
    let mut failures = Failures::default();
    for message in failed.into_iter().flatten() {
        failures.add(&message.message_id);
    }
    Ok(failures)
}

/// The messages of each group, in their order.
fn by_group(messages: &[Message]) -> Vec<Vec<&Message>> {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<&Message>> = Vec::new();
    for message in messages {
        let place = *places.entry(message.group()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(message),
            None => groups.push(vec![message]),
        }
    }
    groups
}

/// Tells one event after the other; those that were not told.
async fn tell_in_order<'m>(app: &App, messages: &[&'m Message]) -> Vec<&'m Message> {
    for (place, message) in messages.iter().enumerate() {
        if let Err(problem) = tell(app, message).await {
            let message_id = &message.message_id;
            tracing::warn!(message_id, cause = problem.cause(), "an event was not told");
            return messages.iter().skip(place).copied().collect();
        }
    }
    Vec::new()
}

/// Puts the notification there, unless it is there already.
async fn tell(app: &App, message: &Message) -> Result<(), Problem> {
    let Envelope { record_id, event } = match serde_json::from_str(&message.body) {
        Ok(envelope) => envelope,
        Err(error) => return park(app, message, &error).await,
    };
    let notification = Notification::of(&event, &record_id);
    app.table(TABLE).put_new(notification.to_item(&event.member_id)?).await?;
    Ok(())
}

async fn park(app: &App, message: &Message, error: &serde_json::Error) -> Result<(), Problem> {
    let message_id = &message.message_id;
    tracing::error!(message_id, %error, "a message is parked among the dead letters");
    let entry = Entry {
        group: format!("parked-{message_id}"),
        deduplication_id: message_id.clone(),
        body: message.body.clone(),
    };
    match app.queue(DEAD_LETTERS)?.send(&[entry]).await?.is_empty() {
        true => Ok(()),
        false => Err(Problem::busy("the dead letters do not take a message")),
    }
}
