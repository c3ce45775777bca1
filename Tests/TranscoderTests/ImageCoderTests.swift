import Foundation
import Glibc
import TestSupport
import Testing

@testable import ImageModel
@testable import Transcoder

/// The programs of own coders: what they make, and what they cannot do.
@Suite(.timeLimit(.minutes(5)))
struct ImageCoderTests {
    /// A coder for files that begin with `MADEUP`, which runs a script of the shell.
    static func script(_ text: String, name: String = "made") throws -> ImageCoder {
        try ImageCoder(name: name, signatures: [.init(Array("MADEUP".utf8))], command: ["/bin/sh", "-c", text])
    }

    /// A coder whose picture is the rest of the file.
    static func rest() throws -> ImageCoder {
        try ImageCoder(
            name: "rest", signatures: [.init(Array("MADEUP".utf8))],
            command: ["/usr/bin/tail", "-c", "+7", "/dev/stdin"])
    }

    private static func harness(_ coders: ImageCoder..., memory: Int = 256 << 20) -> TranscodeHarness {
        TranscodeHarness {
            $0.limits.coders = coders
            $0.limits.memoryBytes = memory
        }
    }

    static func pam(_ width: Int, _ height: Int, depth: Int, maximum: Int = 255, _ samples: [UInt8]) -> [UInt8] {
        let header = "P7\nWIDTH \(width)\nHEIGHT \(height)\nDEPTH \(depth)\nMAXVAL \(maximum)\nENDHDR\n"
        return Array(header.utf8) + samples
    }

    static func file(_ picture: [UInt8]) -> [UInt8] { Array("MADEUP".utf8) + picture }

    struct Picture: Sendable, CustomStringConvertible {
        let description: String
        let pam: [UInt8]
        let format: ImageFormat
        let pixel: [Int]
    }

    @Test(arguments: [
        Picture(
            description: "RGB", pam: pam(1, 1, depth: 3, [250, 20, 20]), format: .jpeg, pixel: [250, 20, 20, 255]),
        Picture(
            description: "RGBA", pam: pam(1, 1, depth: 4, [10, 20, 30, 40]), format: .png, pixel: [10, 20, 30, 40]),
        Picture(description: "grey", pam: pam(1, 1, depth: 1, [90]), format: .jpeg, pixel: [90, 90, 90, 255]),
        Picture(
            description: "grey and alpha of 16 bits",
            pam: pam(1, 1, depth: 2, maximum: 65_535, [0x80, 0x80, 0xff, 0xff]), format: .png,
            pixel: [128, 128, 128, 255]),
    ])
    func `a variant of a coder's PAM is a PNG with alpha, else a JPEG`(picture: Picture) async throws {
        let output = try await Self.harness(try Self.rest()).make(Self.file(picture.pam), #""keySuffix":"x""#)
        #expect(output.report.source.coder == "rest")
        #expect(output.report.source.formatName == "rest")
        #expect(try output.made().format == picture.format)
        let pixel = try output.sample().pixel(0, 0)
        #expect(zip(pixel, picture.pixel).allSatisfy { abs($0 - $1) <= 3 }, "\(pixel)")
    }

    @Test func `a coder's animated PNG keeps its frames`() async throws {
        let file = Self.file(try Fixtures.image("animated.png"))
        let output = try await Self.harness(try Self.rest())
            .make(file, #""thumbnail":{"width":8,"height":8}"#, #""keySuffix":"x""#)
        #expect(output.report.source.isAnimated)
        #expect(try output.made().format == .png)
        #expect(try output.made().frames == output.report.source.frames)
        #expect(output.files[1] == Array(file.dropFirst(6)), "the picture's bytes, as an animation's are kept")
    }

    @Test func `the last registered coder wins, also over a built-in format`() async throws {
        func dot(_ name: String, _ color: String, _ signature: [UInt8]) throws -> ImageCoder {
            let header = #"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nENDHDR\n"#
            return try ImageCoder(
                name: name, signatures: [.init([1, 2, 3]), .init(signature)],
                command: ["/bin/sh", "-c", #"printf '\#(header)\#(color)'"#])
        }
        let jpeg: [UInt8] = [0xff, 0xd8, 0xff]
        let harness = Self.harness(
            try dot("red", #"\377\0\0\200"#, jpeg), try dot("blue", #"\0\0\377\200"#, jpeg),
            try dot("other", #"\0\377\0\200"#, [9]))
        let output = try await harness.make(try Fixtures.image("plain.jpg"), #""keySuffix":"x""#)
        #expect(output.report.source.coder == "blue")
        #expect(try output.sample().pixel(0, 0) == [0, 0, 255, 128])
        let png = try await harness.make(try Fixtures.image("rgb.png"), #""keySuffix":"x""#)
        #expect(png.report.source.coder == nil)
    }

    @Test func `a request names its coder, and no other`() async throws {
        let harness = Self.harness(try Self.rest(), try Self.script("exit 1"))
        let source = try ScratchFile(Self.file(try Fixtures.image("rgb.png")))
        var request = TranscodeRequest(source: source.descriptor, variants: [], outputs: [])
        request.coder = "rest"
        #expect(try await harness.transcode(request).source.coder == "rest")
        request.coder = "absent"
        let error = await #expect(throws: TranscodeError.self) { try await harness.transcode(request) }
        #expect(error?.code == .notConfigured)
        #expect(error?.message.contains("'absent'") == true)
    }

    @Test func `the header and the plan of an image describe the coder's picture`() async throws {
        let harness = Self.harness(try Self.rest())
        let source = try ScratchFile(Self.file(Self.pam(3, 2, depth: 1, [1, 2, 3, 4, 5, 6])))
        #expect(try await harness.pool.probe(source.descriptor).storedSize == PixelSize(width: 3, height: 2))
        let plan = try await harness.pool.plan(source.descriptor, variants: [])
        #expect(plan.source.coder == "rest")
    }

    struct Failure: Sendable, CustomStringConvertible {
        let description: String
        let script: String
        var code = TranscodeError.Code.undecodable
        var text = "the coder 'made' exited with code"
    }

    @Test(arguments: [
        Failure(description: "fails", script: "echo first >&2; echo broken pipes >&2; exit 3", text: "3: broken pipes"),
        Failure(description: "writes nothing", script: ":", text: "wrote nothing"),
        Failure(description: "writes a text", script: "echo no image", text: "wrote neither PNG nor PAM"),
        Failure(
            description: "writes a broken PNG", script: #"printf '\211PNG\r\n\032\nand no chunk'"#,
            text: "the picture of the coder 'made': "),
        Failure(
            description: "writes a PAM that is too large",
            script: #"printf 'P7\nWIDTH 99999\nHEIGHT 9\nDEPTH 3\nMAXVAL 255\nENDHDR\n'"#, code: .edge,
            text: "99999 pixels"),
        Failure(description: "crashes", script: "kill -SEGV $$", text: "was ended by signal 11"),
        Failure(description: "starts a process", script: "sleep 1000 & wait", text: "fork"),
        Failure(description: "forks for ever", script: "f() { f | f & }; f; wait", text: "fork"),
        Failure(
            description: "connects", script: "exec /bin/bash -c 'exec 3<>/dev/tcp/127.0.0.1/9'",
            text: "Operation not permitted"),
        Failure(
            description: "sends datagrams",
            script: """
                exec /usr/bin/python3 -ISc 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = [
                c.socketpair(1, 2, 0, 0), c.connect(0, 0, 0), c.bind(0, 0, 0), c.sendto(0, 0, 0, 0, 0, 0),
                c.sendmsg(0, 0, 0), c.sendmmsg(0, 0, 0, 0), c.prctl(1, 0), c.prctl(4, 0)]
                os.write(2, repr(r).encode()); os._exit(ctypes.get_errno())'
                """, text: "code 1: [-1, -1, -1, -1, -1, -1, -1, 0]"),
        Failure(description: "reads a file", script: "exec cat /etc/passwd", text: "Permission denied"),
        Failure(description: "writes a file", script: "echo x > /tmp/larder-coder", text: "Permission denied"),
        Failure(description: "lists a directory", script: "exec ls /proc", text: "Permission denied"),
        Failure(description: "ends the worker", script: "kill -9 $PPID || exit 1", text: "Operation not permitted"),
        Failure(description: "changes the original", script: "exec chmod 0 /dev/stdin", text: "not permitted"),
        Failure(
            description: "writes 10 GB", script: "exec head -c 10000000000 /dev/zero", code: .memory,
            text: "wrote 67108864 bytes or more"),
    ])
    func `a program that fails or is denied something fails its image alone`(failure: Failure) async throws {
        let harness = Self.harness(try Self.script(failure.script), memory: 64 << 20)
        let error = try await harness.refusal(Array("MADEUP".utf8))
        #expect(error?.code == failure.code, "\(error?.description ?? "none")")
        #expect(error?.message.contains(failure.text) == true, "\(error?.message ?? "")")
        #expect(try await harness.refusal(try Fixtures.image("plain.jpg")) == nil, "the pool goes on")
        #expect(!FileManager.default.fileExists(atPath: "/tmp/larder-coder"))
    }

    @Test
    func `a program that computes for ever is ended by its processor time, one that waits by the clock`() async throws {
        let busy = TranscodeHarness {
            $0.limits.coders = (try? [Self.script("while :; do :; done")]) ?? []
            ($0.limits.softTime, $0.limits.hardTime) = (.seconds(2), .seconds(2))
        }
        let overspent = try await busy.refusal(Array("MADEUP".utf8))
        #expect(overspent?.code == .time)
        #expect(overspent?.message.contains("the coder 'made'") == true)
        let idle = TranscodeHarness {
            $0.limits.coders = (try? [Self.script("exec sleep 100000")]) ?? []
            $0.limits.wallTime = .seconds(2)
        }
        let late = try await idle.refusal(Array("MADEUP".utf8))
        #expect(late?.code == .died)
        #expect(late?.countsTowardPoison == false)
        #expect(Self.processes(running: "100000") == [])
    }

    @Test func `a cancelled request and a pool that is shut down end the program`() async throws {
        let harness = Self.harness(try Self.script("exec sleep 200000"))
        func start() -> Task<TranscodeError?, any Error> { Task { try await harness.refusal(Array("MADEUP".utf8)) } }
        let cancelled = start()
        #expect(await reached { !Self.processes(running: "200000").isEmpty })
        cancelled.cancel()
        #expect(try await cancelled.value?.code == .cancelled)
        let ended = start()
        #expect(await reached { !Self.processes(running: "200000").isEmpty })
        await harness.pool.shutdown()
        #expect(try await ended.value?.code == .cancelled)
        #expect(Self.processes(running: "200000") == [])
    }

    /// The processes of `sleep` with this argument.
    private static func processes(running argument: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.filter { name in
            let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()
            return line == Data("sleep\0\(argument)\0".utf8)
        }
    }

    @Test func `a program that is missing is the machine's fault, of its images alone`() async throws {
        let coder = try ImageCoder(name: "gone", signatures: [.init([1])], command: ["/usr/bin/no-such-program"])
        let error = try await Self.harness(coder).refusal([1])
        #expect(error?.code == .localFault)
        #expect(error?.failure.profile == "coders.gone")
        #expect(error?.message.contains("'gone' cannot be started: /usr/bin/no-such-program") == true)
    }

    @Test(arguments: LimitedKernel.Part.allCases)
    func `without seccomp or Landlock no program is started, unless best effort is wanted`(
        _ part: LimitedKernel.Part
    ) async throws {
        let kernel = try await LimitedKernel(), file = Self.file(Self.pam(1, 1, depth: 1, [1]))
        func harness(_ policy: SandboxPolicy) -> TranscodeHarness {
            TranscodeHarness {
                let words = kernel.words(without: [part], [Products.transcoder])
                ($0.executable, $0.arguments, $0.sandbox) = (words[0], Array(words.dropFirst()), policy)
                $0.limits.coders = (try? [Self.rest()]) ?? []
            }
        }
        let error = try await harness(.required).refusal(file)
        #expect(error?.code == .localFault)
        #expect(error?.message.contains(part == .seccomp ? "lacks seccomp filters, " : "lacks Landlock, ") == true)
        #expect(try await harness(.bestEffort).refusal(file) == nil)
    }

    @Test func `texts of signatures are read, and values that no coder can have are refused`() throws {
        #expect(ImageCoder.Signature("66747970@4") == .init(Array("ftyp".utf8), at: 4))
        #expect(ImageCoder.Signature("00") == .init([0]))
        for text in ["", "0", "0g", "+1", "00@", "00@-1", "00@x", "00@512", "00@1@2"] {
            #expect(ImageCoder.Signature(text) == nil, "\(text)")
        }
        func field(
            name: String = "made", type: String = "a/b", signature: ImageCoder.Signature = .init([1]),
            command: [String] = ["/bin/true"], paths: [String] = []
        ) -> String? {
            do throws(VariantError) {
                _ = try ImageCoder(
                    name: name, mediaType: type, signatures: [signature], command: command, paths: paths)
                return nil
            } catch {
                return error.path
            }
        }
        #expect(field() == nil)
        for name in ["", "Upper", "jpeg", "a b", String(repeating: "a", count: 33)] {
            #expect(field(name: name) == "name")
        }
        #expect(field(type: "video") == "media-type")
        #expect(field(signature: .init([])) == "signature")
        #expect(field(signature: .init([1], at: 512)) == "signature")
        for command in [[], ["true"], ["/bin/true", "a\0b"]] { #expect(field(command: command) == "command") }
        #expect(field(paths: ["etc"]) == "read")
    }
}
