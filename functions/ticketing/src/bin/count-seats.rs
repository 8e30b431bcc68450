//! The Lambda function `count-seats`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::count_seats::FUNCTION)
}
