import Foundation

/// How much of the tests runs: `make test` leaves out what is long and rarely fails, `make nightly` leaves out nothing.
///
///     @Suite(.enabled(if: Tier.isNightly, "make nightly"))
public enum Tier {
    /// Whether everything runs, from LARDER_TEST_TIER=nightly.
    public static let isNightly = ProcessInfo.processInfo.environment["LARDER_TEST_TIER"] == "nightly"
}
