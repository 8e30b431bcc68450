//! Posts, their views, and their ranking.
//!
//! A post is one small item that changes with its views, and one large one, the
//! body, that hardly ever changes. Views are counted in stripes, items of their
//! own, so that a view costs one write unit whatever the post's size, and so
//! that no crowd meets at one item. [`count_views`] adds the stripes up, once for
//! each post and window, and moves the post in the ranking.
//!
//! # Access patterns
//!
//! | caller | operation | guard | consistency, units |
//! |---|---|---|---|
//! | create-post | write post, body, kept answer | none such yet | 1 transaction, 2 WCU each KB of both, 2 each index |
//! | update-post | read post and body; write post, and body if it is another | `version` seen; `views` seen, to publish | consistent, 1 RCU each 4 KB; 1 transaction, 2–4 WCU and body |
//! | delete-post | read post; delete post and body | it is there, with the `version` asked for | 1 RCU; 1 transaction |
//! | get-post, remembered | add 1 to a stripe | | 1 WCU, sent once |
//! | get-post | read post and body; add 1 to a stripe | | consistent, 1 RCU each 4 KB; 1 WCU |
//! | get-post, by who may change it | read post, and body if it is another; add 1 to a stripe | | consistent, 1 RCU; 1 WCU |
//! | list-posts | query 4 partitions of `index2` | | eventual, remembered 1 s |
//! | popular-posts | query 8 partitions of `index1` for 20 | | eventual, remembered 1 s |
//! | count-views | read posts, then their stripes; write each post that has more views | `views` lower, `status` seen | consistent, 1 RCU each; 1 WCU, 2 for `index1`, 1 for `index2` |
//! | count-views, hot post | write post | `view_stripes` seen | 1 WCU |
//! | count-views, deleted post | read 64 stripes; delete those there | | consistent, 64 RCU; 1 WCU each |
//!
//! Both indexes hold all that a list shows, `views` included: a page needs no
//! reads of posts, for one write unit more whenever views are added up. That is
//! once for each post and window, and not once for each view. The stream has
//! keys only, since nobody needs the bodies in it.

pub mod count_views;
pub mod create_post;
pub mod cut;
pub mod delete_post;
pub mod get_post;
pub mod ids;
pub mod keys;
pub mod list_posts;
pub mod popular_posts;
pub mod post;
pub mod posts;
pub mod refusal;
pub mod update_post;
pub mod views;
pub mod wanted;

use platform::table::TableName;
use platform::{Function, Operation};

pub use ids::PostId;

/// The functions of this system.
pub static FUNCTIONS: &[Function] = &[
    create_post::FUNCTION,
    update_post::FUNCTION,
    delete_post::FUNCTION,
    list_posts::FUNCTION,
    get_post::FUNCTION,
    popular_posts::FUNCTION,
    count_views::FUNCTION,
];

/// What the document says of them.
pub fn operations() -> Vec<Operation> {
    vec![
        create_post::operation(),
        update_post::operation(),
        delete_post::operation(),
        list_posts::operation(),
        get_post::operation(),
        popular_posts::operation(),
    ]
}

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "BLOG_TABLE", default: "Blog" };
