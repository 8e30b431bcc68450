//! The Lambda function `list-matches`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::list_matches::FUNCTION)
}
