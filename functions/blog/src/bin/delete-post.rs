//! The Lambda function `delete-post`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(blog::delete_post::FUNCTION)
}
