//! The Lambda function `place-order`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::place_order::FUNCTION)
}
