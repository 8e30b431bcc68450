//! The Lambda function `recommend-seats`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::recommend_seats::FUNCTION)
}
