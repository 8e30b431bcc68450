//! Notification: what changed in the other tables, told to those it concerns.
//!
//! A change's stream record becomes an event ([`relay`]), goes through a FIFO
//! queue, and ends as an item in a member's inbox ([`notify`]). Nothing writes
//! to a table and to the queue: what is in a table will be told, and what is
//! not will never be.
//!
//! ```text
//!  tables ── streams ──► relay ── EventsQueue (FIFO) ──► notify ──► Notification
//!                          │ cannot be read     │ refused five times
//!                          ▼                    ▼
//!                        EventsDeadLetterQueue ── redrive ──► EventsQueue
//! ```
//!
//! Every step may run twice, and the sum of them changes nothing twice: a
//! message bears its record's id, and so does the notification's key.
//!
//! # Access patterns
//!
//! | caller | operation | guard | consistency, units |
//! |---|---|---|---|
//! | notify | put notification | none such yet | 1 WCU for each KB |
//! | list-notifications | query a member's partition, newest first | | consistent, 1 RCU for each 4 KB |
//! | read-notification | read notification; set `read_at_ms` | it exists and is not read yet | 1 RCU; 1 transaction, 2 WCU |

pub mod count_dead_letters;
pub mod dead_letter;
pub mod item;
pub mod keys;
pub mod list_notifications;
pub mod notify;
pub mod read_notification;
pub mod redrive;
pub mod relay;

use platform::events::Source;
use platform::queue::QueueName;
use platform::table::TableName;
use platform::{Function, Operation};

/// The functions of this system.
pub static FUNCTIONS: &[Function] = &[
    relay::FUNCTION,
    notify::FUNCTION,
    list_notifications::FUNCTION,
    read_notification::FUNCTION,
    count_dead_letters::FUNCTION,
    redrive::FUNCTION,
];

/// What the document says of them.
pub fn operations() -> Vec<Operation> {
    vec![
        list_notifications::operation(),
        read_notification::operation(),
        count_dead_letters::operation(),
        redrive::operation(),
    ]
}

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "NOTIFICATION_TABLE", default: "Notification" };

/// Events on their way.
pub const EVENTS: QueueName = QueueName("EVENTS_QUEUE_URL");

/// Events that did not arrive, and records that became none.
pub const DEAD_LETTERS: QueueName = QueueName("EVENTS_DEAD_LETTER_QUEUE_URL");

/// The tables whose changes become events.
pub const SOURCES: &[Source] = &[
    announcement::events::SOURCE,
    enrollment::events::SOURCE,
    schedule::events::SOURCE,
    ticketing::events::SOURCE,
];
