private import Glibc
internal import JobQueue

/// Create, start and stop; the caller holds the lock.
extension ClusterPlace {
    /// Recovery after a crash reads the write-ahead log.
    private static let startSeconds = 120
    private static let stopSeconds = 60
    private static let createSeconds = 120

    /// A session with the server, created and started if necessary.
    func sessionAfterStart() throws(ClusterError) -> AdminSession {
        let deadline = ContinuousClock.now + .seconds(Self.startSeconds)
        var lastAttempt: ContinuousClock.Instant?
        while ContinuousClock.now < deadline {
            switch connect() {
            case .session(let session): return session
            case .refused(let error): throw ClusterError(error)
            // Stopping, or being started by a command that was killed.
            case .unready: usleep(20_000)
            case .absent:
                // With a process id on disk the server may still be starting, possibly by a killed command, or a
                // crashed server's children may still be ending; no new server starts before.
                let hadPostmaster = postmaster != nil
                if let failure = try startServer() {
                    let wait: Duration = hadPostmaster || postmaster != nil ? .seconds(10) : .zero
                    let end = lastAttempt ?? ContinuousClock.now + wait
                    lastAttempt = end
                    if ContinuousClock.now >= end { throw failure }
                    usleep(50_000)
                }
            }
        }
        throw .tooSlow(.start, seconds: Self.startSeconds)
    }

    /// Tries to start the server; returns the error if it did not start.
    private func startServer() throws(ClusterError) -> ClusterError? {
        try writeNames()
        try finishUpgrade()
        try removeReusedProcessID()
        let binaries = try findBinaries()
        if !ClusterDirectories.exists(paths.data) { try create(with: binaries) }
        try writeFiles()
        let outcome = try commands.run(
            [
                binaries.directory + "/pg_ctl", "start", "-D", "data", "-l", "start.log", "-w", "-s",
                "-t", "\(Self.startSeconds)",
            ], limit: .seconds(Self.startSeconds + 10))
        if outcome.succeeded { return nil }
        if outcome.status == nil { return .tooSlow(.start, seconds: Self.startSeconds) }
        return .commandFailed(.start, lines: reasons(outcome.lines))
    }

    /// Stops the server if it is running.
    func stopServer() throws(ClusterError) {
        try removeReusedProcessID()
        guard ClusterDirectories.exists(paths.data + "/postmaster.pid") else { return }
        let control = try findBinaries().directory + "/pg_ctl"
        let outcome = try commands.run(
            [control, "stop", "-D", "data", "-m", "fast", "-w", "-s", "-t", "\(Self.stopSeconds)"],
            limit: .seconds(Self.stopSeconds + 10))
        if outcome.succeeded { return }
        // 3: no server is running; the file is a crashed server's.
        let status = try commands.run([control, "status", "-D", "data"], limit: .seconds(30))
        if status.code == 3 { return }
        if outcome.status == nil { throw .tooSlow(.stop, seconds: Self.stopSeconds) }
        throw .commandFailed(.stop, lines: outcome.lines)
    }

    /// Writes the password database for an account missing in the system's.
    private func writeNames() throws(ClusterError) {
        guard !account.isListed else { return }
        guard NameService.library != nil else { throw .userUnknown(userID: account.userID) }
        let names = NameService(account: account, directory: paths.directory)
        let outcome = try commands.script(
            "printf %s \"$1\" >passwd && printf %s \"$2\" >group", [names.passwords, names.groups], limit: .seconds(30))
        try check(outcome, .configure, seconds: 30)
    }

    /// Removes a crashed server's process id if it now belongs to another program or an unreaped process: Postgres
    /// would not start, and `pg_ctl stop` would signal the other program.
    ///
    /// A server works in its data directory. The script runs as the server's user, who may read its processes'
    /// directories.
    private func removeReusedProcessID() throws(ClusterError) {
        _ = try commands.script(
            """
            for file in data/postmaster.pid "$1"/.s.PGSQL.5432.lock; do
                pid=$(head -n 1 "$file") && read -r status <"/proc/$pid/stat" || continue
                case ${status##*) } in
                Z*) ;;
                *) [ -e "/proc/$pid/cwd" ] && ! [ "/proc/$pid/cwd" -ef data ] || continue ;;
                esac
                rm -f "$file"
            done
            """, [paths.socketDirectory], limit: .seconds(30))
    }

    /// Creates the data directory under another name and renames it, so that it is never incomplete.
    private func create(with binaries: ServerBinaries) throws(ClusterError) {
        let fresh = try initialize(with: binaries, checksums: false)
        // Not in the script above, which may outlive a killed command and with it the lock.
        let placed = try commands.script("mv -T -- \"$1\" data && sync -- .", [fresh], limit: .seconds(30))
        try check(placed, .create, seconds: 30)
    }

    /// Creates a data directory in `directory` and returns its name there.
    func initialize(with binaries: ServerBinaries, checksums: Bool) throws(ClusterError) -> String {
        // A new name: a killed command's initdb may still be writing to an older one.
        let fresh = "new.\(getpid()).\(UInt64.random(in: 0...UInt64.max))"
        // Version 18 made checksums the default and added the option against them.
        let pages = checksums ? "--data-checksums" : binaries.major >= 18 ? "--no-data-checksums" : ""
        let made = try commands.script(
            """
            rm -rf -- new.* 2>/dev/null
            "$1"/initdb -D "$2" -U \(ClusterFiles.role) -E UTF8 --locale=C -A peer $3 $4 >/dev/null &&
            printf '\\n%s\\n' "include = 'larder.conf'" >>"$2"/postgresql.conf
            """, [binaries.directory, fresh, configuration.disposable ? "--no-sync" : "", pages],
            limit: .seconds(Self.createSeconds))
        try check(made, .create, seconds: Self.createSeconds)
        return fresh
    }

    /// At each start, because the socket's directory and Larder's defaults may have changed.
    func writeFiles(into data: String = "data") throws(ClusterError) {
        let disposable = configuration.disposable
        let outcome = try commands.script(
            """
            put() { printf %s "$2" >"$data/$1".new && mv -f -- "$data/$1".new "$data/$1"; }
            data=$5 && : >start.log && rm -f "$data"/current_logfiles && put larder.conf "$1" && put pg_hba.conf "$2" && put pg_ident.conf "$3" &&
            printf '%s\\n' "$4" >home
            """,
            [
                ClusterFiles.settings(socketDirectory: paths.socketDirectory, disposable: disposable),
                ClusterFiles.hostAccess(disposable: disposable), ClusterFiles.userMap(account: account), home,
                data,
            ], limit: .seconds(30))
        try check(outcome, .configure, seconds: 30)
    }

    func check(
        _ outcome: ClusterCommands.Outcome, _ step: ClusterError.Step, seconds: Int
    ) throws(ClusterError) {
        if outcome.succeeded { return }
        if outcome.couldNotEnter { throw .cannotEnter(user: account.name, path: paths.directory) }
        if outcome.status == nil { throw .tooSlow(step, seconds: seconds) }
        throw .commandFailed(step, lines: outcome.lines)
    }

    /// Why the server did not start: its output before it opened the log, then the end of the log.
    private func reasons(_ fallback: [String]) -> [String] {
        let early = TextFile.lastLines(paths.directory + "/start.log")
        // `stderr log/postgresql-Mon.log`
        let current = TextFile.firstLine(paths.data + "/current_logfiles")?.split(separator: " ").last
        let log = current.map { TextFile.lastLines("\(paths.data)/\($0)") } ?? []
        let lines = early + log
        return lines.isEmpty ? fallback : Array(lines.suffix(5))
    }

    /// The programs of the data directory's version, or the newest without one.
    func findBinaries() throws(ClusterError) -> ServerBinaries { try findBinaries(major: dataVersion()) }

    /// A version's programs; nil finds the newest.
    func findBinaries(major: Int?) throws(ClusterError) -> ServerBinaries {
        try ServerBinaries.find(
            major: major, packaged: configuration.packaged, searchPath: configuration.searchPath
        ) { directory in
            // As the server's user: programs in a search path may belong to any user.
            (try? commands.run(["\(directory)/postgres", "-V"], limit: .seconds(30)))?.lines.last
        }
    }
}

/// The password database for a server whose user has no entry in the system's, as in a container with an arbitrary user
/// id. Postgres refuses to run without an entry.
///
/// The library `nss_wrapper` replaces the lookups by two files in the cluster's directory.
struct NameService: Sendable {
    private static let directories = [
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
    ]

    let account: ServerAccount
    let directory: String

    /// The library's path; nil if it is not installed.
    static var library: String? {
        directories.map { "\($0)/libnss_wrapper.so" }.first { access($0, R_OK) == 0 }
    }

    /// Environment lines for a command; none for a listed account.
    var environment: [String] {
        guard !account.isListed, let library = Self.library else { return [] }
        return [
            "LD_PRELOAD=\(library)", "NSS_WRAPPER_PASSWD=\(directory)/passwd", "NSS_WRAPPER_GROUP=\(directory)/group",
        ]
    }

    /// The file `passwd`. Root may connect too.
    var passwords: String {
        "\(account.name):x:\(account.userID):\(account.groupID)::/:/bin/false\nroot:x:0:0::/:/bin/false\n"
    }

    /// The file `group`.
    var groups: String { "\(account.name):x:\(account.groupID):\n" }
}
