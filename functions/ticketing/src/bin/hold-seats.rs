//! The Lambda function `hold-seats`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::hold_seats::FUNCTION)
}
