private import CVips
internal import ImageModel

/// libvips in this process: started once, on one thread, with every unneeded parser blocked.
enum VipsLibrary {
    /// libvips' parsers that are not fuzzed or read unaccepted formats. `vips_block_untrusted_set` blocks the parsers
    /// that libvips marks as untrusted, which leaves TIFF.
    private static let blocked = [
        "VipsForeignLoadTiff", "VipsForeignLoadMagick", "VipsForeignLoadMagick7", "VipsForeignLoadSvg",
        "VipsForeignLoadPdf", "VipsForeignLoadJxl", "VipsForeignLoadJp2k", "VipsForeignLoadOpenslide",
        "VipsForeignLoadOpenexr", "VipsForeignLoadFits", "VipsForeignLoadNifti", "VipsForeignLoadMat",
        "VipsForeignLoadAnalyze", "VipsForeignLoadRad", "VipsForeignLoadPpm", "VipsForeignLoadCsv",
        "VipsForeignLoadMatrix", "VipsForeignLoadRaw", "VipsForeignLoadVips",
    ]

    /// Starts libvips; false on failure.
    ///
    /// - Parameter memoryExit: the exit code if an allocation fails in GLib, which cannot report it.
    static func start(memoryExit: Int32) -> Bool {
        larder_quiet_log(memoryExit)
        guard larder_vips_init("larder") == 0 else { return false }
        vips_block_untrusted_set(1)
        for name in blocked { vips_operation_block_set(name, 1) }
        // Encoders read no untrusted bytes.
        for codec in VipsCodec.all.values {
            guard let saver = codec.saver, let name = g_type_name(vips_type_find("VipsOperation", saver.operation))
            else {
                continue
            }
            vips_operation_block_set(name, 0)
        }
        // No image is decoded twice, so the cache would only hold memory.
        vips_cache_set_max(0)
        vips_cache_set_max_mem(0)
        vips_cache_set_max_files(0)
        vips_concurrency_set(1)
        vips_leak_set(0)
        return true
    }

    /// Unblocks the parsers of these formats, which are read on request, and blocks all other such parsers.
    static func allow(_ formats: Set<ImageFormat>) {
        for (format, codec) in VipsCodec.all {
            if let parser = codec.blockedParser { vips_operation_block_set(parser, formats.contains(format) ? 0 : 1) }
        }
    }

    /// Such as `8.14.1`.
    static var version: String { String(cString: vips_version_string()) }

    /// Whether libvips has the operation, blocked or not.
    static func has(_ operation: String?) -> Bool {
        operation.map { vips_type_find("VipsOperation", $0) != 0 } ?? false
    }

    /// Whether libvips has the operation and it is not blocked.
    static func allows(_ operation: String?) -> Bool {
        guard let operation, let created = vips_operation_new(operation) else { return false }
        defer { g_object_unref(created) }
        return vips_operation_get_flags(created).rawValue & VIPS_OPERATION_BLOCKED.rawValue == 0
    }
}

extension CodecFailure {
    /// Runs one libvips operation, which returns false on failure.
    ///
    /// The process has one message buffer, and successful operations leave warnings in it. It is emptied first, so that
    /// an error has only its own operation's messages.
    static func check(_ operation: () -> Bool) throws(CodecFailure) {
        vips_error_clear()
        guard !operation() else { return }
        let text = vips_error_buffer_copy()
        defer { g_free(text) }
        let lines = text.map { String(cString: $0) } ?? ""
        throw CodecFailure(message: String(lines.split(separator: "\n").joined(separator: "; ").prefix(300)))
    }

    /// libvips did not return the requested pixels.
    static let otherPixels = CodecFailure(message: "the pixels are not 8-bit sRGB")
}
