//! The Lambda function `refresh-session`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(identity::refresh_session::FUNCTION)
}
