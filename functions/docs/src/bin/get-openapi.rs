//! The Lambda function `get-openapi`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(docs::get_openapi::FUNCTION)
}
