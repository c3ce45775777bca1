private import FoundationEssentials

/// This machine's time of day, which is compared with the database's and nothing else.
enum TimeOfDay {
    /// Seconds since 1970.
    static var now: Double { Date().timeIntervalSince1970 }

    /// How far this machine's time of day is ahead of the database's, which read `theirs` between `sent` and
    /// `received`; zero when `theirs` may be between them.
    static func offset(of theirs: Double?, sent: Double, received: Double = now) -> Duration {
        guard let theirs else { return .zero }
        if theirs < sent { return .seconds(sent - theirs) }
        return theirs > received ? .seconds(received - theirs) : .zero
    }
}
