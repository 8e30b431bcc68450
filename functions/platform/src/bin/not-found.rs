//! The Lambda function `not-found`.

fn main() -> Result<(), lambda_runtime::Error> {
    platform::lambda::run(platform::not_found::FUNCTION)
}
