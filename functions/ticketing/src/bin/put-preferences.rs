//! The Lambda function `put-preferences`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::put_preferences::FUNCTION)
}
