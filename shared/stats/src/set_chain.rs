//! Counting sets: a drop belongs to the set before it.

use crate::history::SetKind;

/// The chain of rows of one exercise in one workout that counts as one set: a working row and the drops after it.
///
/// A chain counts once, at its first row that was performed. A drop with no set before it in the workout, or only a
/// warm-up, begins a chain of its own.
#[derive(Debug, Default)]
pub(crate) struct SetChain {
    workout_rank: usize,
    /// Whether the open chain has been counted; none is open at the start and after a warm-up.
    open: Option<bool>,
}

impl SetChain {
    /// Takes the next row and tells whether it makes its chain count, that is, adds one set.
    pub(crate) fn adds_set(&mut self, workout_rank: usize, kind: SetKind, is_attempt: bool) -> bool {
        if self.workout_rank != workout_rank {
            *self = Self { workout_rank, open: None };
        }
        let counted_before = match kind {
            SetKind::Warmup => {
                self.open = None;
                return false;
            }
            SetKind::Drop => self.open.unwrap_or(false),
            SetKind::Normal | SetKind::Failure => false,
        };
        self.open = Some(counted_before || !is_attempt);
        !counted_before && !is_attempt
    }
}
