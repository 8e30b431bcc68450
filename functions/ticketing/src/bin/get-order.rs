//! The Lambda function `get-order`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::get_order::FUNCTION)
}
