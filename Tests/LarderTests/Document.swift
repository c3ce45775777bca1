import Foundation
import TestSupport
import Testing

/// A page of the documentation with its fenced blocks.
struct Document {
    struct Block {
        /// The languages of blocks; `ShownBlockTests` has the check of each.
        enum Language: String, CaseIterable {
            case sh, sql, swift, objc, json, toml, yaml, mermaid, text
            /// A drawing or the signatures of functions.
            case none = ""
        }

        let language: Language
        /// The text of the page.
        let text: String
        /// The output that the page shows.
        let output: String?

        /// True if the block uses a bucket: BucketCommandTests runs it.
        var needsBucket: Bool { text.contains("my-bucket") }

        /// The commands of a shell block, without comments, with continued lines joined.
        var commands: [String] {
            text.replacing(/\\\n\s*/, with: "").split(separator: "\n")
                .map { String($0.replacing(/(^|\s+)# .*$/, with: "")) }.filter { !$0.isEmpty }
        }
    }

    /// Pages whose blocks run one after another on a new database.
    static let sessions = [
        "docs/sql.md", "docs/sql-operators.md", "docs/sql-workers.md", "docs/operations.md", "docs/fetching.md",
        "docs/storage.md",
    ]

    /// The role that runs the SQL of a page; by default it is the owner of the database.
    static let roles = [
        "docs/sql.md": "larder_producer", "docs/sql-operators.md": "larder_admin",
        "docs/sql-workers.md": "larder_worker",
    ]

    /// Pages whose commands tests of their own run: TutorialTests, and scripts/deploy-check.
    static let apart = ["docs/tutorial.md", "docs/deploy.md"]

    /// A worker that claims what is ready and completes it: 404 for one URL, the original and a variant of the others.
    private static let work = """
        CREATE FUNCTION work(missing text) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            w bigint := (SELECT s.worker_id FROM larder.worker_start_v1('worker', 'host-1', 1, '1.0', 8) AS s);
        BEGIN
            PERFORM larder.complete_v1(w, json_agg(json_strip_nulls(json_build_object('job', c.job_id, 'claim', 1,
                'result', CASE WHEN c.url = missing THEN 'failed' ELSE 'succeeded' END,
                'domain', 'SDWebImageErrorDomain', 'code', 2001, 'http_status', 404, 'message', c.url || ': HTTP status 404',
                'stored', CASE WHEN c.url = missing THEN NULL ELSE json_build_array(
                    json_build_object('key', c.url, 'path', format('default/%s.jpg', md5(c.url)), 'format', 'jpeg',
                        'width', 800, 'height', 600, 'bytes', 48213),
                    json_build_object('name', 'card', 'key', v.key, 'path', format('default/%s.jpg', md5(v.key)),
                        'format', 'jpeg', 'width', 200, 'height', 150, 'bytes', 9120)) END))))
            FROM larder.claim_v1(w, 1, 8) AS c, LATERAL (
                SELECT replace(c.url, '.jpg', '-Thumbnail(%7B200.000000,200.000000%7D,1).jpg') AS key) AS v;
            PERFORM larder.worker_stop_v1(w);
        END $$;
        """

    /// What the owner of the database runs before the first block of a page that contains a text.
    static let preparations: [String: [(before: String, sql: String)]] = [
        "docs/sql.md": [
            ("CALL larder.wait_batch('spring'", work + "SELECT work('https://example.com/b.jpg');"),
            ("larder.lookup", "SELECT work('');"),
        ],
        "docs/sql-workers.md": [
            (
                "",
                """
                SELECT larder.queue_set('images');
                SELECT FROM larder.enqueue_many(
                    ARRAY(SELECT 'https://example.net/' || n || '.jpg' FROM generate_series(1, 5) AS n),
                    batch => 'round', queue => 'images');
                SELECT FROM larder.enqueue('https://example.net/6.jpg', batch => 'examples');
                """
            )
        ],
        "docs/operations.md": [
            (
                "",
                """
                SELECT FROM larder.enqueue('https://example.com/1.jpg', batch => 'spring');
                SELECT larder.batch_seal('spring');
                """
            )
        ],
    ]

    struct UnknownLanguage: Error { let language: String }

    /// All pages, the README first.
    static func names() throws -> [String] {
        let docs = try FileManager.default.contentsOfDirectory(atPath: PackageRoot.path + "/docs")
        return ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
            + docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
    }

    let name: String
    let text: String

    init(_ name: String) throws {
        self.init(name: name, text: try String(contentsOfFile: "\(PackageRoot.path)/\(name)", encoding: .utf8))
    }

    init(name: String, text: String) {
        self.name = name
        self.text = text
    }

    /// The fenced blocks, in order. A block of text directly below another one is that one's output.
    var blocks: [Block] {
        get throws {
            try text.matches(of: /(?m)^```(.*)\n((?s).*?)^```(?:\n```text\n((?s).*?)^```)?$/).map { match in
                guard let language = Block.Language(rawValue: String(match.1)) else {
                    throw UnknownLanguage(language: String(match.1))
                }
                return Block(language: language, text: String(match.2), output: match.3.map(String.init))
            }
        }
    }

    /// The texts and targets of the links.
    var links: [(text: String, target: String)] {
        text.matches(of: /\[([^\]]+)\]\(([^)\s]+)\)/).map { (String($0.1), String($0.2)) }
    }

    /// The anchors of the sections.
    var anchors: Set<String> {
        Set(
            text.matches(of: /(?m)^#+ (.*)$/).map { match in
                match.1.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .replacing(" ", with: "-")
            })
    }
}

extension Scene {
    /// Runs a block of SQL in a new psql session, as a role. Blocks that create roles are rolled back, because roles
    /// belong to the server.
    func psql(_ sql: String, as role: String? = nil) async throws -> CommandOutcome {
        let block = role.map { "SET ROLE \($0);\n\(sql)" } ?? sql
        let script = sql.contains("CREATE ROLE") ? "BEGIN;\n\(block)\nROLLBACK;" : block
        return try await RunningCommand(
            "psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", database.url], environment: ["PATH": "/usr/bin:/bin"],
            input: Array(script.utf8)
        ).outcome()
    }

    /// A sendmail that appends its input to `sent-mail`, and refuses one without a recipient.
    private static let sendmail = """
        #!/bin/sh
        mail=$(cat)
        case $mail in *To:*) printf '%s\n' "$mail" >> "${0%/bin/sendmail}/sent-mail" ;; *) exit 75 ;; esac
        """

    /// Runs a command in a shell that has `larder` and `sendmail` in its path and the examples in its directory.
    ///
    /// - Parameter environment: the scene's by default.
    func shell(_ command: String, environment own: [String: String]? = nil) async throws -> CommandOutcome {
        let programs = directory.file("bin")
        if !FileManager.default.fileExists(atPath: programs) {
            try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                atPath: programs + "/larder", withDestinationPath: LarderCommand.executable)
            try FileManager.default.createSymbolicLink(
                atPath: directory.file("examples"), withDestinationPath: PackageRoot.path + "/examples")
            try directory.write(Self.sendmail.utf8, to: "bin/sendmail")
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: programs + "/sendmail")
        }
        return try await RunningCommand(
            "sh", ["-c", "cd \"$0\" && " + command, directory.path],
            environment: (own ?? environment).merging(["PATH": "\(programs):/usr/bin:/bin"]) { $1 }, input: []
        ).outcome()
    }
}
