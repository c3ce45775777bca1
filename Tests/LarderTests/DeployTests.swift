import Foundation
import TestSupport
import Testing

@testable import CommandLine
@testable import Commands
@testable import Terminal

/// What deploy/ has: units, crontab lines, manifests and packages name commands, settings and versions that exist, and
/// the commands run. `scripts/deploy-check` runs the whole of it on a machine of its own.
@Suite(.timeLimit(.minutes(5)))
struct DeployTests {
    private static let units = [
        "larder-worker@.service", "larder-nightly.service", "larder-nightly-list.service", "larder-database.service",
        "larder-serve.service",
    ]
    private static let root = PackageRoot.path + "/deploy/"

    private static func text(_ name: String) throws -> String {
        try String(contentsOfFile: root + name, encoding: .utf8)
    }

    /// The names of the files with this ending, below deploy/.
    private static func files(_ ending: String) -> [String] {
        (FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []).filter {
            $0.hasSuffix(ending)
        }
    }

    /// Every command line of `larder` in units, crontab and manifests, by file.
    private static func commands() throws -> [(file: String, words: [String])] {
        var found: [(String, [String])] = []
        for unit in units {
            for match in try text("systemd/" + unit).matches(of: /(?m)^Exec\w+=\/usr\/bin\/larder (.*)$/) {
                found.append((unit, match.1.split(separator: " ").map(String.init)))
            }
        }
        for match in try text("cron/larder").matches(of: /larder ((?:enqueue|work|report|check)[^;|&2\n]*)/) {
            found.append(("cron", match.1.split(separator: " ").map(String.init)))
        }
        for file in files(".yaml") {
            for match in try text(file).matches(of: /(?m)^ *args: \[(.*)\]$/) {
                let words = match.1.split(separator: ", ").map {
                    $0.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
                }
                found.append((file, words))
            }
        }
        return found
    }

    @Test func `every command of units, crontab and manifests is accepted`() throws {
        let commands = try Self.commands()
        #expect(commands.count >= 15)
        for (file, words) in commands {
            let (command, rest) = try CommandTable.larder.find(words.map { Array($0.utf8) })
            #expect(throws: Never.self, "\(file): \(words)") {
                try Arguments(rest, options: command.options + CommandTable.commonOptions, environment: [:])
            }
        }
    }

    @Test func `every setting in an environment file or a manifest exists`() throws {
        let known = Set(CommandTable.larder.all.flatMap(\.options).map(\.variable)).union([
            "LARDER_HOME", "LARDER_DATABASE_URL",
        ])
        var count = 0
        for file in Self.files(".env") + Self.files(".yaml") + Self.units.map({ "systemd/" + $0 }) {
            for match in try Self.text(file).matches(of: /\b(LARDER_[A-Z_]+)(?:=|: \S)/) {
                count += 1
                #expect(known.contains(String(match.1)), "\(file): \(match.1)")
            }
        }
        #expect(count >= 15)
    }

    @Test func `packages, images and manifests have the program's version`() throws {
        let version = Larder.version
        #expect(try Self.text("debian/changelog").hasPrefix("larder (\(version)) "))
        #expect(try Self.text("kubernetes/base/kustomization.yaml").contains("newTag: \(version)\n"))
        let job = "larder-migrate-" + version.replacing(".", with: "-")
        #expect(try Self.text("kubernetes/base/kustomization.yaml").contains("value: \(job)\n"))
        let page = try Document("docs/deploy.md").text
        for match in page.matches(of: /larder[:_-]([0-9]+\.[0-9]+\.[0-9]+)/) { #expect(match.1 == version) }
    }

    @Test(.enabled(if: SystemTool.path(of: "systemd-analyze") != nil, "systemd is not installed"))
    func `systemd accepts the units and finds little exposed`() async throws {
        let directory = try TemporaryDirectory(open: true)
        var paths: [String] = []
        for name in Self.units + ["larder-nightly.timer"] {
            let text = try Self.text("systemd/" + name).replacing("/usr/bin/larder", with: LarderCommand.executable)
            try directory.write(text.utf8, to: name)
            paths.append(directory.file(name))
        }
        let verified = try await RunningCommand(
            "/usr/bin/systemd-analyze", ["verify", "--man=no"] + paths, environment: ["PATH": "/usr/bin"]
        ).outcome()
        let complaints = verified.errorText.split(separator: "\n").filter {
            $0.contains(directory.path) || $0.contains("larder")
        }
        #expect(verified.code == 0, "\(verified.errorText)")
        #expect(complaints.isEmpty, "\(verified.errorText)")
        for path in paths.prefix(Self.units.count) {
            // In tenths; the scale ends at 10.
            let limit = path.contains("database") ? "9" : "16"
            let rated = try await RunningCommand(
                "/usr/bin/systemd-analyze", ["security", "--no-pager", "--offline=true", "--threshold=" + limit, path],
                environment: ["PATH": "/usr/bin"]
            ).outcome()
            #expect(rated.code == 0, "\(path): \(rated.lines.last ?? "") \(rated.errorText)")
        }
    }

    @Test func `a stopped service has time to finish running jobs and to record them`() throws {
        for name in ["systemd/larder-worker@.service", "systemd/larder-nightly.service"] {
            let seconds = try #require(try Self.text(name).firstMatch(of: /TimeoutStopSec=(\d+)/)).1
            #expect(try #require(Int(seconds)) >= 30, "20 s of grace, 5 s for the database")
            #expect(try Self.text(name).contains("KillMode=mixed"), "children are the worker's to end")
        }
        for name in ["kubernetes/base/worker.yaml", "kubernetes/keda/scaled-job.yaml"] {
            #expect(try Self.text(name).contains("terminationGracePeriodSeconds: 30"))
        }
        #expect(try Self.text("kubernetes/base/settings.yaml").contains("LARDER_GRACE: 20s"))
    }

    @Test func `every container is restricted`() throws {
        var containers = 0
        for file in Self.files(".yaml") {
            let text = try Self.text(file)
            let count = text.matches(of: /(?m)^ *image:/).count
            containers += count
            let lines = [
                "runAsNonRoot: true", "seccompProfile: {type: RuntimeDefault}", "allowPrivilegeEscalation: false",
                "readOnlyRootFilesystem: true", "capabilities: {drop: [ALL]}", "automountServiceAccountToken: false",
                "restartPolicy: Never", "limits: {memory: ",
            ]
            for line in lines where !(line.hasPrefix("restart") && text.contains("kind: Deployment")) {
                #expect(text.components(separatedBy: line).count - 1 == count, "\(file): \(line)")
            }
        }
        #expect(containers == 5)
    }

    @Test func `KEDA's query counts what a worker could do now, for a login that only reads`() async throws {
        let scene = try await Scene()
        let manifest = try Self.text("kubernetes/keda/scaled-job.yaml")
        let folded = try #require(manifest.firstMatch(of: /query: >-\n((?: {10}.*\n)+)/)).1
        let query = folded.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
        func count() async throws -> String? {
            let outcome = try await scene.psql("\\t on\nSET ROLE larder_reader;\n\(query);")
            #expect(outcome.code == 0, "\(outcome.errorText)")
            return outcome.lines.first?.trimmingCharacters(in: .whitespaces)
        }
        #expect(try await count() == "0")
        _ = try await scene.larder("enqueue", "--at", "+1h", scene.origin.url("/later"))
        #expect(try await count() == "0", "nothing is due")
        _ = try await scene.larder("enqueue", "--batch", "spring", scene.origin.url("/1"), scene.origin.url("/2"))
        #expect(try await count() == "3")
        _ = try await scene.larder("pause", "--queue", "default")
        #expect(try await count() == "0", "the queue is paused")
    }

    @Test func `the page says how the manifests are applied, filled and followed`() throws {
        let page = try Document("docs/deploy.md").text
        let settings = try Self.text("kubernetes/base/settings.yaml")
        for set in ["base", "keda"] { #expect(page.contains("kubectl apply -k deploy/kubernetes/\(set)")) }
        #expect(page.contains("ConfigMap `larder-nightly` of `base/settings.yaml`"))
        #expect(settings.contains("\n  name: larder-nightly\n"))
        #expect(settings.contains("\n  # LARDER_CACHE: s3://"))
        #expect(page.contains("kubectl -n larder exec deploy/larder-worker -- larder report nightly\n"))
        let worker = try Self.text("kubernetes/base/worker.yaml")
        #expect(worker.contains("kind: Deployment\nmetadata:\n  name: larder-worker\n"))
        #expect(page.contains("LARDER_CACHE: s3://"))
    }

    @Test func `every section of the page that shows commands is run by the check`() throws {
        let page = try Document("docs/deploy.md")
        let check = try String(contentsOfFile: PackageRoot.path + "/scripts/deploy-check", encoding: .utf8)
        var sections = 0
        for section in page.text.components(separatedBy: "\n## ").dropFirst() where section.contains("\n```sh\n") {
            sections += 1
            let title = String(section.prefix { $0 != "\n" })
            #expect(check.contains("commands '\(title)'") || check.contains("commands \(title))"), "\(title)")
        }
        #expect(sections == 4)
    }
}
