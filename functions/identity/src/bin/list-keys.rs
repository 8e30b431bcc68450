//! The Lambda function `list-keys`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(identity::list_keys::FUNCTION)
}
