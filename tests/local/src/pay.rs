//! A payment as whoever takes payments would tell of it: signed with this
//! checkout's text of `PAYMENT_KEYS`.

use std::time::Duration;

use platform::clock::Instant;
use serde_json::json;
use ticketing::ids::OrderId;
use ticketing::signature;

use crate::DevKey;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Tells the API at `url` that `amount` was paid for an order at `now`: the
/// answer's status and body.
pub async fn pay(
    url: &str,
    key: &DevKey,
    order: &OrderId,
    amount: u64,
    now: Instant,
) -> Result<(u16, String), reqwest::Error> {
    let payment_id = format!("local-{:016x}", fastrand::u64(..));
    let body = json!({ "paymentId": payment_id, "amount": amount, "paidAt": now }).to_string();
    let signed = signature::sign(&key.secret("PAYMENT_KEYS"), body.as_bytes());
    let client = reqwest::Client::builder().timeout(TIMEOUT).build()?;
    let url = format!("{}/orders/{order}/payment", url.trim_end_matches('/'));
    let sent = client.post(url).header("content-type", "application/json");
    let answer = sent.header(signature::HEADER, signed).body(body).send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}
