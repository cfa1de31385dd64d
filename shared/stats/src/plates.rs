//! Rounding to what can be loaded on a bar.

use rust_decimal::{Decimal, RoundingStrategy};

/// The multiple of `step` nearest to `value`; of two equally near the even multiple.
///
/// None when the step is not positive or the result cannot be held.
pub fn nearest_step(value: Decimal, step: Decimal) -> Option<Decimal> {
    if step <= Decimal::ZERO {
        return None;
    }
    let multiple = value.checked_div(step)?.round_dp_with_strategy(0, RoundingStrategy::MidpointNearestEven);
    Some(multiple.checked_mul(step)?.normalize())
}
