//! A function's policies: which actions it may take, and on what.
//!
//! Each is written out, without wildcards, so that what a function may do can be
//! held against what it does.

use serde_json::Value;

use super::{Place, TemplateError, entries};

/// One action that a policy allows on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// As in `dynamodb:PutItem`.
    pub action: String,
    /// The resource's ARN; a `?` in it stands for any character.
    pub resource: String,
}

impl Permission {
    /// Whether it covers this action on this resource.
    pub fn covers(&self, action: &str, resource: &str) -> bool {
        self.action == action && matches(&self.resource, resource)
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let mut text = text.chars();
    let fits =
        pattern.chars().all(|wanted| text.next().is_some_and(|c| wanted == '?' || wanted == c));
    fits && text.next().is_none()
}

impl Place<'_> {
    pub(super) fn permissions(&self, policies: &Value) -> Result<Vec<Permission>, TemplateError> {
        let policies = self.resolve("Policies", policies)?;
        let mut permissions = Vec::new();
        for policy in listed(&policies) {
            if !policy.is_object() || entries(policy).any(|(key, _)| key != "Statement") {
                let problem = "expected policies of Statement alone: others are not read here";
                return Err(self.invalid("Policies", problem));
            }
            for statement in listed(&policy["Statement"]) {
                permissions.extend(self.statement(statement)?);
            }
        }
        Ok(permissions)
    }

    fn statement(&self, statement: &Value) -> Result<Vec<Permission>, TemplateError> {
        let unread = |problem: &str| self.invalid("Policies", problem);
        let known = ["Effect", "Action", "Resource"];
        if statement["Effect"] != "Allow"
            || entries(statement).any(|(key, _)| !known.contains(&key.as_str()))
        {
            return Err(unread("expected statements of Effect: Allow, Action and Resource"));
        }
        let mut permissions = Vec::new();
        for action in listed(&statement["Action"]) {
            for resource in listed(&statement["Resource"]) {
                let (Some(action), Some(resource)) = (action.as_str(), resource.as_str()) else {
                    return Err(unread("expected texts"));
                };
                if action.contains(['*', '?']) || resource.contains('*') {
                    return Err(unread("each action and resource is written out, without a *"));
                }
                let (action, resource) = (action.to_owned(), resource.to_owned());
                permissions.push(Permission { action, resource });
            }
        }
        if permissions.is_empty() {
            return Err(unread("a statement allows nothing"));
        }
        Ok(permissions)
    }
}

/// The elements of a list, or what stands alone.
fn listed(value: &Value) -> &[Value] {
    match value {
        Value::Null => &[],
        Value::Array(list) => list,
        alone => std::slice::from_ref(alone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    fn permissions(policies: &str) -> Result<Vec<Permission>, TemplateError> {
        let text = format!(
            "Resources:\n  ThingsTable:\n    Type: AWS::DynamoDB::Table\n    Properties: {{ \
             AttributeDefinitions: [], KeySchema: [] }}\n  Work:\n    \
             Type: AWS::Serverless::Function\n    Properties:\n      \
             FunctionName: !Sub '${{AWS::StackName}}-work'\n      Policies: {policies}\n"
        );
        Ok(Template::parse(&text)?.functions[0].permissions.clone())
    }

    #[test]
    fn a_policy_allows_each_action_on_each_resource() {
        let read = permissions(
            "[{ Statement: [{ Effect: Allow, Action: [dynamodb:GetItem, dynamodb:Query], \
             Resource: [!GetAtt ThingsTable.Arn, !Sub '${ThingsTable.Arn}/index/index1'] }] }]",
        );
        let read = read.unwrap();
        assert_eq!(read.len(), 4);
        let table = "arn:aws:dynamodb:us-east-1:000000000000:table/Things";
        let allows = |action: &str, resource: &str| read.iter().any(|p| p.covers(action, resource));
        assert!(allows("dynamodb:Query", table));
        assert!(allows("dynamodb:Query", &format!("{table}/index/index1")));
        assert!(!allows("dynamodb:Query", &format!("{table}/index/index2")));
        assert!(!allows("dynamodb:PutItem", table));
        assert!(permissions("~").unwrap().is_empty());
    }

    #[test]
    fn a_question_mark_stands_for_any_character() {
        assert!(matches("secret:a-??", "secret:a-x1"));
        assert!(!matches("secret:a-??", "secret:a-x"));
        assert!(!matches("secret:a-??", "secret:a-x12"));
    }

    #[test]
    fn what_cannot_be_held_against_calls_is_refused() {
        for policies in [
            "AmazonDynamoDBFullAccess",
            "[{ DynamoDBCrudPolicy: { TableName: a } }]",
            "[{ Statement: [{ Effect: Deny, Action: a:B, Resource: c }] }]",
            "[{ Statement: [{ Effect: Allow, Action: a:B, Resource: c, Condition: {} }] }]",
            "[{ Statement: [{ Effect: Allow, Action: a:*, Resource: c }] }]",
            "[{ Statement: [{ Effect: Allow, Action: a:B, Resource: '*' }] }]",
            "[{ Statement: [{ Effect: Allow, Action: a:B }] }]",
        ] {
            assert!(permissions(policies).is_err(), "{policies}");
        }
    }
}
