//! A session of an account: its tokens, exchanged before they expire.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::plan::Account;
use crate::call::{Answer, Request};
use crate::caller::Caller;
use crate::users::Stop;

/// How long before it expires a token is exchanged.
const MARGIN: Duration = Duration::from_secs(60);

/// A session.
pub(crate) struct Session<'a> {
    account: &'a Account,
    access: Arc<str>,
    refresh: String,
    exchange_at: Instant,
}

/// What log-in and refresh answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    access_token: String,
    refresh_token: String,
    expires_in: u64,
}

impl<'a> Session<'a> {
    /// Logs in. `None` if nobody was let in.
    pub(crate) async fn open(caller: &Caller, account: &'a Account, stop: &Stop) -> Option<Self> {
        // It closes with the plan only.
        let _door = account.doors.acquire().await.ok()?;
        let body = json!({ "loginId": account.login_id, "password": account.password });
        let request = Request::new("log-in", Method::POST, "/auth/login").body(body);
        let tokens = tokens(&caller.until_known(&request, stop).await?)?;
        Some(Self::of(account, tokens))
    }

    fn of(account: &'a Account, tokens: Tokens) -> Self {
        let lifetime = Duration::from_secs(tokens.expires_in);
        let exchange_at = Instant::now() + lifetime.saturating_sub(MARGIN.min(lifetime / 2));
        let access = tokens.access_token.into();
        Self { account, access, refresh: tokens.refresh_token, exchange_at }
    }

    /// A token that is valid still. A session that has ended is opened again.
    pub(crate) async fn token(&mut self, caller: &Caller, stop: &Stop) -> Option<Arc<str>> {
        if Instant::now() >= self.exchange_at {
            let body = json!({ "refreshToken": self.refresh });
            let request = Request::new("refresh-session", Method::POST, "/auth/refresh").body(body);
            let answer = caller.until_known(&request, stop).await?;
            *self = match tokens(&answer) {
                Some(tokens) => Self::of(self.account, tokens),
                None => Self::open(caller, self.account, stop).await?,
            };
        }
        Some(Arc::clone(&self.access))
    }
}

fn tokens(answer: &Answer) -> Option<Tokens> {
    answer.is_success().then(|| answer.json().ok())?
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use serde_json::Value;

    use super::super::plan::tests::plan;
    use super::*;
    use crate::call::{Call, Lost};
    use crate::record::Recorder;

    /// Lets in, exchanges as often as told, and remembers what it was asked.
    struct Doors {
        exchanges: Mutex<u32>,
        asked: Mutex<Vec<(String, Value)>>,
    }

    #[async_trait]
    impl Call for Doors {
        async fn call(&self, request: &Request) -> Result<Answer, Lost> {
            let body = request.body.clone().unwrap();
            let mut asked = self.asked.lock().unwrap();
            asked.push((request.path.clone(), body));
            let number = asked.len();
            let mut exchanges = self.exchanges.lock().unwrap();
            if request.path == "/auth/refresh" && *exchanges == 0 {
                return Ok(Answer { status: 401, body: br#"{"code":"SESSION_ENDED"}"#.to_vec() });
            }
            *exchanges = exchanges.saturating_sub(u32::from(request.path == "/auth/refresh"));
            let tokens = json!({
                "accessToken": format!("access {number}"),
                "refreshToken": format!("refresh {number}"),
                "expiresIn": 900,
            });
            Ok(Answer { status: 200, body: tokens.to_string().into_bytes() })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_exchanged_before_it_expires_and_an_ended_session_opened_again() {
        let doors = Arc::new(Doors { exchanges: Mutex::new(1), asked: Mutex::default() });
        let recorder = Arc::new(Recorder::new().unwrap());
        let caller = Caller::new(Arc::clone(&doors) as Arc<dyn Call>, &recorder);
        let (plan, stop) = (plan(1, 1), Stop::new());
        let mut session = Session::open(&caller, &plan.accounts()[0], &stop).await.unwrap();
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(session.token(&caller, &stop).await.unwrap().to_string());
            tokio::time::advance(Duration::from_secs(421)).await;
        }
        assert_eq!(seen, ["access 1", "access 1", "access 2", "access 2"]);
        assert_eq!(session.token(&caller, &stop).await.unwrap().to_string(), "access 4");
        let asked = doors.asked.lock().unwrap();
        let paths: Vec<&str> = asked.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["/auth/login", "/auth/refresh", "/auth/refresh", "/auth/login"]);
        assert_eq!(asked[2].1["refreshToken"], "refresh 2");
    }
}
