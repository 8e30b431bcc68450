//! The Lambda function `log-in`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(identity::log_in::FUNCTION)
}
