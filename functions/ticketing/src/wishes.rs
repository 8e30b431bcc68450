//! What members want, as the table keeps it: for one match, and for all.
//!
//! Each is one item that is replaced as a whole. It is read first, because one
//! that says the same already is not written again.

use garde::Validate;
use platform::table::{Item, Key, Patience, Read, Write, WriteError, item, n, read};
use platform::text::{self, Text};
use platform::{App, Problem};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ids::MatchId;
use crate::options::Options;
use crate::preferences::Preferences;
use crate::{TABLE, keys};

/// The most sections that one may name.
const MOST_SECTIONS: usize = 50;

/// Sections of the stands, in the order of preference, each named once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate)]
#[serde(from = "Vec<Text>")]
#[garde(transparent)]
pub struct Sections(#[garde(length(max = MOST_SECTIONS), inner(custom(text::title)))] Vec<Text>);

impl From<Vec<Text>> for Sections {
    fn from(named: Vec<Text>) -> Self {
        let mut sections: Vec<Text> = Vec::new();
        for section in named {
            // One more than there may be is enough to refuse them.
            if sections.len() <= MOST_SECTIONS && !sections.contains(&section) {
                sections.push(section);
            }
        }
        Self(sections)
    }
}

impl Sections {
    /// The sections; none if any will do.
    pub fn as_slice(&self) -> &[Text] {
        &self.0
    }
}

/// What a member wants of a match, and of every match, in one call.
pub async fn of(
    app: &App,
    match_id: &MatchId,
    member_id: &str,
) -> Result<(Option<Options>, Option<Preferences>), Problem> {
    let options = keys::options(match_id, member_id);
    let preferences = Some(keys::preferences(member_id));
    let (options, preferences) =
        app.table(TABLE).get_beside(options, preferences, Read::Consistent).await?;
    Ok((options.map(read).transpose()?, preferences.map(read).transpose()?))
}

/// What is kept under `key`, if anything is.
pub(crate) async fn get<T: DeserializeOwned>(app: &App, key: Key) -> Result<Option<T>, Problem> {
    let item = app.table(TABLE).get(key, Read::Consistent).await?;
    item.map(read).transpose()
}

/// Counts changes.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

/// Keeps `wanted` under `key`. Whether it is the first there.
pub(crate) async fn put<T>(app: &App, key: Key, wanted: &T) -> Result<bool, Problem>
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    let mut patience = Patience::default();
    loop {
        let seen = app.table(TABLE).get(key.clone(), Read::Consistent).await?;
        let version = match &seen {
            Some(seen) if read::<T>(seen.clone())? == *wanted => return Ok(false),
            Some(seen) => read::<Version>(seen.clone())?.version,
            None => 0,
        };
        let mut next: Item = item(key.clone(), wanted)?;
        next.insert("version".to_owned(), n(version + 1));
        let write = Write::put(next);
        let write = match version {
            0 => write.when("attribute_not_exists(pk)"),
            version => write.when("version = :seen").bind(":seen", n(version)),
        };
        match app.table(TABLE).transact(vec![write], &mut patience).await {
            Ok(()) => return Ok(version == 0),
            Err(WriteError::Refused(_) | WriteError::Conflict(_)) => {} // look again
            Err(error) => return Err(error.into()),
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the item keeps changing"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_that_is_named_again_stands_where_it_was_named_first() {
        let sections: Sections = serde_json::from_str(r#"["B", "A", "B", "A", "C"]"#).unwrap();
        let names: Vec<&str> = sections.as_slice().iter().map(Text::as_str).collect();
        assert_eq!(names, ["B", "A", "C"]);
        assert_eq!(serde_json::to_string(&sections).unwrap(), r#"["B","A","C"]"#);
    }

    #[test]
    fn there_are_at_most_fifty_sections_with_names_like_titles() {
        let named = |count: usize| Sections::from_iter(0..count);
        assert!(named(0).validate().is_ok() && named(MOST_SECTIONS).validate().is_ok());
        assert!(named(MOST_SECTIONS + 1).validate().is_err());
        assert!(Sections::from(vec!["".into()]).validate().is_err());
        assert!(Sections::from(vec!["a\0".into()]).validate().is_err());
    }

    impl FromIterator<usize> for Sections {
        fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
            let names = numbers.into_iter().map(|number| Text::from(number.to_string().as_str()));
            Self::from(names.collect::<Vec<_>>())
        }
    }
}
