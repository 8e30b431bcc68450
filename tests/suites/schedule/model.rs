//! One caller after the other, against the plain rule: whatever overlaps is
//! refused, and whatever overlaps a range is listed.

use suites::{World, instant};

use crate::calendar::{assert_sound, body, create, delete, id_of, ids_of, update};

const MINUTE_MS: i64 = 60 * 1000;

/// A schedule of the model, in minutes.
#[derive(Clone, Debug)]
struct Kept {
    id: String,
    start: i64,
    end: i64,
}

/// A time so many minutes after the beginning of 2031.
fn at(minute: i64) -> String {
    instant("2031-01-01T00:00:00Z").plus_millis(minute * MINUTE_MS).to_string()
}

/// The last to begin of those that overlap, but for `except`.
fn collision<'a>(kept: &'a [Kept], start: i64, end: i64, except: &str) -> Option<&'a Kept> {
    let overlapping = kept.iter().filter(|k| k.start < end && k.end > start && k.id != except);
    overlapping.max_by_key(|k| k.start)
}

/// A sequence that looks random and is the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i64::try_from(self.0 >> 33).unwrap() % bound
    }
}

#[tokio::test]
async fn every_answer_is_that_of_the_plain_rule() {
    let world = World::with_environments(1).await;
    let caller = world.as_member("m1");
    let mut random = Random(7);
    let mut kept: Vec<Kept> = Vec::new();
    let (mut changed, mut refused) = (0, 0);
    for _ in 0..400 {
        let start = random.below(120);
        let end = start + 1 + random.below(12);
        let picked = usize::try_from(random.below(20)).unwrap();
        let picked = kept.get(picked).cloned();
        let wanted = body(&at(start), &at(end));
        let (answer, id) = match (random.below(5), picked) {
            (0, Some(picked)) => {
                delete(&caller, &picked.id).await.expect(204);
                kept.retain(|k| k.id != picked.id);
                continue;
            }
            (1 | 2, Some(picked)) => (update(&caller, &picked.id, wanted).await, picked.id),
            _ => (create(&caller, wanted).await, String::new()),
        };
        if let Some(there) = collision(&kept, start, end, &id) {
            assert_eq!(answer.refused(409, "SCHEDULE_CONFLICT").json["conflictsWith"], there.id);
            refused += 1;
            continue;
        }
        let answer = answer.expect(if id.is_empty() { 201 } else { 200 });
        kept.retain(|k| k.id != id);
        kept.push(Kept { id: id_of(&answer), start, end });
        changed += 1;
    }
    assert!(changed > 50 && refused > 50, "{changed} changed, {refused} refused");
    kept.sort_by_key(|k| k.start);
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), kept.len());
    for _ in 0..100 {
        let from = random.below(140);
        let to = from + 1 + random.below(40);
        let expected = kept.iter().filter(|k| k.start < to && k.end > from);
        let expected: Vec<&str> = expected.map(|k| k.id.as_str()).collect();
        let path = format!("/schedules?from={}&to={}", at(from), at(to));
        let limit = usize::try_from(1 + random.below(4)).unwrap();
        assert_eq!(ids_of(&caller.list(&path, limit).await), expected, "{path}");
    }
}
