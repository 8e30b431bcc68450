//! Queue → inbox: an event becomes a notification of the member it concerns.
//!
//! Things are told at the same time, events of one thing one after the other.
//! After one that failed, the rest of its thing fails too, so that they come
//! again in their order.

use std::collections::HashMap;

use futures_util::future::join_all;
use platform::events::{Failures, Message};
use platform::{App, Function, Problem};

use crate::TABLE;
use crate::dead_letter::Envelope;
use crate::item::Notification;

/// The function.
pub const FUNCTION: Function = Function::queue("notify", |a, m| Box::pin(handle(a, m)));

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
    let envelope = serde_json::from_str::<Envelope>(&message.body);
    let Envelope { record_id, event } =
        envelope.map_err(|error| Problem::internal(format!("no event: {error}")))?;
    let notification = Notification::of(&event, &record_id);
    app.table(TABLE).put_new(notification.to_item(&event.member_id)?).await?;
    Ok(())
}
