private import CVips
internal import ImageModel

/// libvips in this process: started once, on one thread, with every parser blocked that is not needed.
enum VipsLibrary {
    /// libvips' parsers that are not fuzzed, or read formats that are not accepted. `vips_block_untrusted_set` blocks
    /// those that its authors call untrusted, which leaves TIFF.
    private static let blocked = [
        "VipsForeignLoadTiff", "VipsForeignLoadMagick", "VipsForeignLoadMagick7", "VipsForeignLoadSvg",
        "VipsForeignLoadPdf", "VipsForeignLoadJxl", "VipsForeignLoadJp2k", "VipsForeignLoadOpenslide",
        "VipsForeignLoadOpenexr", "VipsForeignLoadFits", "VipsForeignLoadNifti", "VipsForeignLoadMat",
        "VipsForeignLoadAnalyze", "VipsForeignLoadRad", "VipsForeignLoadPpm", "VipsForeignLoadCsv",
        "VipsForeignLoadMatrix", "VipsForeignLoadRaw", "VipsForeignLoadVips",
    ]

    /// Starts libvips; false when it cannot start.
    ///
    /// - Parameter memoryExit: the exit code of the process when an allocation fails in GLib, which cannot report it.
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

    /// Unblocks the parsers of the given formats that are read on request, and blocks all other such parsers.
    static func allow(_ formats: Set<ImageFormat>) {
        for (format, codec) in VipsCodec.all {
            if let parser = codec.blockedParser { vips_operation_block_set(parser, formats.contains(format) ? 0 : 1) }
        }
    }

    /// `8.14.1`.
    static var version: String { String(cString: vips_version_string()) }

    /// Whether libvips has an operation of that name, blocked or not.
    static func has(_ operation: String?) -> Bool {
        operation.map { vips_type_find("VipsOperation", $0) != 0 } ?? false
    }

    /// Whether libvips has an operation of that name that is not blocked, `webpsave_buffer`.
    static func allows(_ operation: String?) -> Bool {
        guard let operation, let created = vips_operation_new(operation) else { return false }
        defer { g_object_unref(created) }
        return vips_operation_get_flags(created).rawValue & VIPS_OPERATION_BLOCKED.rawValue == 0
    }
}

extension CodecFailure {
    /// Runs one operation of libvips, which returns false when it fails.
    ///
    /// The process has one buffer for all messages, and operations that succeed leave warnings in it. It is emptied
    /// first, so that an error has the messages of its own operation alone.
    static func check(_ operation: () -> Bool) throws(CodecFailure) {
        vips_error_clear()
        guard !operation() else { return }
        let text = vips_error_buffer_copy()
        defer { g_free(text) }
        let lines = text.map { String(cString: $0) } ?? ""
        throw CodecFailure(message: String(lines.split(separator: "\n").joined(separator: "; ").prefix(300)))
    }

    /// libvips returned other pixels than those asked for.
    static let otherPixels = CodecFailure(message: "the pixels are not 8-bit sRGB")
}
