import CommandLine
import Concurrency
import DiskCache
import Downloader
import EmbeddedPostgres
import Glibc
import ImageModel
import JobQueue
import ObjectStore
import Reports
import Terminal
import Transcoder

extension Command {
    static let doctor = Command(
        words: ["doctor"], operands: "",
        summary: "Test codecs, certificates, database and cache of this machine",
        discussion: """
            Prints one line per check; the exit code is 1 if one failed. A check that this database login is not permitted
            to make is skipped ("ok":null with --json).
            """,
        examples: ["larder doctor"],
        options: [Settings.databaseOption, Settings.cacheOption] + NamingOption.options + ObjectStoreOptions.options
            + Limits.transcodeOptions
    ) { arguments in
        var checkup = Checkup(json: arguments.flag("json"))
        checkup.passed("larder", Larder.version)
        let settings = try Settings(arguments)
        let transcoding = try Limits.transcoders(arguments)
        checkup.passed("machine", WorkerSize.found(transcoding))
        try await checkup.codecs(transcoding)
        checkup.authorities()
        if BucketAddress.isBucket(settings.cacheRoot) {
            await checkup.bucket(try CachePlace(arguments))
        } else {
            checkup.cache(settings.cacheRoot, try NamingOption.naming(arguments))
        }
        await checkup.database(settings)
        return checkup.failed ? .failed : .done
    }
}

private struct Checkup {
    let json: Bool
    private(set) var failed = false

    init(json: Bool) { self.json = json }

    mutating func passed(_ check: String, _ detail: String) { record(check, ok: true, detail) }

    mutating func codecs(_ configuration: TranscoderPool.Configuration) async throws {
        let pool = TranscoderPool(configuration: configuration)
        do throws(TranscodeError) {
            let report = try await pool.selfTest()
            passed("libvips", report.libvips)
            let readable = report.readable.map(\.name).sorted()
            let missing = configuration.limits.formats.map(\.name).filter { !readable.contains($0) }.sorted()
            record(
                "read", ok: missing.isEmpty,
                readable.joined(separator: " ")
                    + (missing.isEmpty ? "" : "; missing: " + missing.joined(separator: " ")))
            passed(
                "read on request",
                report.optional.isEmpty
                    ? "nothing more"
                    : report.optional.map(\.name).sorted().joined(separator: " ") + ", with --allow-format")
            encoders(report)
            for (format, strips) in report.strips.sorted(by: { $0.key < $1.key }) {
                record(
                    "strip \(format)", ok: strips,
                    strips ? "no metadata is left in outputs" : "metadata is left in outputs")
            }
            for (format, refuses) in report.refusesTruncated.sorted(by: { $0.key < $1.key }) {
                // A GIF decoder does not detect truncation; the download's length check does.
                passed(
                    "truncated \(format)", refuses ? "refused by the decoder" : "detected only while downloading")
            }
            sandbox(report, configuration.sandbox)
        } catch {
            record("transcoder", ok: false, error.description)
        }
        await pool.shutdown()
        for coder in configuration.limits.coders {
            record(
                "coder \(coder.name)", ok: coder.hasProgram,
                coder.command[0] + (coder.hasProgram ? "" : " is no program that can be started"))
        }
    }

    /// A missing encoder is a warning: many lists need only JPEG, PNG and WebP.
    private mutating func encoders(_ report: CodecReport) {
        let packages = ["avif": "libheif-plugin-aomenc", "heic": "libheif-plugin-x265"]
        let missing = report.missingEncoders.map(\.name).sorted()
            .map { name in packages[name].map { "\(name) (install \($0))" } ?? name }
        record(
            "write", ok: true,
            report.writable.map(\.name).sorted().joined(separator: " ")
                + (missing.isEmpty ? "" : "; missing, written as PNG or JPEG: " + missing.joined(separator: ", ")),
            severity: missing.isEmpty ? nil : "warning")
    }

    /// A missing feature of kernel or container is a failure, with best effort a warning.
    private mutating func sandbox(_ report: CodecReport, _ policy: SandboxPolicy) {
        let isAccepted = policy == .bestEffort, level = report.sandboxLevel
        if let missing = level.missing {
            record(
                "sandbox", ok: isAccepted,
                "\(level.rawValue): the kernel or the container lacks \(missing)"
                    + (isAccepted ? "" : ", so images are refused; --sandbox best-effort decodes them"),
                severity: isAccepted ? "warning" : nil)
        } else {
            passed("sandbox", "\(level.rawValue): seccomp and Landlock")
        }
        for (restriction, holds) in report.sandbox.sorted(by: { $0.key < $1.key }) {
            record(
                "transcoder: \(restriction)", ok: holds || isAccepted, holds ? "enforced" : "not enforced",
                severity: holds || !isAccepted ? nil : "warning")
        }
    }

    mutating func authorities() {
        guard let path = CertificateAuthorities.systemPath else {
            return record("certificates", ok: nil, "libcurl has no file of certificate authorities")
        }
        do throws(FetchError) {
            let authorities = try CertificateAuthorities(path: path)
            passed("certificates", "\(authorities.count) authorities in \(path)")
        } catch {
            record("certificates", ok: false, "\(error.message); install ca-certificates")
        }
    }

    mutating func cache(_ root: String, _ naming: any CacheNaming) {
        do throws(StoreError) {
            guard let cache = try Settings.existingCache(root, naming) else { return newCache(root) }
            // A full file system still creates empty files.
            try cache.begin().write([UInt8](repeating: 1, count: 1 << 20))
            passed("cache", "\(cache.layout.directory), id \(try cache.cacheID)")
        } catch {
            record("cache", ok: false, error.description)
        }
    }

    /// Stores, reads and deletes a small object.
    mutating func bucket(_ place: CachePlace) async {
        do {
            let id = try await place.disk.run { [store = place.store] in
                try (store as? S3Store)?.probe()
                return try (store as? S3Store)?.existingID()
            }
            passed("cache", "\(place.title) can be written and read, \(id.map { "id \($0)" } ?? "without an id yet")")
        } catch {
            record("cache", ok: false, "\(error)")
        }
    }

    /// The first writing command creates the cache in the nearest existing directory.
    private mutating func newCache(_ root: String) {
        var parent = root
        while access(parent, F_OK) != 0, let slash = parent.lastIndex(of: "/") {
            parent = slash == parent.startIndex ? "/" : String(parent[..<slash])
        }
        guard access(parent + "/.", W_OK | X_OK) == 0 else {
            return record("cache", ok: false, "\(root) cannot be created: \(String(cString: strerror(errno)))")
        }
        passed("cache", "\(root) is created by the first run")
    }

    mutating func database(_ settings: Settings) async {
        do {
            if settings.databaseURL == nil {
                let status = try await settings.cluster.status()
                guard case .running = status.state else {
                    let programs = try await settings.cluster.programs()
                    let state = status.state == .stopped ? "is stopped" : "is not created yet"
                    return passed(
                        "database",
                        "embedded, in \(status.directory), \(state); the next run starts it with \(programs)")
                }
            }
            let queue = try await settings.openQueue()
            try await queue.checkReady()
            passed(
                "database",
                settings.databaseURL == nil
                    ? "embedded, in \(try await settings.cluster.status().directory)" : "reachable")
            if let broken = try await permitted("queue", { () throws(QueueError) in try await queue.reports.check() }) {
                record("queue", ok: broken.isEmpty, broken.first.map { "\($0.invariant): \($0.detail)" } ?? "sound")
            }
            if let findings = try await permitted(
                "health", { () throws(QueueError) in try await queue.reports.health() })
            {
                if findings.isEmpty { passed("health", "nothing is wrong") }
                for finding in findings {
                    record(
                        "health", ok: finding.severity != .error, HealthLine(finding).text,
                        severity: finding.severity.rawValue)
                }
            }
        } catch {
            record("database", ok: false, CommandError(error).message)
        }
    }

    /// The result of `call`; nil, and a skipped check, if the login may not make it.
    private mutating func permitted<Value>(
        _ check: String, _ call: () async throws(QueueError) -> Value
    ) async throws(QueueError) -> Value? {
        do throws(QueueError) {
            return try await call()
        } catch {
            guard error.isDenied else { throw error }
            record(check, ok: nil, "not permitted for this login; grant it the role larder_reader")
            return nil
        }
    }

    private mutating func record(_ check: String, ok: Bool?, _ detail: String, severity: String? = nil) {
        failed = failed || ok == false
        if json {
            // `ok` is null for a check without permission.
            let line: JSONObject = ["check": check, "ok": ok, "detail": detail, "severity": severity]
            try? Console.json(line)
        } else {
            let mark = ok.map { $0 ? (severity == "warning" ? "warn" : "ok  ") : "FAIL" } ?? "skip"
            Console.line("\(mark) \(check): \(detail)")
        }
    }
}
