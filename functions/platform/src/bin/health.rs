//! The Lambda function `health`.

fn main() -> Result<(), lambda_runtime::Error> {
    platform::lambda::run(platform::health::FUNCTION)
}
