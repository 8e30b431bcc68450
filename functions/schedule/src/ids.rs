//! The ids of schedules.

platform::uuid_id! {
    /// A schedule.
    ScheduleId
}

impl ScheduleId {
    /// A number to spread ids by: their last 48 bits, which are random.
    pub fn random_bits(&self) -> u64 {
        let last = self.0.rsplit('-').next().unwrap_or_default();
        u64::from_str_radix(last, 16).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_spread_by_their_last_bits() {
        let id: ScheduleId = "01941F29-7C00-7000-8000-00000000000A".parse().unwrap();
        assert_eq!(id.random_bits(), 10);
    }
}
