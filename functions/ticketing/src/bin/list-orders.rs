//! The Lambda function `list-orders`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::list_orders::FUNCTION)
}
