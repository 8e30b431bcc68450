//! The Lambda function `take-pass`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::take_pass::FUNCTION)
}
