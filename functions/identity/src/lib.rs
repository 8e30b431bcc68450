//! Identity: members, sessions and tokens.
//!
//! A member proves who they are by a password (log-in) or by the newest refresh
//! token of a session (refresh-session), and gets an access token that every
//! function verifies by itself. A password is tried only after the attempt was
//! counted, so guesses cannot outrun the lock-out; a refresh token that comes
//! again, long after it was exchanged, was stolen, and ends its session.
//!
//! # Access patterns
//!
//! | caller | operation | guard | consistency, units |
//! |---|---|---|---|
//! | sign-up | write log-in and member, forget attempts | no such log-in | 1 transaction, 6 WCU; 8 with a key |
//! | log-in | count the attempt | fewer than ten within 15 minutes | 1 transaction, 2 WCU |
//! | | read log-in | | consistent, 1 RCU |
//! | log-in, right password | read member; write session, forget attempts | | consistent, 1 RCU; 1 transaction, 4 WCU |
//! | refresh-session | read member and session | | consistent, 2 RCU |
//! | | write session | the counter seen | 1 transaction, 2 WCU; none for a repeat |
//! | log-out | delete session | | 1 transaction, 2 WCU |
//! | get-me | read member | | consistent, 1 RCU |
//! | update-me | read member; write it, if anything changes | `version` | consistent, 1 RCU; 1 transaction, 2 WCU |
//! | update-me, password | as log-in; write log-in and member, forget attempts | both versions | 1 transaction, 6 WCU |
//! | set-role | read log-in, if that was given; write member | there is one, with another role | 1 RCU; 1 transaction, 2 WCU |
//! | list-keys | | | nothing |
//!
//! What strangers write is an attempt, in the partition of the log-in that they
//! try, and it is gone after an hour.
//!
//! # Secrets
//!
//! `SIGNING_KEYS`: private Ed25519 keys in PEM (PKCS#8), one after the other; the
//! first signs access tokens. `REFRESH_KEYS` and `FIELD_KEYS`: texts of at least
//! 32 characters, with white space between; the first makes refresh tokens or
//! encrypts, all are taken for what they made. Keys are derived from them.

pub mod attempts;
pub mod get_me;
pub mod keys;
pub mod list_keys;
pub mod log_in;
pub mod log_out;
pub mod member;
pub mod password;
pub mod private;
pub mod profile;
pub mod refresh_session;
pub mod refusal;
pub mod sealing;
pub mod session;
pub mod set_role;
pub mod sign_up;
pub mod tokens;
pub mod update_me;

pub mod time_zone;

use platform::table::TableName;
use platform::{Function, Operation};

/// The functions of this system.
pub static FUNCTIONS: &[Function] = &[
    sign_up::FUNCTION,
    log_in::FUNCTION,
    refresh_session::FUNCTION,
    log_out::FUNCTION,
    get_me::FUNCTION,
    update_me::FUNCTION,
    list_keys::FUNCTION,
    set_role::FUNCTION,
];

/// What the document says of them.
pub fn operations() -> Vec<Operation> {
    vec![
        sign_up::operation(),
        log_in::operation(),
        refresh_session::operation(),
        log_out::operation(),
        get_me::operation(),
        update_me::operation(),
        list_keys::operation(),
    ]
}

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "IDENTITY_TABLE", default: "Identity" };
