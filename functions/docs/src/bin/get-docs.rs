//! The Lambda function `get-docs`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(docs::get_docs::FUNCTION)
}
