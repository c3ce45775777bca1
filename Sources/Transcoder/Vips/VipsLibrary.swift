private import CVips
internal import ImageModel

/// libvips in this process: started once, on one thread, with all its doors shut that are not needed.
enum VipsLibrary {
    /// Parsers of libvips that see no fuzzing, or load what nobody asks for. `vips_block_untrusted_set` blocks those
    /// its authors call untrusted; TIFF it still lets through.
    private static let blocked = [
        "VipsForeignLoadTiff", "VipsForeignLoadMagick", "VipsForeignLoadMagick7", "VipsForeignLoadSvg",
        "VipsForeignLoadPdf", "VipsForeignLoadJxl", "VipsForeignLoadJp2k", "VipsForeignLoadOpenslide",
        "VipsForeignLoadOpenexr", "VipsForeignLoadFits", "VipsForeignLoadNifti", "VipsForeignLoadMat",
        "VipsForeignLoadAnalyze", "VipsForeignLoadRad", "VipsForeignLoadPpm", "VipsForeignLoadCsv",
        "VipsForeignLoadMatrix", "VipsForeignLoadRaw", "VipsForeignLoadVips",
    ]

    /// Starts it; false when it cannot be.
    ///
    /// - Parameter memoryExit: the code the process ends with when an allocation fails where GLib cannot go on.
    static func start(memoryExit: Int32) -> Bool {
        larder_quiet_log(memoryExit)
        guard larder_vips_init("larder") == 0 else { return false }
        vips_block_untrusted_set(1)
        for name in blocked { vips_operation_block_set(name, 1) }
        // Every picture is another one: what the cache would keep is only memory.
        vips_cache_set_max(0)
        vips_cache_set_max_mem(0)
        vips_cache_set_max_files(0)
        vips_concurrency_set(1)
        vips_leak_set(0)
        return true
    }

    /// The parsers of formats that are read on request.
    private static let optional: [ImageFormat: String] = [
        .tiff: "VipsForeignLoadTiff", .svg: "VipsForeignLoadSvg", .jxl: "VipsForeignLoadJxl",
        .pdf: "VipsForeignLoadPdf",
    ]

    /// Opens the parsers of those formats that are read on request, and shuts those of the others.
    static func admit(_ formats: Set<ImageFormat>) {
        for (format, parser) in optional { vips_operation_block_set(parser, formats.contains(format) ? 0 : 1) }
    }

    /// Its version, `8.14.1`.
    static var version: String { String(cString: vips_version_string()) }

    /// Whether it knows an operation of that name, blocked or not.
    static func knows(_ operation: String) -> Bool { vips_type_find("VipsOperation", operation) != 0 }

    /// Whether it has an operation of that name that is not blocked, `webpsave_buffer`.
    static func has(_ operation: String) -> Bool {
        guard let created = vips_operation_new(operation) else {
            vips_error_clear()
            return false
        }
        g_object_unref(created)
        return true
    }
}

/// An operation of libvips that failed.
struct VipsFailure: Error {
    /// The process-wide error buffer, read and emptied at once; for people only.
    let message: String

    init() {
        let text = vips_error_buffer_copy()
        defer { g_free(text) }
        let lines = text.map { String(cString: $0) } ?? ""
        message = String(lines.split(separator: "\n").joined(separator: "; ").prefix(300))
    }

    /// The failure as the stage it happened in counts it.
    func `as`(_ code: TranscodeError.Code, _ what: String) -> TranscodeError {
        TranscodeError(code, message.isEmpty ? what : "\(what): \(message)")
    }
}
