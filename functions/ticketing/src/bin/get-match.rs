//! The Lambda function `get-match`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::get_match::FUNCTION)
}
