/// A libjpeg that fails to read images of three widths, and to write images of two, for tests of a transcoder's
/// children.
///
/// The library is loaded before the real one and passes all other images on.
public final class FaultyCodec: Sendable {
    /// A fault; the raw value is the width in pixels of the JPEG that causes it.
    public enum Fault: Int, CaseIterable, Sendable {
        /// A write to an unmapped address.
        case crash = 611
        /// An endless loop.
        case loop = 612
        /// The codec allocates memory until no more is available, then fails.
        case memory = 613

        /// An image that causes the fault.
        public var image: [UInt8] { MadeJPEG.bytes(rawValue, 1024) }
    }

    /// The width in pixels of a JPEG whose encoding never ends.
    public static let endlessOutput = 621
    /// The width in pixels of a JPEG whose encoding crashes.
    public static let crashingOutput = 622

    private let library: CompiledC

    /// Builds it.
    public init() async throws { library = try await .preloaded(Self.source) }

    /// The line of a child's environment that loads the library.
    public var environment: String { library.environment }

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
            case \(Fault.memory.rawValue): take_all(); ERREXIT1(info, JERR_OUT_OF_MEMORY, 1); break;
            default: break;
            }
            return real(info);
        }

        void jpeg_start_compress(j_compress_ptr info, boolean write_all_tables) {
            void (*real)(j_compress_ptr, boolean) =
                (void (*)(j_compress_ptr, boolean))dlsym(RTLD_NEXT, "jpeg_start_compress");
            switch (info->image_width) {
            case \(endlessOutput): for (;;) { pause(); }
            case \(crashingOutput): *nowhere = 1; break;
            default: break;
            }
            real(info, write_all_tables);
        }

        """
}
