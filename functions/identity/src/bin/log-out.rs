//! The Lambda function `log-out`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(identity::log_out::FUNCTION)
}
