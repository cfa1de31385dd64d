//! alerts
