import Foundation
import JobQueue
import TestSupport
import Testing

/// The pages about the queue: their blocks run, and their names and links exist.
@Suite(.timeLimit(.minutes(5)))
struct DocumentTests {
    /// Lines without the padding of columns.
    private static func table(_ text: String) -> [String] {
        text.split(separator: "\n").map { line in
            let line = line.split(separator: " ").joined(separator: " ")
            return line.contains { $0 != "-" && $0 != "+" } ? line : String(line.filter { $0 == "+" }) + "-"
        }
    }

    @Test(arguments: Document.sessions)
    func `every shown block runs and prints the shown output`(page: String) async throws {
        let scene = try await Scene()
        var preparations = Document.preparations[page] ?? []
        for block in try Document(page).blocks where !block.needsBucket {
            switch block.language {
            case .sql:
                for due in preparations where due.before.isEmpty || block.text.contains(due.before) {
                    #expect(try await scene.psql(due.sql).code == 0, "\(page): \(due.sql)")
                }
                preparations.removeAll { $0.before.isEmpty || block.text.contains($0.before) }
                let outcome = try await scene.psql(block.text, as: Document.roles[page])
                #expect(outcome.code == 0, "\(page): \(block.text)\(outcome.errorText)")
                #expect(outcome.errorText.isEmpty, "\(page): \(block.text)\(outcome.errorText)")
                if let output = block.output {
                    #expect(Self.table(outcome.text) == Self.table(output), "\(page): \(block.text)")
                }
            case .sh:
                for command in block.commands {
                    let outcome = try await scene.shell(command)
                    #expect(outcome.code == 0, "\(page): \(command): \(outcome.errorText)")
                }
            default: break
            }
        }
        #expect(preparations.isEmpty)
        #expect(try await scene.queue.reports.check().isEmpty)
    }

    @Test func `the first 150 lines for producers lead from an enqueue to the stored files`() throws {
        let lines = try Document("docs/sql.md").text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = Document(name: "docs/sql.md", text: lines.prefix(150).joined(separator: "\n"))
        let shown = try start.blocks.filter { $0.language == .sql }.map(\.text).joined()
        let names = "enqueue_many progress cancel batch_cancel batch_retry_failed lookup stored_file"
        for name in names.split(separator: " ") { #expect(shown.contains("larder.\(name)"), "\(name)") }
    }

    @Test func `the README has at most 150 lines`() throws {
        let text = try String(contentsOfFile: PackageRoot.path + "/README.md", encoding: .utf8)
        #expect(text.count(where: \.isNewline) <= 150)
    }

    @Test func `the names of the SQL are what the migrations make, each with a comment`() async throws {
        let scene = try await Scene()
        let made = try await SystemTool.run(["bash", PackageRoot.path + "/scripts/sql-names", scene.database.url])
        let kept = try Document("docs/sql-names.md").text
        #expect(made == kept, "scripts/sql-names DATABASE_URL > docs/sql-names.md")
        #expect(kept.matches(of: /(?m)^\| `.*\| +\|$/).isEmpty, "each has a comment")
    }

    @Test func `the list of error codes is what the sources and the rules of the queue say`() async throws {
        let made = try await SystemTool.run(["python3", PackageRoot.path + "/scripts/error-codes"])
        let kept = try Document("docs/error-codes.md").text
        #expect(made == kept, "scripts/error-codes > docs/error-codes.md")
    }

    @Test func `every suite that a page names exists`() throws {
        let root = PackageRoot.path + "/Tests"
        let files = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
        var there: Set<Substring> = []
        for file in files where file.hasSuffix("Tests.swift") {
            there.insert((file.split(separator: "/").last ?? "").dropLast(6))
            let text = try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
            there.formUnion(text.matches(of: /(?:struct|class) (\w+Tests)\b/).map { Substring(String($0.1)) })
        }
        var named: Set<Substring> = []
        for page in try Document.names() + ["Tests/Guarantees.md", "Tests/SDWebImage.md"] {
            let text = try Document(page).text
            named.formUnion(text.matches(of: /`(\w+Tests)`/).map { Substring(String($0.1)) })
        }
        #expect(named.contains("ImagePrefetcherTests"))
        #expect(named.subtracting(there) == [])
    }

    @Test func `every error code is in the list of errors`() async throws {
        let pages = try Document.roles.keys.map { try Document($0).text }.joined()
        let migrations = PackageRoot.path + "/migrations"
        for file in try FileManager.default.contentsOfDirectory(atPath: migrations) where file.hasSuffix(".sql") {
            let sql = try String(contentsOfFile: "\(migrations)/\(file)", encoding: .utf8)
            for match in sql.matches(of: /ERRCODE = '(LA[0-9]{3}|[0-9]{5})'/) {
                #expect(pages.contains("\n| \(match.1) | "), "\(file): \(match.1)")
            }
        }
    }

    @Test func `a name that a drain follows every night is enqueued as its next run`() throws {
        var recipes = 0
        for page in ["README.md", "docs/tutorial.md"] {
            for block in try Document(page).blocks where block.text.contains("larder work --drain") {
                for command in block.commands where command.contains("larder enqueue") && command.contains("--batch") {
                    recipes += 1
                    #expect(command.contains("--next-run"), "\(page): \(command)")
                }
            }
        }
        #expect(recipes >= 2)
    }

    @Test func `the page of the commands keeps to 120 columns`() throws {
        let lines = try Document("docs/commands.md").text.split(separator: "\n")
        for line in lines where !line.hasPrefix("|") { #expect(line.count <= 120, "\(line)") }
    }

    @Test func `every file and directory that a page names by its path exists`() throws {
        let directories = "Sources|Tests|Benchmarks|migrations|deploy|examples|scripts|Models"
        for page in try Document.names() {
            for match in try Document(page).text.matches(of: Regex("`((?:\(directories))/[\\w+./-]+)`")) {
                guard let path = match.output[1].substring else { continue }
                #expect(FileManager.default.fileExists(atPath: "\(PackageRoot.path)/\(path)"), "\(page): \(path)")
            }
        }
    }

    @Test func `every link leads to a file and a section`() throws {
        for name in try Document.names() {
            let page = try Document(name)
            let directory = URL(filePath: "\(PackageRoot.path)/\(name)").deletingLastPathComponent()
            for link in page.links where !link.target.contains("://") {
                let parts = link.target.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
                let file = parts[0].isEmpty ? "\(PackageRoot.path)/\(name)" : directory.appending(path: parts[0]).path
                #expect(FileManager.default.fileExists(atPath: file), "\(name): \(link.target)")
                if parts.count > 1 {
                    let path = parts[0].isEmpty ? name : (name.hasPrefix("docs/") ? "docs/" : "") + parts[0]
                    #expect(try Document(path).anchors.contains(parts[1]), "\(name): \(link.target)")
                }
            }
        }
    }
}
