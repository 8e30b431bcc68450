//! The Lambda function `update-schedule`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(schedule::update_schedule::FUNCTION)
}
