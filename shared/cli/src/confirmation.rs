//! Commands that change many rows say how many first.

use crate::failure::Failure;

/// Users that a command over everybody changes without `--yes`.
const FEW: u64 = 20;

/// The option of a command over everybody.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Confirmation {
    /// Do it to more than 20 users; without it such a command only says how many there are
    #[arg(long)]
    yes: bool,
}

impl Confirmation {
    /// Refuses to do `what` to `users` users who are many, unless that was confirmed. `command` is what was typed, without `--yes`.
    ///
    /// # Errors
    /// Wrong usage, with the number and the command that does it.
    pub(crate) fn check(&self, users: u64, what: &str, command: &str) -> Result<(), Failure> {
        if self.yes || users <= FEW {
            return Ok(());
        }
        let what = format!("{users} users {what}; nothing was changed");
        Err(Failure::usage(what, format!("if that is what you want: `tidemark {command} --yes`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_only_changed_when_that_was_confirmed() {
        let unconfirmed = Confirmation::default();
        assert!(unconfirmed.check(FEW, "would be marked", "refresh request --all").is_ok());
        let refusal =
            unconfirmed.check(FEW + 1, "would be marked", "refresh request --all").expect_err("they are many");
        assert_eq!(refusal.what, "21 users would be marked; nothing was changed");
        assert_eq!(refusal.next, "if that is what you want: `tidemark refresh request --all --yes`");
        assert_eq!(refusal.code, 2);
        assert!(Confirmation { yes: true }.check(u64::MAX, "", "").is_ok());
    }
}
