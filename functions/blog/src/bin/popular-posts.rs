//! The Lambda function `popular-posts`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(blog::popular_posts::FUNCTION)
}
