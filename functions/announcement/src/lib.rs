//! Announcements, favorites, checklists, and home.
//!
//! Everybody opens home at once, and marks the same announcement. So what is the
//! same for everybody is built once a minute and read from a copy ([`home`]);
//! favorites and views are counted in stripes, which [`count_announcements`] adds
//! up; and what is one's own lies in a partition of one's own.
//!
//! # Access patterns
//!
//! | caller | operation | guard | consistency, units |
//! |---|---|---|---|
//! | put-announcement | read announcement; write it, its texts, and up to 8 lists | none such yet, or `version` seen | consistent, 1 RCU each 4 KB; 1 transaction, 2 WCU each KB, 2 a list |
//! | get-announcement, remembered | add 1 to a stripe of views | | 1 WCU, sent once |
//! | get-announcement | read announcement and texts; add 1 to a stripe | | consistent, 1 RCU each 4 KB; 1 WCU |
//! | list-announcements | query a list; read its announcements | | eventual, remembered 1 s; consistent with a token |
//! | add-favorite | write favorite, member's count, a stripe | no such favorite, fewer than 100 | 1 transaction, 8 WCU |
//! | remove-favorite | delete favorite; write member's count, a stripe | it is there | 1 transaction, 8 WCU |
//! | list-favorites, get-home | query the member's favorites; read their announcements | | consistent, 4 RCU; eventual, 0.5 RCU each, those not found consistent |
//! | get-home | query the member's last 20 checklists in `recent`; read their announcements | | consistent |
//! | get-home, every 5 s | read the snapshot | | eventual, waits 25 ms |
//! | get-checklist, put-checklist | read announcement and checklist | | consistent, 2 RCU |
//! | put-checklist | write checklist | `version` seen, or none yet | 1 transaction, 4 WCU |
//! | count-announcements | read announcements, then their stripes; write those that changed | `favorite_changes`, `views` lower | consistent, 1 RCU each, 96 for favorites; 1 WCU each KB, 2 for `index1` |
//! | count-announcements, hot | write announcement | `view_stripes` seen | 1 WCU |
//! | refresh-home | query a list, the newest, 8 partitions of `index1`; read those announcements; write the snapshot | `built_at_ms` earlier | eventual; 1 transaction |
//! | announce-closing | query a list; 8 partitions of `index2` for each announcement; put a notice and move each favorite | none such yet; `index2_sk` lower | consistent; eventual, 0.5 RCU each; 4 WCU each |
//!
//! The number of stripes that an announcement's views have is in the announcement
//! itself, since it grows; favorites have a fixed number, each of which is made by
//! its first favorite.

pub mod add_favorite;
pub mod announce_closing;
pub mod announcement;
pub mod announcements;
pub mod checklist;
pub mod count_announcements;
pub mod events;
pub mod favorite;
pub mod get_announcement;
pub mod get_checklist;
pub mod get_home;
pub mod home;
pub mod ids;
pub mod keys;
pub mod list_announcements;
pub mod list_favorites;
pub mod notice;
pub mod put_announcement;
pub mod put_checklist;
pub mod refresh_home;
pub mod refusal;
pub mod remove_favorite;
pub mod wanted;

use platform::table::TableName;
use platform::{Function, Operation};

pub use ids::AnnouncementId;

/// The functions of this system.
pub static FUNCTIONS: &[Function] = &[
    get_home::FUNCTION,
    list_announcements::FUNCTION,
    get_announcement::FUNCTION,
    put_announcement::FUNCTION,
    add_favorite::FUNCTION,
    remove_favorite::FUNCTION,
    list_favorites::FUNCTION,
    get_checklist::FUNCTION,
    put_checklist::FUNCTION,
    count_announcements::FUNCTION,
    refresh_home::FUNCTION,
    announce_closing::FUNCTION,
];

/// What the document says of them.
pub fn operations() -> Vec<Operation> {
    vec![
        get_home::operation(),
        list_announcements::operation(),
        get_announcement::operation(),
        put_announcement::operation(),
        add_favorite::operation(),
        remove_favorite::operation(),
        list_favorites::operation(),
        get_checklist::operation(),
        put_checklist::operation(),
    ]
}

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "ANNOUNCEMENT_TABLE", default: "Announcement" };
