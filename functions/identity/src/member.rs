//! A member, and what one logs in with, as the table holds them.

use platform::auth::{Caller, Role};
use platform::clock::Instant;
use platform::table::{Item, Read, Write, item, n, read};
use platform::text::Title;
use platform::{App, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::password::PasswordHash;
use crate::private::Private;
use crate::profile::LoginId;
use crate::sealing::{Field, FieldKeys, Sealed};
use crate::{TABLE, keys};

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its id.
    pub member_id: String,
    /// What the member logs in with.
    pub login_id: LoginId,
    /// The member's name.
    pub name: Private<String>,
    /// The time zone that local times are read in.
    pub time_zone: String,
    /// What the member may do.
    pub role: Role,
    /// Phone number, encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<Sealed>,
    /// E-mail address, encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Sealed>,
    /// How often the password was changed: sessions of an earlier one are over.
    pub password_version: u64,
    /// How often anything was changed.
    pub version: u64,
    /// When the member signed up.
    pub created_at_ms: i64,
    /// When anything was changed last.
    pub updated_at_ms: i64,
}

/// A log-in: whose it is, and the password that opens it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// Whose.
    pub member_id: String,
    /// The password's hash. It lies here and not with the member, so that what
    /// reads a member never holds it.
    pub password_hash: PasswordHash,
    /// Which password: the member's `password_version`.
    pub password_version: u64,
}

/// A member as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct View<'a> {
    member_id: &'a str,
    login_id: &'a LoginId,
    #[schema(value_type = Title)]
    name: &'a Private<String>,
    time_zone: &'a str,
    #[schema(value_type = Option<String>, required = true)]
    phone: Option<Private<String>>,
    #[schema(value_type = Option<String>, required = true)]
    email: Option<Private<String>>,
    role: Role,
}

/// A member in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "memberId": "01941f29-7c00-7000-8000-000000000001",
        "loginId": "ada",
        "name": "Ada",
        "timeZone": "Europe/Berlin",
        "phone": "+49 30 901820",
        "email": null,
        "role": "member",
    })
}

impl Member {
    /// A member who has just signed up, without phone and e-mail.
    pub fn new(
        member_id: String,
        login_id: LoginId,
        name: String,
        time_zone: String,
        now: Instant,
    ) -> Self {
        let now_ms = now.as_millis();
        Self {
            member_id,
            login_id,
            name: name.into(),
            time_zone,
            role: Role::Member,
            phone: None,
            email: None,
            password_version: 1,
            version: 1,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        }
    }

    /// The member as it is now.
    pub async fn get(app: &App, member_id: &str) -> Result<Option<Self>, Problem> {
        let item = app.table(TABLE).get(keys::member(member_id), Read::Consistent).await?;
        item.map(read).transpose()
    }

    /// The item, with its key.
    pub fn to_item(&self) -> Result<Item, Problem> {
        item(keys::member(&self.member_id), self)
    }

    /// The member as a caller, for a token.
    pub fn caller(&self) -> Caller {
        Caller { member_id: self.member_id.clone(), role: self.role }
    }

    /// The encrypted field.
    pub fn sealed(&mut self, field: Field) -> &mut Option<Sealed> {
        match field {
            Field::Phone => &mut self.phone,
            Field::Email => &mut self.email,
        }
    }

    /// What is in an encrypted field.
    pub fn open(&self, keys: &FieldKeys, field: Field) -> Result<Option<Private<String>>, Problem> {
        let sealed = match field {
            Field::Phone => &self.phone,
            Field::Email => &self.email,
        };
        sealed.as_ref().map(|sealed| keys.open(&self.member_id, field, sealed)).transpose()
    }

    /// The member as JSON shows it.
    pub fn view(&self, keys: &FieldKeys) -> Result<View<'_>, Problem> {
        Ok(View {
            member_id: &self.member_id,
            login_id: &self.login_id,
            name: &self.name,
            time_zone: &self.time_zone,
            phone: self.open(keys, Field::Phone)?,
            email: self.open(keys, Field::Email)?,
            role: self.role,
        })
    }

    /// The write that puts this member in the place of the one seen, if that
    /// still is the one there.
    pub fn replace(&self, seen: &Self) -> Result<Write, Problem> {
        Ok(Write::put(self.to_item()?).when("version = :seen").bind(":seen", n(seen.version)))
    }
}

impl Login {
    /// A log-in with the first password.
    pub fn new(member_id: String, password_hash: PasswordHash) -> Self {
        Self { member_id, password_hash, password_version: 1 }
    }

    /// The log-in as it is now.
    pub async fn get(app: &App, id: &LoginId) -> Result<Option<Self>, Problem> {
        let item = app.table(TABLE).get(keys::login(id), Read::Consistent).await?;
        item.map(read).transpose()
    }

    /// The item, with its key.
    pub fn to_item(&self, id: &LoginId) -> Result<Item, Problem> {
        item(keys::login(id), self)
    }

    /// The write that puts this log-in in the place of the one seen, if that
    /// still has the same password.
    pub fn replace(&self, id: &LoginId, seen: &Self) -> Result<Write, Problem> {
        Ok(seen.guard(Write::put(self.to_item(id)?)))
    }

    /// The write that only checks that this log-in still has the same password.
    pub fn check(&self, id: &LoginId) -> Write {
        self.guard(Write::check(keys::login(id)))
    }

    fn guard(&self, write: Write) -> Write {
        write.when("password_version = :seen").bind(":seen", n(self.password_version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        let id = "ada".parse().unwrap();
        let now = Instant::from_millis(7);
        Member::new("m-1".into(), id, "Ada Lovelace".into(), "UTC".into(), now)
    }

    #[test]
    fn a_member_survives_the_table_and_has_the_attributes_that_others_read() {
        let item = member().to_item().unwrap();
        assert_eq!(read::<Member>(item.clone()).unwrap(), member());
        for (attribute, value) in [("name", "Ada Lovelace"), ("time_zone", "UTC")] {
            assert_eq!(item[attribute], platform::table::s(value));
        }
        assert_eq!(item["role"], platform::table::s("member"));
    }

    #[test]
    fn debugging_a_member_shows_no_name() {
        let shown = format!("{:?}", member());
        assert!(shown.contains("m-1") && !shown.contains("Lovelace"), "{shown}");
    }
}
