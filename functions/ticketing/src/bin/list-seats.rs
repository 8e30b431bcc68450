//! The Lambda function `list-seats`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::list_seats::FUNCTION)
}
