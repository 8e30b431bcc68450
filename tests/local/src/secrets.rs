//! Secrets Manager on this machine: the secrets of this checkout, by the ids
//! that the functions' settings name.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::key::DevKey;
use crate::link::{Answer, Call, Link, Lost};
use crate::template::Function;

/// Answers `GetSecretValue`.
pub(crate) struct Secrets(HashMap<String, String>);

impl Secrets {
    /// Every secret that a setting of one of `functions` names, as
    /// `SIGNING_KEYS_SECRET` does.
    pub(crate) fn of<'a>(functions: impl Iterator<Item = &'a Function>, key: &DevKey) -> Self {
        let named = functions.flat_map(|function| &function.environment);
        let secrets = named.filter_map(|(setting, id)| {
            let name = setting.strip_suffix("_SECRET")?;
            Some((id.clone(), key.secret(name)))
        });
        Self(secrets.collect())
    }
}

impl Link for Secrets {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let id = body["SecretId"].as_str().filter(|_| call.operation == "GetSecretValue");
        let answer = match id.and_then(|id| Some((id, self.0.get(id)?))) {
            Some((id, text)) => {
                let secret = json!({ "ARN": id, "Name": id, "SecretString": text });
                Answer { status: 200, body: secret.to_string().into() }
            }
            None => {
                let error =
                    json!({ "__type": "ResourceNotFoundException", "Message": "no secret" });
                Answer { status: 400, body: error.to_string().into() }
            }
        };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("ids", &self.0.keys()).finish()
    }
}
