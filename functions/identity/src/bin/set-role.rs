//! The Lambda function `set-role`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(identity::set_role::FUNCTION)
}
