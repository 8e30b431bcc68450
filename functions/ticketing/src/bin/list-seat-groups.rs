//! The Lambda function `list-seat-groups`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::list_seat_groups::FUNCTION)
}
