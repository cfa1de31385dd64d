//! The effective load: what a set really moves.

use crate::catalogue::CatalogueEntry;
use crate::history::LoadKind;
use crate::mass::Kilograms;

/// Decimals of a share held as billionths.
const SHARE_DECIMALS_DIVISOR: i128 = 1_000_000_000;
/// Decimals kept of a share of the bodyweight: all that a mass has, so only typed pounds with many decimals are rounded.
const SHARED_BODYWEIGHT_DECIMALS: u32 = 17;

/// The effective load of one set of `exercise` with the weight written and the bodyweight valid on its date.
///
/// None where the weight or the bodyweight that it needs is unknown, and for exercises without load. A bodyweight
/// exercise without a written weight has nothing added. The result may be negative; records and volumes pass over that.
pub(crate) fn effective_load(
    exercise: &CatalogueEntry<'_>,
    written: Option<Kilograms>,
    bodyweight: Option<Kilograms>,
) -> Option<Kilograms> {
    match exercise.load {
        LoadKind::External => written,
        LoadKind::Bodyweight => {
            let shared = Kilograms::from_steps(bodyweight?.steps() * exercise.share_billionths)
                .divided_and_rounded(SHARE_DECIMALS_DIVISOR, SHARED_BODYWEIGHT_DECIMALS);
            Some(shared + written.unwrap_or_default())
        }
        LoadKind::Assisted => {
            let assistance = written?.abs();
            Some(Kilograms::from_steps(bodyweight?.steps() - assistance.steps()))
        }
        LoadKind::Unloaded => None,
    }
}
