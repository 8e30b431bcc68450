//! The Lambda function `count-dead-letters`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(notification::count_dead_letters::FUNCTION)
}
