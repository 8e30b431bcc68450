//! The Lambda function `get-preferences`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::get_preferences::FUNCTION)
}
