//! The Lambda function `update-me`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(identity::update_me::FUNCTION)
}
