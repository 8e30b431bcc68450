//! What a change in the table `Ticketing` tells others: where an order stands,
//! to its member. Holds, seats and accounts are nobody else's business, and that
//! an order lapses is nobody's doing.

use platform::Problem;
use platform::clock::Instant;
use platform::events::{Aggregate, Change, Event, Source, Type};
use serde_json::json;

use crate::order::{Order, Status};
use crate::{TABLE, keys};

/// The events of orders.
pub const SOURCE: Source = Source { table: TABLE, translate };

fn translate(change: &Change) -> Result<Option<Event>, Problem> {
    let is_order = change.key("sk").unwrap_or_default().starts_with(keys::ORDER_PREFIX);
    if !is_order {
        return Ok(None);
    }
    let order = change.after::<Order>()?;
    let order = order.ok_or_else(|| Problem::internal("an order was removed"))?;
    Ok(Some(Event {
        r#type: match order.status {
            Status::PendingPayment => Type::OrderPlaced,
            Status::Paid => Type::OrderPaid,
            Status::Cancelled => Type::OrderCancelled,
            Status::RefundDue => Type::OrderRefundDue,
        },
        aggregate: Aggregate::Order,
        aggregate_id: order.order_id.to_string(),
        version: order.version,
        occurred_at: Instant::from_millis(order.updated_at_ms),
        payload: json!({
            "matchId": order.match_id,
            "seats": order.seats,
            "amount": order.amount,
            "payBy": Instant::from_millis(order.pay_by_ms),
        }),
        member_id: order.member_id,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::order::tests::an_order;

    fn change(sk: &str, before: Option<&Order>, after: Option<&Order>) -> Value {
        let image = |order: &Order| {
            let item: serde_dynamo::Item = serde_dynamo::to_item(order).unwrap();
            json!(item)
        };
        json!({
            "eventID": "e-1",
            "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/Ticketing/stream/x",
            "dynamodb": {
                "Keys": { "pk": { "S": "MEMBER#m-1" }, "sk": { "S": sk } },
                "OldImage": before.map(image),
                "NewImage": after.map(image),
            },
        })
    }

    fn event(before: Option<&Order>, after: &Order) -> Event {
        let key = keys::order(&after.member_id, &after.order_id);
        let change = Change::from_record(change(&key.sk, before, Some(after)));
        (SOURCE.translate)(&change).unwrap().unwrap()
    }

    #[test]
    fn the_life_of_an_order_is_told_by_its_versions() {
        let placed = an_order();
        assert_eq!(
            serde_json::to_value(event(None, &placed)).unwrap(),
            json!({
                "type": "ORDER_PLACED",
                "aggregate": "order",
                "aggregateId": placed.order_id,
                "version": 1,
                "occurredAt": "2030-01-01T00:00:00.5Z",
                "memberId": "m-1",
                "payload": {
                    "matchId": "final",
                    "seats": ["A-1-2", "A-1-1"],
                    "amount": 10_000,
                    "payBy": "2030-01-01T00:10:00Z",
                },
            })
        );
        let later = Instant::from_millis(placed.updated_at_ms + 1);
        let mut before = placed;
        for (status, expected) in [
            (Status::Paid, Type::OrderPaid),
            (Status::RefundDue, Type::OrderRefundDue),
            (Status::Cancelled, Type::OrderCancelled),
        ] {
            let mut after = before.at(status, later);
            after.payment_id = Some("who paid how is nobody's business".to_owned());
            let told = event(Some(&before), &after);
            assert_eq!((told.r#type, told.version), (expected, before.version + 1));
            assert_eq!(told.payload, event(None, &before).payload);
            before = after;
        }
    }

    #[test]
    fn what_is_no_order_is_not_told_and_what_cannot_be_understood_is_an_error() {
        for sk in ["HOLD#1", "OWNER", "ACCOUNT", "SEAT#0001#0001", "IDEMPOTENCY", "MATCH"] {
            let change = Change::from_record(change(sk, None, Some(&an_order())));
            assert_eq!((SOURCE.translate)(&change).unwrap(), None, "{sk}");
        }
        let mut unreadable = change("ORDER#1", None, Some(&an_order()));
        unreadable["dynamodb"]["NewImage"]["status"] = json!({ "S": "EATEN" });
        for bad in [unreadable, change("ORDER#1", Some(&an_order()), None)] {
            assert!((SOURCE.translate)(&Change::from_record(bad)).is_err());
        }
    }
}
