//! Every key of the table `Identity`, in one place.

use platform::table::Key;

use crate::profile::LoginId;

/// Who logs in with a log-in id, and the password's hash.
pub fn login(id: &LoginId) -> Key {
    Key::new(format!("LOGIN#{id}"), "LOGIN")
}

/// Attempts to log in with a log-in id, be there one or not.
pub fn attempts(id: &LoginId) -> Key {
    Key::new(format!("LOGIN#{id}"), "ATTEMPTS")
}

/// A member.
pub fn member(member_id: &str) -> Key {
    Key::new(format!("MEMBER#{member_id}"), "MEMBER")
}

/// A member's session.
pub fn session(member_id: &str, session_id: &str) -> Key {
    Key::new(format!("MEMBER#{member_id}"), format!("SESSION#{session_id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_the_table_holds() {
        let id: LoginId = "ada.l".parse().unwrap();
        assert_eq!(login(&id), Key::new("LOGIN#ada.l", "LOGIN"));
        assert_eq!(attempts(&id), Key::new("LOGIN#ada.l", "ATTEMPTS"));
        assert_eq!(member("m-1"), Key::new("MEMBER#m-1", "MEMBER"));
        assert_eq!(session("m-1", "s-1"), Key::new("MEMBER#m-1", "SESSION#s-1"));
    }
}
