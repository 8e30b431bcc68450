//! `GET /orders`: the caller's orders of all matches, newest first.

use platform::http::{List, Page};
use platform::table::{Query, read, s};
use platform::{App, Function, Operation, Problem, Reply, Request, auth};

use crate::ids::OrderId;
use crate::order::{self, Order};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("list-orders", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "The caller's orders of all matches, newest first.";
    Operation::new(FUNCTION, "GET /orders", summary)
        .for_members()
        .pages(20)
        .lists::<order::View<'_>>(order::example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let page = Page::<OrderId>::of(&request, format!("orders {}", caller.member_id))?;
    // Everything on the page stands before where the page before ended.
    let newest = match &page.after {
        Some(id) => keys::order(&caller.member_id, id).sk,
        None => format!("{}~", keys::ORDER_PREFIX),
    };
    let query = Query {
        condition: "pk = :pk AND sk BETWEEN :oldest AND :newest".into(),
        values: vec![
            (":pk", s(keys::member_partition(&caller.member_id))),
            (":oldest", s(keys::ORDER_PREFIX)),
            (":newest", s(newest)),
        ],
        limit: page.limit + 2, // the end of the page before comes once more
        descending: true,
        consistent: true,
        ..Query::default()
    };
    let orders = app.table(TABLE).query(query).await?.into_iter().map(read);
    let mut orders = orders.collect::<Result<Vec<Order>, _>>()?;
    orders.retain(|order| page.after.as_ref() != Some(&order.order_id));
    let ids = orders.iter().map(|order| order.order_id.clone()).collect();
    let (on_page, next_cursor) = page.cut(ids)?;
    let now = app.clock.now();
    let items = orders.iter().take(on_page.len()).map(|order| order.view(now)).collect();
    Reply::ok(&List { items, next_cursor })
}
