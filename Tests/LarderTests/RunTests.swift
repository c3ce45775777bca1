import TestSupport
import Testing

/// The output, files, downloads and exit codes of `larder run`.
@Suite(.timeLimit(.minutes(5)))
struct RunTests {
    @Test func `run works only on its own batch and the jobs it has joined`() async throws {
        let scene = try await Scene()
        let foreign = scene.origin.url("/foreign.jpg")
        scene.origin.on("/foreign.jpg", .status(404))
        let shared = try scene.serve("plain.jpg", at: "/shared.jpg")
        // Has a higher priority than run's own jobs.
        #expect(try await scene.larder("enqueue", "--batch", "others", "--priority", "0", foreign).code == 0)
        #expect(
            try await scene.larder("enqueue", "--batch", "shared", "--at", "2100-01-01T00:00:00Z", shared).code == 0)
        let outcome = try await scene.larder("run", "--json", try scene.serve("plain.jpg", at: "/a.jpg"), shared)
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(try RunLines(outcome).jobs.count == 2)
        #expect(scene.origin.count("/foreign.jpg") == 0)
        let others =
            "SELECT string_agg(batch || ' ' || open || ' ' || succeeded, ',' ORDER BY batch) FROM larder.progress WHERE batch IN ('others', 'shared')"
        #expect(try await scene.sql(others) == "others 1 0,shared 0 1")
        #expect(scene.holds("EXISTS (SELECT FROM larder_data.ready)"))
    }

    @Test func `run prints one line per job and the report last`()
        async throws
    {
        let scene = try await Scene()
        let images = ["plain.jpg", "rgb.png", "still.webp", "still.heic", "still.avif", "cmyk.jpg", "animated.gif"]
        var urls: [String] = []
        for name in images { urls.append(try scene.serve(name, at: "/\(name)")) }
        let outcome = try await scene.larder(["run", "--json"] + Variants.all + urls).run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText == "")
        let lines = try RunLines(outcome)
        #expect(lines.jobs.count == urls.count)

        var bytesIn = 0
        var files: [String] = []
        for (name, url) in zip(images, urls) {
            let job = try lines.job(url)
            #expect(job.outcome == "succeeded")
            #expect(job.error == nil)
            let original = try #require(job.original)
            #expect(original.key == url)
            let served = try TestImage.bytes(name)
            #expect(try scene.bytes(original.path) == served)
            bytesIn += served.count
            #expect(job.variants.map(\.name) == ["small", "corner", "thumb"])
            for variant in job.variants {
                #expect(variant.error == nil)
                #expect(try !scene.bytes(variant.path).isEmpty, "\(url) \(variant.name)")
            }
            files += [original.path] + job.variants.compactMap(\.path)
        }
        #expect(Set(files).count == images.count * 4)
        #expect(scene.stored == files.map { String($0.dropFirst("default/".count)) }.sorted())

        let report = lines.report
        #expect([report.total, report.finished, report.succeeded, report.downloads] == [7, 7, 7, 7])
        #expect([report.skipped, report.failed, report.cancelled, report.failures.count] == [0, 0, 0, 0])
        #expect(report.variants == 21)
        #expect(report.bytesIn == bytesIn)
        #expect(report.bytesOut == (try files.reduce(0) { try $0 + scene.bytes($1).count }))
        #expect(try await scene.faults() == [])
    }

    @Test func `run ends with what is saved, where the images are, and commands that work`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let missing = scene.origin.url("/missing.jpg")
        let cache = scene.directory.file("other cache")
        let words = ["run", "--cache", cache, "--variant", "small=8x8:webp", url, missing]
        let run = try await scene.larder(words).run()
        let ending = run.lines.suffix(4)
        let form = /Finished: 1 of 2 images\. Variants are [0-9]+ % smaller \([0-9]+ B of [0-9]+ B\)\./
        #expect(ending.first?.wholeMatch(of: form) != nil, "\(run.text)")
        #expect(
            Array(ending.dropFirst()) == [
                "The images are in \(cache)/default", "List them: larder report --files --cache '\(cache)' 1",
                "Show them in a browser: larder serve --cache '\(cache)'",
            ])
        let files = try await scene.shell("larder report --files --cache '\(cache)' 1")
        #expect(files.lines.count == 2, "\(files.errorText)")
        let failed = try await scene.larder("run", missing)
        #expect(failed.lines.last == "Finished: 0 of 1 image.")
        for option in ["--json", "--quiet"] {
            #expect(try await !scene.larder("run", option, url, missing).text.contains("Finished: "))
        }
    }

    @Test func `run and key print the same keys and names`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/photo.jpg?size=1")
        let lines = try RunLines(try await scene.larder(["run", "--json"] + Variants.all + [url]).run())
        let named = try await scene.larder(["key"] + Variants.all + [url]).run().lines.map(fields)
        let job = try lines.job(url)
        let keys = [job.original?.key] + job.variants.map(\.key)
        let paths = [job.original?.path] + job.variants.map(\.path)
        #expect(named.map { $0["key"] as? String } == keys)
        #expect(named.map { "default/" + ($0["file"] as? String ?? "") } == paths)
    }

    @Test func `run --escape-urls stores under the key that an app asks for`() async throws {
        let scene = try await Scene()
        let escaped = try scene.serve("plain.jpg", at: "/bild-%C3%A4%201.jpg")
        let given = escaped.replacing("%C3%A4%20", with: "ä ")
        let outcome = try await scene.larder("run", "--json", "--escape-urls", given)
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText == "", "\(outcome.errorText)")
        #expect(try RunLines(outcome).job(escaped).original?.key == escaped)
    }

    @Test func `enqueue warns of the first URL that an app asks for under another key`() async throws {
        let scene = try await Scene()
        let list =
            scene.origin.url("/plain.jpg") + "\n" + scene.origin.url("/ä.jpg") + "\n" + scene.origin.url("/ö.jpg")
        let directory = try TemporaryDirectory()
        let file = try directory.write(list.utf8, to: "urls.txt")
        let outcome = try await scene.larder("enqueue", "--from", file, "--batch", "b")
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(outcome.errorText.split(separator: "\n").count == 1, "\(outcome.errorText)")
        #expect(outcome.errorText.contains("urls.txt:2: an app escapes this URL"))
        #expect(outcome.errorText.contains("'\(scene.origin.url("/%C3%A4.jpg"))'"))
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job WHERE url LIKE '%/ö.jpg'") == "1")
    }

    @Test func `a second run uses cached images and retries URLs that never block`() async throws {
        let scene = try await Scene()
        let good = try scene.serve("plain.jpg", at: "/good.jpg")
        let missing = scene.origin.url("/missing.jpg")
        scene.origin.on("/page.jpg", .body(Array("<html>no image</html>".utf8)))
        let page = scene.origin.url("/page.jpg")
        let words = ["run", "--json", good, missing, page]

        let first = try RunLines(try await scene.larder(words).run())
        #expect(try first.failure(missing).kind == "SDWebImageErrorDomain 2001")
        #expect(try first.failure(page).kind == "SDWebImageErrorDomain 1001")

        let outcome = try await scene.larder(words).run()
        #expect(outcome.code == 1)
        let second = try RunLines(outcome)
        #expect(try second.job(good).outcome == "succeeded")
        #expect(try second.job(good).original?.path == first.job(good).original?.path)
        #expect(try second.failure(missing).kind == "SDWebImageErrorDomain 2001")
        #expect(try second.failure(page).kind == "SDWebImageErrorDomain 1003", "blocked by its first failure")
        #expect(try second.failure(page).attempts == 0)
        #expect(second.report.downloads == 0)
        #expect(["/good.jpg", "/missing.jpg", "/page.jpg"].map(scene.origin.count) == [1, 2, 1])

        let insisting = try RunLines(try await scene.larder(["run", "--json", "--options", "RetryFailed", page]).run())
        #expect(try insisting.failure(page).kind == "SDWebImageErrorDomain 1001", "requested again with RetryFailed")
        #expect(scene.origin.count("/page.jpg") == 2)
    }

    @Test func `run waits for its scheduled retries`() async throws {
        let scene = try await Scene()
        scene.origin.on("/a.jpg", .status(500), .status(503), .body(try TestImage.bytes("plain.jpg")))
        let url = scene.origin.url("/a.jpg")
        let outcome = try await scene.larder("run", "--json", "--retry-base", "300ms", url)
        #expect(outcome.code == 0)
        let lines = try RunLines(outcome)
        #expect(try lines.job(url).outcome == "succeeded")
        #expect(scene.origin.count("/a.jpg") == 3)
        #expect([lines.report.total, lines.report.succeeded, lines.report.downloads] == [1, 1, 1])
    }

    @Test func `a URL given three times is three items, one job and one download`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let outcome = try await scene.larder("run", "--json", url, url, url)
        #expect(outcome.code == 0)
        let lines = try RunLines(outcome)
        #expect(try lines.job(url).outcome == "succeeded")
        #expect([lines.report.total, lines.report.finished, lines.report.succeeded] == [3, 3, 3])
        #expect(scene.origin.count("/a.jpg") == 1)
        #expect(try await scene.faults() == [])
    }

    @Test func `run joins the job of another batch and both batches finish`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let queued = try await scene.larder("enqueue", "--json", "--batch", "other", url)
        #expect(try fields(try #require(queued.lines.first))["answer"] as? String == "inserted")
        let outcome = try await scene.larder("run", "--json", "--batch", "mine", url)
        #expect(outcome.code == 0)
        let lines = try RunLines(outcome)
        #expect(try lines.job(url).outcome == "succeeded")
        #expect(try lines.job(url).original != nil)
        #expect(lines.report.batch == "mine")
        #expect([lines.report.total, lines.report.succeeded] == [1, 1])
        let other = try ReportLine(try #require(try await scene.larder("report", "other", "--json").lines.last))
        #expect([other.total, other.succeeded] == [1, 1])
        #expect(scene.origin.count("/a.jpg") == 1)
        #expect(try await scene.faults() == [])
    }

    @Test func `one failed variant fails the job and keeps the other files`() async throws {
        let scene = try await Scene()
        let url = try scene.serve("plain.jpg", at: "/a.jpg")
        let outcome = try await scene.larder(
            "run", "--json", "--variant", Variants.outside, "--variant", Variants.small, url)
        #expect(outcome.code == 1)
        let job = try RunLines(outcome).job(url)
        #expect(job.outcome == "failed")
        #expect(job.error?.kind == "LarderErrorDomain 401")
        #expect(job.original != nil)
        #expect(job.variants.map { $0.path != nil } == [false, true])
        #expect(job.variants.map { $0.error?.code } == [401, nil])
        #expect(scene.stored.count == 2)
    }

    @Test func `run without --json prints a text report, and failures on standard error`() async throws {
        let scene = try await Scene()
        let good = try scene.serve("plain.jpg", at: "/good.jpg")
        let outcome = try await scene.larder("run", good, scene.origin.url("/missing.jpg"))
        #expect(outcome.code == 1)
        #expect(outcome.text.contains("total: 2"))
        #expect(outcome.text.contains("succeeded: 1"))
        let cause = "  1 × The origin answered with HTTP status 404\n    The image is not"
        #expect(outcome.text.contains(cause))
        // The same causes as in the report, of one batch or of several.
        #expect(try await scene.larder("report", "1").text.contains(cause))
        #expect(try await scene.larder("report", "--since", "1d").text.contains(cause))
        #expect(outcome.errorText.contains("/missing.jpg"))
        #expect(outcome.errorText.contains("HTTP status 404"))
        #expect(!(outcome.errorText + outcome.text).contains("ErrorDomain"), "\(outcome.errorText)\(outcome.text)")
        #expect(!outcome.text.contains("skipped"))
        #expect(outcome.text.contains(": finished with 1 failed\n"), "\(outcome.text)")
        let again = try await scene.larder("run", good)
        #expect(again.text.contains(": finished\n"), "\(again.text)")
        #expect(again.text.contains("from the cache: 1\n"), "\(again.text)")
        #expect(try await scene.larder("report", "1", "-v").text.contains("status 404 (SDWebImageErrorDomain 2001)"))
        #expect(!outcome.text.contains("{"))
    }

    @Test func `run ends at its time limit with the report and exit code 3`() async throws {
        let scene = try await Scene()
        scene.origin.on("/never.jpg", .silent)
        let outcome = try await scene.larder(
            "run", "--json", "--max-runtime", "500ms", "--grace", "100ms", scene.origin.url("/never.jpg"))
        #expect(outcome.code == 3)
        let lines = try RunLines(outcome)
        #expect([lines.report.total, lines.report.finished] == [1, 0])
        #expect(scene.stored == [])
        #expect(scene.temporary == [])
    }

    @Test func `no output of run has the password of a URL`() async throws {
        let scene = try await Scene()
        let image = try TestImage.bytes("plain.jpg")
        scene.origin.on("/good.jpg", .body(image))
        let host = "http://user:s3cret@127.0.0.1:\(scene.origin.port)"
        let outcome = try await scene.larder("run", "--json", "\(host)/good.jpg", "\(host)/missing.jpg")
        let verbose = try await scene.larder("run", "--verbose", "\(host)/good.jpg", "\(host)/missing.jpg")
        for (name, text) in [("output", outcome.text), ("errors", outcome.errorText), ("log", verbose.errorText)] {
            // The key is the unchanged URL, as in SDWebImage.
            let shown = text.split(separator: ",").filter { !$0.contains(#""key":"#) }.joined()
            #expect(!shown.contains("s3cret"), "\(name)")
        }
        #expect(!verbose.text.contains("s3cret"))
    }
}
