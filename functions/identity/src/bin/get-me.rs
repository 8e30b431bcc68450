//! The Lambda function `get-me`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(identity::get_me::FUNCTION)
}
