//! `GET /notifications`: what happened to what concerns the caller, newest first.

use platform::auth;
use platform::clock::Instant;
use platform::http::{List, Page};
use platform::table::{Query, s};
use platform::{App, Function, Operation, Problem, Reply, Request};

use crate::item::{self, KEPT_MS, Notification, View};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("list-notifications", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "What happened to what concerns the caller, newest first.";
    Operation::new(FUNCTION, "GET /notifications", summary)
        .for_members()
        .pages(20)
        .lists::<View>(item::example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let page = Page::<String>::of(&request, format!("notifications {}", caller.member_id))?;
    // What is too old is not there, whether it has been swept or not.
    let next_second = Instant::from_millis((app.clock.now().as_seconds() + 1) * 1000);
    let oldest = keys::first_id_at(next_second.plus_millis(-KEPT_MS));
    // Everything on the page stands before where the page before ended.
    let newest = page.after.clone().unwrap_or_else(|| "~".to_owned());
    let query = Query {
        condition: "pk = :pk AND sk BETWEEN :oldest AND :newest".into(),
        values: vec![
            (":pk", s(keys::inbox(&caller.member_id))),
            (":oldest", s(keys::position(&oldest))),
            (":newest", s(keys::position(&newest))),
        ],
        limit: page.limit + 2, // the end of the page before may come once more
        descending: true,
        consistent: true,
        ..Query::default()
    };
    let items = app.table(TABLE).query(query).await?.into_iter().map(Notification::from_item);
    let mut items = items.collect::<Result<Vec<_>, _>>()?;
    items.retain(|item| page.after.as_ref() != Some(&item.id));
    let ids = items.iter().map(|item| item.id.clone()).collect();
    let (on_page, next_cursor) = page.cut(ids)?;
    items.truncate(on_page.len());
    let items = items.into_iter().map(Notification::into_view);
    Reply::ok(&List::<View> { items: items.collect::<Result<_, _>>()?, next_cursor })
}
