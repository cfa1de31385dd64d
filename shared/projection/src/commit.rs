//! What became of a run whose commit was sent and not answered for certain.

use tidemark_queue::lease::{Phase, error_code};
use tidemark_queue::{Connection, Error, Lease};

/// Re-reads the run by its token, on a new connection, where `outcome` leaves open whether the step was committed: the
/// connection broke, or the client gave up waiting after it had sent everything. `reached`: the phases in which it was.
///
/// # Errors
/// [`Error::Stale`] where the run is over or somebody else's. Where it has not moved: `commit_unknown`, or the timeout itself.
pub(crate) async fn settle(
    connection: &mut Connection,
    lease: Lease,
    outcome: Result<(), Error>,
    reached: &[Phase],
) -> Result<(), Error> {
    let error = match outcome {
        Err(error) if matches!(error, Error::Unknown) || error.is_timeout() => error,
        settled => return settled,
    };
    match lease.phase(connection).await {
        Ok(phase) if reached.contains(&phase) => Ok(()),
        Ok(Phase::Over) => Err(Error::Stale),
        Ok(_not_moved) if matches!(error, Error::Unknown) => {
            Err(Error::Database { code: error_code::COMMIT_UNKNOWN.to_owned(), constraint: None })
        }
        Ok(_not_moved) => Err(error),
        Err(unreadable) if matches!(error, Error::Unknown) => Err(unreadable),
        // The budget is what an operator can change.
        Err(_unreadable) => Err(error),
    }
}
