//! The Lambda function `put-match`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::put_match::FUNCTION)
}
