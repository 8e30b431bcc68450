//! The Lambda function `create-post`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(blog::create_post::FUNCTION)
}
