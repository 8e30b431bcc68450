//! How far each source has come.
//!
//! Written after a batch was handled, never before, so that after a crash at
//! any moment some records come twice and none is lost. In a file of its own:
//! a reader that saves its position makes no writer of the tables wait.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use crate::dynamodb::StorageError;

/// The positions of all sources.
pub(crate) struct Positions(Mutex<Book>);

struct Book {
    connection: Connection,
    readers: BTreeMap<String, Reader>,
}

struct Reader {
    /// The table, if it reads a stream.
    table: Option<String>,
    position: i64,
}

impl Positions {
    /// Opens the positions in `data_dir`, or some that are not kept.
    pub(crate) fn open(data_dir: Option<&Path>) -> Result<Self, StorageError> {
        let connection = match data_dir {
            Some(folder) => Connection::open(folder.join("positions.sqlite"))?,
            None => Connection::open_in_memory()?,
        };
        connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = NORMAL;
             CREATE TABLE IF NOT EXISTS positions (source TEXT PRIMARY KEY, position INTEGER);",
        )?;
        Ok(Self(Mutex::new(Book { connection, readers: BTreeMap::new() })))
    }

    /// Where `source` goes on; `first` if it is new.
    pub(crate) fn begin(
        &self,
        source: &str,
        table: Option<&str>,
        first: i64,
    ) -> Result<i64, StorageError> {
        let mut book = self.book();
        let found = book
            .connection
            .query_row("SELECT position FROM positions WHERE source = ?1", [source], |r| r.get(0))
            .optional()?;
        let position = found.unwrap_or(first);
        if found.is_none() {
            book.write(source, position)?;
        }
        let reader = Reader { table: table.map(str::to_owned), position };
        book.readers.insert(source.to_owned(), reader);
        Ok(position)
    }

    /// Everything up to `position` is done.
    pub(crate) fn save(&self, source: &str, position: i64) -> Result<(), StorageError> {
        let mut book = self.book();
        book.write(source, position)?;
        if let Some(reader) = book.readers.get_mut(source) {
            reader.position = position;
        }
        Ok(())
    }

    /// What every reader of a table's stream has passed.
    pub(crate) fn passed_by_all(&self, table: &str) -> Option<i64> {
        let book = self.book();
        let readers = book.readers.values().filter(|r| r.table.as_deref() == Some(table));
        readers.map(|reader| reader.position).min()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn write(&self, source: &str, position: i64) -> Result<(), StorageError> {
        let insert = "INSERT OR REPLACE INTO positions (source, position) VALUES (?1, ?2)";
        self.connection.prepare_cached(insert)?.execute(params![source, position])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_goes_on_where_it_was_and_a_new_one_at_the_first_place() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Positions::open(Some(folder.path())).unwrap();
        let positions = open();
        assert_eq!(positions.begin("relay Things", Some("Things"), 5).unwrap(), 5);
        positions.save("relay Things", 9).unwrap();
        drop(positions);
        let positions = open();
        assert_eq!(positions.begin("relay Things", Some("Things"), 5).unwrap(), 9);
        assert_eq!(positions.begin("count Things", Some("Things"), 7).unwrap(), 7);
    }

    #[test]
    fn what_the_slowest_reader_of_a_table_has_passed_is_passed_by_all() {
        let positions = Positions::open(None).unwrap();
        for (source, table, at) in [("a", "Things", 5), ("b", "Things", 3), ("c", "Others", 1)] {
            positions.begin(source, Some(table), at).unwrap();
        }
        assert_eq!(positions.passed_by_all("Things"), Some(3));
        positions.save("b", 8).unwrap();
        assert_eq!(positions.passed_by_all("Things"), Some(5));
        assert_eq!(positions.passed_by_all("Nothing"), None);
    }
}
