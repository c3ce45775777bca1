import Concurrency
import Foundation

/// libjpeg with faults: what a transcoder's child does when a codec breaks over a picture.
///
/// A library that is loaded before the real one, and hands on all but the pictures of three widths. Goes with its last
/// reference; children that have it loaded keep it.
public final class FaultyCodec: Sendable {
    struct Failure: Error { let output: String }

    /// What happens when a JPEG of that many pixels' width is decoded.
    public enum Fault: Int, CaseIterable, Sendable {
        /// A write where there is no memory.
        case crash = 611
        /// It never comes back.
        case loop = 612
        /// It takes memory until there is none for a buffer of the picture's size, and then gives up.
        case hunger = 613

        /// A picture that it happens with.
        public var picture: [UInt8] { MadeJPEG.bytes(rawValue, 1024) }
    }

    private let directory: TemporaryDirectory

    /// Builds it with the system's C compiler.
    public init() async throws {
        directory = try TemporaryDirectory()
        let compiler = try RunningCommand(
            "cc", ["-shared", "-fPIC", "-x", "c", "-", "-o", directory.file("libfaulty.so")],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"], input: Array(Self.source.utf8))
        let outcome = await compiler.outcome()
        guard outcome.code == 0 else { throw Failure(output: String(decoding: outcome.errors, as: UTF8.self)) }
    }

    /// The line of a child's environment that gives it the faults.
    public var environment: String { "LD_PRELOAD=\(directory.file("libfaulty.so"))" }

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        #include <jpeglib.h>
        #include <jerror.h>

        static char *volatile nowhere;

        static void take_all(void) {
            char *memory;
            while ((memory = malloc(1 << 20))) { memset(memory, 1, 1 << 20); }
        }

        boolean jpeg_start_decompress(j_decompress_ptr info) {
            boolean (*real)(j_decompress_ptr) = (boolean (*)(j_decompress_ptr))dlsym(RTLD_NEXT, "jpeg_start_decompress");
            switch (info->image_width) {
            case \(Fault.crash.rawValue): *nowhere = 1; break;
            case \(Fault.loop.rawValue): for (;;) { pause(); }
            case \(Fault.hunger.rawValue): take_all(); ERREXIT1(info, JERR_OUT_OF_MEMORY, 1); break;
            default: break;
            }
            return real(info);
        }

        """
}
