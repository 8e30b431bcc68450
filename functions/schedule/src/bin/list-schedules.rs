//! The Lambda function `list-schedules`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(schedule::list_schedules::FUNCTION)
}
