//! What a function may do: what its policies in the template allow, and nothing
//! else.
//!
//! A guard stands between each function and every service. It refuses what no
//! policy allows, as AWS would, and remembers what was refused. The parts of a
//! transaction are asked for one by one, as AWS does
//! ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html)).
//!
//! Where [`RECORD`] names a folder, what was used is written there, so that
//! what no test ever used can be found.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::connector::Links;
use crate::link::{Answer, Call, Link, Lost};
use crate::template::{Function, Permission, queue_arn, secret_arn, table_arn};

/// The environment variable with the folder for what was used: lines of a
/// function, an action and a resource.
pub const RECORD: &str = "HOTSEAT_PERMISSIONS_USED";

/// What was refused in a cloud.
#[derive(Clone, Debug, Default)]
pub(crate) struct Denied(Arc<Mutex<Vec<String>>>);

impl Denied {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, denial: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(denial.to_owned());
    }
}

/// Where this process writes what was used, if it does.
pub(crate) fn record() -> std::io::Result<Option<Arc<File>>> {
    let Some(folder) = std::env::var_os(RECORD).filter(|folder| !folder.is_empty()) else {
        return Ok(None);
    };
    std::fs::create_dir_all(&folder)?;
    let program = std::env::current_exe()?;
    let path = Path::new(&folder).join(program.file_name().unwrap_or_default());
    let file = File::options().create(true).append(true).open(path)?;
    Ok(Some(Arc::new(file)))
}

/// What one function may do, and did.
#[derive(Debug)]
struct Rights {
    function: String,
    permissions: Vec<(Permission, AtomicBool)>,
    denied: Denied,
    record: Option<Arc<File>>,
}

/// The ways to the services, guarded for `function`.
pub(crate) fn guarded(
    links: &Links,
    function: &Function,
    denied: &Denied,
    record: Option<&Arc<File>>,
) -> Links {
    let permissions = function.permissions.iter().cloned();
    let rights = Arc::new(Rights {
        function: function.name.clone(),
        permissions: permissions.map(|permission| (permission, AtomicBool::new(false))).collect(),
        denied: denied.clone(),
        record: record.cloned(),
    });
    let guard = |service, next: &Arc<dyn Link>| -> Arc<dyn Link> {
        Arc::new(Guard { service, rights: Arc::clone(&rights), next: Arc::clone(next) })
    };
    Links {
        dynamodb: guard(Service::DynamoDb, &links.dynamodb),
        sqs: guard(Service::Sqs, &links.sqs),
        secrets: guard(Service::SecretsManager, &links.secrets),
    }
}

#[derive(Clone, Copy, Debug)]
enum Service {
    DynamoDb,
    Sqs,
    SecretsManager,
}

#[derive(Debug)]
struct Guard {
    service: Service,
    rights: Arc<Rights>,
    next: Arc<dyn Link>,
}

impl Link for Guard {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        match self.rights.check(&needs(self.service, &call)) {
            Ok(()) => self.next.call(call),
            Err(denial) => Box::pin(std::future::ready(Ok(refusal(&denial)))),
        }
    }
}

impl Rights {
    fn check(&self, needs: &[Need]) -> Result<(), String> {
        for Need { action, resource } in needs {
            let mut permissions = self.permissions.iter();
            let found = permissions.find(|(permission, _)| permission.covers(action, resource));
            match found {
                Some((permission, used)) => self.used(permission, used),
                None => return Err(self.deny(action, resource)),
            }
        }
        Ok(())
    }

    fn used(&self, permission: &Permission, used: &AtomicBool) {
        if let Some(mut file) = self.record.as_deref()
            && !used.swap(true, Ordering::Relaxed)
        {
            let Permission { action, resource } = permission;
            // One write, so that lines of several clouds do not mix.
            let line = format!("{} {action} {resource}\n", self.function);
            if let Err(error) = file.write_all(line.as_bytes()) {
                tracing::error!(%error, "cannot record what was used");
            }
        }
    }

    fn deny(&self, action: &str, resource: &str) -> String {
        let function = &self.function;
        let denial = format!("AccessDenied: no policy of {function} allows {action} on {resource}");
        tracing::error!(function, action, resource, "AccessDenied: add it to template.yaml");
        self.denied.add(&denial);
        denial
    }
}

fn refusal(denial: &str) -> Answer {
    let body = json!({ "__type": "AccessDeniedException", "message": denial });
    Answer { status: 400, body: body.to_string().into() }
}

/// An action on a resource that a call needs to be allowed.
#[derive(Debug, PartialEq, Eq)]
struct Need {
    action: String,
    resource: String,
}

/// The parts of a request that say what it is about.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Body {
    table_name: Option<String>,
    index_name: Option<String>,
    request_items: Option<BTreeMap<String, IgnoredAny>>,
    transact_items: Option<Vec<BTreeMap<String, Part>>>,
    queue_url: Option<String>,
    secret_id: Option<String>,
}

/// A part of a transaction.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Part {
    table_name: String,
}

/// What `call` needs. A call that is not understood needs what nobody has.
fn needs(service: Service, call: &Call) -> Vec<Need> {
    let operation = call.operation.as_str();
    let body = serde_json::from_slice(&call.body).ok();
    let needs = body.and_then(|body| match service {
        Service::DynamoDb => dynamodb(operation, body),
        Service::Sqs => {
            let url = body.queue_url?;
            let action = operation.strip_suffix("Batch").unwrap_or(operation);
            let queue = url.rsplit('/').next().unwrap_or_default();
            Some(vec![Need { action: format!("sqs:{action}"), resource: queue_arn(queue) }])
        }
        Service::SecretsManager => {
            let action = format!("secretsmanager:{operation}");
            Some(vec![Need { action, resource: secret_arn(&body.secret_id?) }])
        }
    });
    needs.filter(|needs| !needs.is_empty()).unwrap_or_else(|| {
        vec![Need { action: format!("{service:?}:{operation}"), resource: "*".to_owned() }]
    })
}

fn dynamodb(operation: &str, body: Body) -> Option<Vec<Need>> {
    let need = |action: &str, table: &str| Need {
        action: format!("dynamodb:{action}"),
        resource: table_arn(table),
    };
    if let Some(parts) = body.transact_items {
        let parts = parts.iter().flatten().map(|(kind, part)| match kind.as_str() {
            "ConditionCheck" => need("ConditionCheckItem", &part.table_name),
            kind => need(&format!("{kind}Item"), &part.table_name), // Put, Update, Delete, Get
        });
        return Some(parts.collect());
    }
    if let Some(tables) = body.request_items {
        return Some(tables.keys().map(|table| need(operation, table)).collect());
    }
    let mut need = need(operation, &body.table_name?);
    if let Some(index) = body.index_name {
        need.resource = format!("{}/index/{index}", need.resource);
    }
    Some(vec![need])
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn needed(service: Service, operation: &str, body: &Value) -> Vec<String> {
        let call = Call { operation: operation.to_owned(), body: body.to_string().into() };
        let needs = needs(service, &call).into_iter();
        let place = "us-east-1:000000000000:";
        needs.map(|n| format!("{} {}", n.action, n.resource.replace(place, ""))).collect()
    }

    #[test]
    fn a_call_needs_its_action_on_its_table_or_index() {
        let item = json!({ "TableName": "Things", "Key": {} });
        let needs = needed(Service::DynamoDb, "GetItem", &item);
        assert_eq!(needs, ["dynamodb:GetItem arn:aws:dynamodb:table/Things"]);
        let query = json!({ "TableName": "Things", "IndexName": "index1" });
        let needs = needed(Service::DynamoDb, "Query", &query);
        assert_eq!(needs, ["dynamodb:Query arn:aws:dynamodb:table/Things/index/index1"]);
        let batch = json!({ "RequestItems": { "A": { "Keys": [] }, "B": { "Keys": [] } } });
        let needs = needed(Service::DynamoDb, "BatchGetItem", &batch);
        assert_eq!(needs.len(), 2);
        assert_eq!(needs[1], "dynamodb:BatchGetItem arn:aws:dynamodb:table/B");
    }

    #[test]
    fn a_transaction_needs_what_each_of_its_parts_needs() {
        let on = json!({ "TableName": "Things", "Item": {} });
        let parts = json!({ "TransactItems": [
            { "Put": on }, { "Update": on }, { "Delete": on }, { "ConditionCheck": on },
        ] });
        let needs = needed(Service::DynamoDb, "TransactWriteItems", &parts);
        let actions = ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"];
        let expected = actions.map(|a| format!("dynamodb:{a} arn:aws:dynamodb:table/Things"));
        assert_eq!(needs, expected);
    }

    #[test]
    fn a_batch_of_messages_needs_what_one_needs() {
        let batch = json!({ "QueueUrl": "http://sqs.local/000000000000/Events.fifo" });
        let needs = needed(Service::Sqs, "SendMessageBatch", &batch);
        assert_eq!(needs, ["sqs:SendMessage arn:aws:sqs:Events.fifo"]);
        let needs = needed(Service::SecretsManager, "GetSecretValue", &json!({ "SecretId": "a" }));
        assert_eq!(needs, ["secretsmanager:GetSecretValue arn:aws:secretsmanager:secret:a-000000"]);
    }

    #[test]
    fn what_is_not_understood_needs_what_nobody_has() {
        let needs = needed(Service::DynamoDb, "ListTables", &json!({}));
        assert_eq!(needs, ["DynamoDb:ListTables *"]);
        let needs =
            needed(Service::DynamoDb, "TransactWriteItems", &json!({ "TransactItems": [] }));
        assert_eq!(needs, ["DynamoDb:TransactWriteItems *"]);
        assert_eq!(needed(Service::Sqs, "ListQueues", &json!({})), ["Sqs:ListQueues *"]);
    }

    #[test]
    fn what_no_policy_allows_is_refused_and_remembered() {
        let denied = Denied::default();
        let permission =
            Permission { action: "sqs:SendMessage".into(), resource: queue_arn("Events.fifo") };
        let rights = Rights {
            function: "relay".into(),
            permissions: vec![(permission, AtomicBool::new(false))],
            denied: denied.clone(),
            record: None,
        };
        let check = |operation: &str| {
            let body = json!({ "QueueUrl": "http://x/Events.fifo" }).to_string().into();
            rights.check(&needs(Service::Sqs, &Call { operation: operation.into(), body }))
        };
        assert_eq!((check("SendMessage"), check("SendMessageBatch")), (Ok(()), Ok(())));
        assert!(denied.all().is_empty());
        let denial = check("ReceiveMessage").unwrap_err();
        for part in ["AccessDenied", "relay", "sqs:ReceiveMessage", &queue_arn("Events.fifo")] {
            assert!(denial.contains(part), "{denial}");
        }
        assert_eq!(denied.all(), [denial]);
    }
}
