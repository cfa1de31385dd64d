//! Being asked to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whoever asks a process to end: Ctrl-C, a service manager, a terminal that closes.
pub(crate) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupt {
    /// Listens from now on; the process is no longer ended by these signals themselves.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits until somebody asks.
    pub(crate) async fn recv(&mut self) {
        tokio::select! {
            _signal = self.interrupt.recv() => {}
            _signal = self.terminate.recv() => {}
            _signal = self.hang_up.recv() => {}
        }
    }
}
