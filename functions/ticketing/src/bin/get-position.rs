//! The Lambda function `get-position`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::get_position::FUNCTION)
}
