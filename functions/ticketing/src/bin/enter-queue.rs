//! The Lambda function `enter-queue`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::enter_queue::FUNCTION)
}
