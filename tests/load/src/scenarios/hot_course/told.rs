//! Whether every student was told of every seat it got or gave back, once.

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde::Deserialize;

use super::checks::Expected;
use super::plan::Plan;
use super::setup::AT_A_TIME;
use crate::call::Request;
use crate::caller::Caller;
use crate::error::Error;
use crate::invariants::Invariant;

const NAME: &str = "every enrollment was told once";
/// More than a student can have.
const PAGE: usize = 100;

/// What one student was told, oldest first.
pub(super) type Inbox = Vec<Notification>;

/// A notification.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Notification {
    r#type: String,
    version: u64,
    payload: Payload,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    course_id: u64,
}

/// The inboxes of all students.
pub(super) async fn read(caller: &Caller, plan: &Plan) -> Result<Vec<Inbox>, Error> {
    stream::iter(0..plan.students())
        .map(|student| read_one(caller, plan, student))
        .buffered(AT_A_TIME)
        .try_collect()
        .await
}

async fn read_one(caller: &Caller, plan: &Plan, student: usize) -> Result<Inbox, Error> {
    #[derive(Deserialize)]
    struct Page {
        items: Inbox,
    }
    const OPERATION: &str = "list-notifications";
    let path = format!("/notifications?limit={PAGE}");
    let request = Request::new(OPERATION, Method::GET, path).token(plan.token(student));
    let answer = caller.insist(&request).await?;
    let page: Page =
        answer.json().map_err(|error| Error::NotAsPromised { operation: OPERATION, error })?;
    Ok(page.items.into_iter().rev().collect())
}

/// Each student has one notification for each 201 and each 204 that it got, or
/// may have got, of the course that it wanted, in the order of its versions.
pub(super) fn once_and_in_order(expected: &Expected<'_>, inboxes: &[Inbox]) -> Invariant {
    let (mut broken, mut count) = (Vec::new(), 0);
    for (student, inbox) in inboxes.iter().enumerate() {
        let (plan, told) = (expected.plan, expected.told[student]);
        let wanted = plan.course_id(plan.wanted_by(student));
        let of = |kind: &str| {
            let is_it = |n: &&Notification| n.r#type == kind && n.payload.course_id == wanted;
            u32::try_from(inbox.iter().filter(is_it).count()).unwrap_or(u32::MAX)
        };
        let (enrolled, dropped) = (of("ENROLLED"), of("DROPPED"));
        count += inbox.len();
        let in_order = inbox.windows(2).all(|pair| pair[0].version < pair[1].version);
        let is_right = (told.enrolled..=told.enrolled + told.maybe_enrolled).contains(&enrolled)
            && (told.dropped..=told.dropped + told.maybe_dropped).contains(&dropped)
            && inbox.len() == (enrolled + dropped) as usize
            && in_order;
        if !is_right {
            let versions: Vec<u64> = inbox.iter().map(|n| n.version).collect();
            broken.push(format!(
                "student {}: {} × 201 and {} × 204, told {enrolled} times of the one and \
                 {dropped} of the other, versions {versions:?}",
                plan.student_id(student),
                told.enrolled,
                told.dropped
            ));
        }
    }
    Invariant::unless(NAME, &broken, format!("{count} notifications"))
}

/// Nobody can say when all is told.
pub(super) fn unchecked() -> Invariant {
    Invariant::unchecked(NAME, "there is no status page that says when nothing waits any more")
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Told;
    use super::super::plan::tests::plan;
    use super::*;

    const ENROLLED: Told = Told { enrolled: 1, dropped: 0, maybe_enrolled: 0, maybe_dropped: 0 };

    fn inbox(plan: &Plan, kinds: &[&str]) -> Inbox {
        let kinds = kinds.iter().zip(2..);
        let payload = || Payload { course_id: plan.course_id(0) };
        let told = kinds.map(|(kind, version)| Notification {
            r#type: (*kind).to_owned(),
            version,
            payload: payload(),
        });
        told.collect()
    }

    fn holds(told: Told, kinds: &[&str], change: impl FnOnce(&mut Inbox)) -> bool {
        let plan = plan(1, 1, 1);
        let mut inbox = inbox(&plan, kinds);
        change(&mut inbox);
        let expected = Expected { plan: &plan, told: vec![told], fits: None };
        !once_and_in_order(&expected, &[inbox]).is_broken()
    }

    #[test]
    fn one_notification_for_each_answer_is_right() {
        assert!(holds(ENROLLED, &["ENROLLED"], |_| {}));
        assert!(holds(Told { enrolled: 0, ..ENROLLED }, &[], |_| {}));
        let back = Told { enrolled: 2, dropped: 1, ..ENROLLED };
        assert!(holds(back, &["ENROLLED", "DROPPED", "ENROLLED"], |_| {}));
    }

    #[test]
    fn what_is_told_never_or_twice_or_of_something_else_is_noticed() {
        assert!(!holds(ENROLLED, &[], |_| {}));
        assert!(!holds(ENROLLED, &["ENROLLED", "ENROLLED"], |_| {}));
        assert!(!holds(ENROLLED, &["DROPPED"], |_| {}));
        assert!(!holds(ENROLLED, &["ENROLLED"], |inbox| inbox[0].payload.course_id += 1));
        assert!(!holds(Told { enrolled: 0, ..ENROLLED }, &["ENROLLED"], |_| {}));
    }

    #[test]
    fn what_is_told_in_another_order_is_noticed() {
        let back = Told { dropped: 1, ..ENROLLED };
        assert!(holds(back, &["ENROLLED", "DROPPED"], |_| {}));
        assert!(!holds(back, &["ENROLLED", "DROPPED"], |inbox| inbox.reverse()));
    }

    #[test]
    fn an_unknown_outcome_may_have_been_told_or_not() {
        let open = Told { enrolled: 0, maybe_enrolled: 1, ..ENROLLED };
        assert!(holds(open, &["ENROLLED"], |_| {}) && holds(open, &[], |_| {}));
        assert_eq!(unchecked().held, None);
    }
}
