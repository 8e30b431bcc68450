//! The Lambda function `get-schedule`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(schedule::get_schedule::FUNCTION)
}
