//! Masses: as a person typed them, and as exact kilograms.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize, Serializer};

use crate::names::written_names;

/// Decimals that a typed weight may have.
const TYPED_DECIMALS_MAX: u32 = 9;
/// Typed weights are below this in size, in their own unit.
const TYPED_VALUE_BELOW: i64 = 1_000_000;
/// Decimals of the fixed point: nine of the typed value and eight of the pound's factor.
const KILOGRAM_DECIMALS: u32 = 17;
/// Fixed-point steps in one kilogram.
const STEPS_PER_KILOGRAM: i128 = 10_i128.pow(KILOGRAM_DECIMALS);
/// One pound is 0.45359237 kg by definition (international yard and pound agreement of 1959), here times 10⁸.
const POUND_TIMES_1E8: i128 = 45_359_237;
/// One kilogram times 10⁸, the twin of [`POUND_TIMES_1E8`].
const KILOGRAM_TIMES_1E8: i128 = 100_000_000;
/// Most decimals of a rounded figure: with these every mass that can be held still fits a `Decimal`.
const ROUNDED_DECIMALS_MAX: u32 = 6;

/// The unit in which a weight was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Kilograms, written `kg`.
    #[serde(rename = "kg")]
    Kilogram,
    /// Pounds avoirdupois, written `lb`.
    #[serde(rename = "lb")]
    Pound,
}

impl Unit {
    const fn kilograms_times_1e8(self) -> i128 {
        match self {
            Self::Kilogram => KILOGRAM_TIMES_1E8,
            Self::Pound => POUND_TIMES_1E8,
        }
    }
}

written_names!(Unit, "kg or lb", Kilogram => "kg", Pound => "lb");

/// A weight that cannot be held exactly. The text names the rule and never the value, which is private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWeight {
    /// More than nine decimals.
    #[error("a weight has at most 9 decimals")]
    TooManyDecimals,
    /// A million or more, in either direction.
    #[error("a weight is below 1000000 in size")]
    TooLarge,
}

/// A weight as the person typed it: the value and its unit, never converted.
///
/// Trailing zeros are not kept: 75.0 and 75 are the same weight. Serialised as `{"value": "75", "unit": "kg"}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "TypedWeightFields", into = "TypedWeightFields")]
pub struct TypedWeight {
    mantissa: i64,
    decimals: u8,
    unit: Unit,
}

/// The serialised form of a typed weight.
#[derive(Serialize, Deserialize)]
struct TypedWeightFields {
    value: Decimal,
    unit: Unit,
}

impl TypedWeight {
    /// Takes a value with at most 9 decimals and below 1,000,000 in size.
    ///
    /// # Errors
    /// [`InvalidWeight`] when the value is outside those bounds.
    pub fn new(value: Decimal, unit: Unit) -> Result<Self, InvalidWeight> {
        let value = value.normalize();
        if value.abs() >= Decimal::from(TYPED_VALUE_BELOW) {
            return Err(InvalidWeight::TooLarge);
        }
        if value.scale() > TYPED_DECIMALS_MAX {
            return Err(InvalidWeight::TooManyDecimals);
        }
        let mantissa = i64::try_from(value.mantissa()).map_err(|_| InvalidWeight::TooLarge)?;
        let decimals = u8::try_from(value.scale()).map_err(|_| InvalidWeight::TooManyDecimals)?;
        Ok(Self { mantissa, decimals, unit })
    }

    /// The value in its own unit.
    pub fn value(&self) -> Decimal {
        Decimal::new(self.mantissa, u32::from(self.decimals))
    }

    /// The unit in which it was typed.
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// The same mass in kilograms, exactly.
    pub const fn to_kilograms(&self) -> Kilograms {
        let billionths = self.mantissa as i128 * 10_i128.pow(TYPED_DECIMALS_MAX - self.decimals as u32);
        Kilograms(billionths * self.unit.kilograms_times_1e8())
    }
}

impl TryFrom<TypedWeightFields> for TypedWeight {
    type Error = InvalidWeight;

    fn try_from(fields: TypedWeightFields) -> Result<Self, InvalidWeight> {
        Self::new(fields.value, fields.unit)
    }
}

impl From<TypedWeight> for TypedWeightFields {
    fn from(weight: TypedWeight) -> Self {
        Self { value: weight.value(), unit: weight.unit() }
    }
}

/// An exact mass in kilograms: a whole number of 10⁻¹⁷ kg.
///
/// Displayed and serialised as the exact decimal without trailing zeros, such as `1964741.75`. Arithmetic never
/// rounds and never wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Kilograms(i128);

impl Kilograms {
    /// No mass.
    pub const ZERO: Self = Self(0);

    /// A whole number of kilograms.
    pub const fn whole(kilograms: i64) -> Self {
        Self(kilograms as i128 * STEPS_PER_KILOGRAM)
    }

    pub(crate) const fn from_steps(steps: i128) -> Self {
        Self(steps)
    }

    pub(crate) const fn steps(self) -> i128 {
        self.0
    }

    /// The size without the sign.
    pub const fn abs(self) -> Self {
        Self(self.0.abs())
    }

    /// Half of it, half to even at the smallest step.
    pub(crate) fn half(self) -> Self {
        self.divided_and_rounded(2, KILOGRAM_DECIMALS)
    }

    /// The sum, or nothing where it cannot be held (above 10²¹ kg).
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The mass in `unit` for display, half to even at `decimals` (at most 6) decimals.
    pub fn to_unit_rounded(self, unit: Unit, decimals: u32) -> Decimal {
        let decimals = decimals.min(ROUNDED_DECIMALS_MAX);
        let steps_per_unit = unit.kilograms_times_1e8() * 10_i128.pow(TYPED_DECIMALS_MAX);
        // Whole units and the rest are scaled apart, because the product of both could leave 128 bits.
        let scale = 10_i128.pow(decimals);
        let whole = self.0.div_euclid(steps_per_unit) * scale;
        let rest = self.0.rem_euclid(steps_per_unit) * scale;
        // The parity of the whole figure decides ties, so the division sees an odd whole's last unit.
        let odd = whole.rem_euclid(2);
        let rounded = whole - odd + divide_half_even(rest + odd * steps_per_unit, steps_per_unit);
        Decimal::from_i128_with_scale(rounded, decimals)
    }

    /// Half to even at `decimals` decimals of a kilogram (at most 17), of the fraction `self / divisor`.
    pub(crate) fn divided_and_rounded(self, divisor: i128, decimals: u32) -> Self {
        let steps = 10_i128.pow(KILOGRAM_DECIMALS - decimals.min(KILOGRAM_DECIMALS));
        Self(divide_half_even(self.0, divisor * steps) * steps)
    }
}

impl Add for Kilograms {
    type Output = Self;

    /// # Panics
    /// When the sum cannot be held (above 10²¹ kg); [`compute`](crate::compute) refuses such a history beforehand.
    fn add(self, other: Self) -> Self {
        self.checked_add(other).expect("a sum of masses is below 1e21 kg")
    }
}

impl AddAssign for Kilograms {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Kilograms {
    fn sum<I: Iterator<Item = Self>>(masses: I) -> Self {
        masses.fold(Self::ZERO, Add::add)
    }
}

impl Mul<i32> for Kilograms {
    type Output = Self;

    /// The mass lifted `reps` times.
    ///
    /// # Panics
    /// When the product cannot be held (above 10²¹ kg).
    fn mul(self, reps: i32) -> Self {
        Self(self.0.checked_mul(i128::from(reps)).expect("a mass times reps is below 1e21 kg"))
    }
}

impl fmt::Display for Kilograms {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps_per_kilogram = STEPS_PER_KILOGRAM.unsigned_abs();
        let size = self.0.unsigned_abs();
        let (whole, fraction) = (size / steps_per_kilogram, size % steps_per_kilogram);
        let digits = match fraction {
            0 => whole.to_string(),
            _ => format!("{whole}.{fraction:0width$}", width = KILOGRAM_DECIMALS as usize)
                .trim_end_matches('0')
                .to_owned(),
        };
        let sign = if self.0 < 0 { "-" } else { "" };
        formatter.pad(&format!("{sign}{digits}"))
    }
}

impl Serialize for Kilograms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// `dividend / divisor`, rounded half to even; the divisor is positive.
pub(crate) fn divide_half_even(dividend: i128, divisor: i128) -> i128 {
    let quotient = dividend.div_euclid(divisor);
    let rest = dividend.rem_euclid(divisor);
    let up = match rest.cmp(&(divisor - rest)) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => quotient.rem_euclid(2),
        std::cmp::Ordering::Greater => 1,
    };
    quotient + up
}
