//! The Lambda function `pay-order`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::pay_order::FUNCTION)
}
