//! The Lambda function `cancel-order`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::cancel_order::FUNCTION)
}
