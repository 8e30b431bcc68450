//! The Lambda function `sign-up`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(identity::sign_up::FUNCTION)
}
