private import CGLib
private import Glibc
package import Terminal

/// Parses a command's words with GLib's GOption.
///
/// All values have GOption's type FILENAME, which keeps bytes unchanged. STRING refuses non-ASCII bytes without a
/// locale, and none is set so that numbers keep their C format.
package struct OptionParser {
    package let options: [Option]

    package struct Result {
        package var flags: Set<String> = []
        package var values: [String: [[UInt8]]] = [:]
        package var operands: [[UInt8]] = []
    }

    /// - Throws: wrong usage, naming the word.
    package func parse(_ words: [[UInt8]]) throws(CommandError) -> Result {
        try refuseUnknown(words)
        let context = GOptionContextOwner()
        let table = EntryTable(options)
        table.add(to: context.pointer)

        // GOption expects the program's name first and removes parsed words from the vector.
        var vector: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = cVector([Array("larder".utf8)] + words)
        defer { g_strfreev(vector) }
        var error: UnsafeMutablePointer<GError>?
        guard g_option_context_parse_strv(context.pointer, &vector, &error) != 0 else {
            defer { g_error_free(error) }
            throw .usage(error.map { String(cString: $0.pointee.message) } ?? "cannot read the arguments")
        }
        return table.result()
    }

    /// Refuses unknown options, since GOption suggests no name, and `--flag=no`, which GOption reads as `--flag`.
    private func refuseUnknown(_ words: [[UInt8]]) throws(CommandError) {
        var rest = words.map { String(decoding: $0, as: UTF8.self) }[...]
        while let word = rest.popFirst(), word != "--" {
            if word.hasPrefix("--") {
                let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard let option = options.first(where: { $0.name == parts[0] }) else {
                    let near = NearestWord.question(String(parts[0]), among: options.map(\.name), prefix: "--")
                    throw .usage("--\(parts[0]) is not an option\(near)")
                }
                if option.kind == .flag, parts.count > 1 {
                    throw .usage("--\(option.name) takes no value: '\(word)'")
                }
                // The next word is the value, even if it begins with a dash.
                if option.kind != .flag, parts.count == 1 { rest = rest.dropFirst() }
            } else if word.hasPrefix("-") {
                let valued = word.dropFirst().firstIndex { letter in
                    options.contains { $0.short == letter && $0.kind != .flag }
                }
                if let valued, word.index(after: valued) == word.endIndex { rest = rest.dropFirst() }
            }
        }
    }

    private func cVector(_ words: [[UInt8]]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
        let vector = g_malloc0_n(gsize(words.count + 1), gsize(MemoryLayout<UnsafeMutablePointer<CChar>?>.stride))
            .bindMemory(to: UnsafeMutablePointer<CChar>?.self, capacity: words.count + 1)
        for (index, word) in words.enumerated() {
            word.withUnsafeBytes { bytes in
                vector[index] = g_strndup(bytes.bindMemory(to: CChar.self).baseAddress, gsize(bytes.count))
            }
        }
        return vector
    }
}

private struct GOptionContextOwner: ~Copyable {
    let pointer: OpaquePointer?

    init() {
        pointer = g_option_context_new(nil)
        // `HelpPage` prints the help.
        g_option_context_set_help_enabled(pointer, 0)
    }

    deinit { g_option_context_free(pointer) }
}

/// The memory from which GOption reads names and to which it writes values.
private final class EntryTable {
    private typealias Values = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let options: [Option]
    private let entries: UnsafeMutablePointer<GOptionEntry>
    private let flags: UnsafeMutablePointer<gboolean>
    private let values: UnsafeMutablePointer<Values?>
    private var names: [UnsafeMutablePointer<CChar>?] = []

    init(_ options: [Option]) {
        self.options = options
        let count = options.count + 1
        entries = .allocate(capacity: count + 1)
        flags = .allocate(capacity: count)
        values = .allocate(capacity: count)
        flags.initialize(repeating: 0, count: count)
        values.initialize(repeating: nil, count: count)
        for (index, option) in options.enumerated() {
            names.append(g_strdup(option.name))
            var entry = GOptionEntry()
            entry.long_name = UnsafePointer(names[index])
            entry.short_name = option.short.flatMap { $0.asciiValue.map(CChar.init) } ?? 0
            if option.kind == .flag {
                entry.arg = G_OPTION_ARG_NONE
                entry.arg_data = gpointer(flags + index)
            } else {
                entry.arg = G_OPTION_ARG_FILENAME_ARRAY
                entry.arg_data = gpointer(values + index)
            }
            (entries + index).initialize(to: entry)
        }
        // G_OPTION_REMAINING, the entry for operands, is the empty name.
        names.append(g_strdup(""))
        var rest = GOptionEntry()
        rest.long_name = UnsafePointer(names[options.count])
        rest.arg = G_OPTION_ARG_FILENAME_ARRAY
        rest.arg_data = gpointer(values + options.count)
        (entries + options.count).initialize(to: rest)
        (entries + count).initialize(to: GOptionEntry())
    }

    deinit {
        for index in 0...options.count { g_strfreev(values[index]) }
        for name in names { g_free(name) }
        entries.deallocate()
        flags.deallocate()
        values.deallocate()
    }

    func add(to context: OpaquePointer?) { g_option_context_add_main_entries(context, entries, nil) }

    func result() -> OptionParser.Result {
        var result = OptionParser.Result()
        for (index, option) in options.enumerated() {
            if option.kind == .flag {
                if flags[index] != 0 { result.flags.insert(option.name) }
            } else if let list = values[index] {
                result.values[option.name] = words(list)
            }
        }
        if let list = values[options.count] { result.operands = words(list) }
        return result
    }

    private func words(_ list: Values) -> [[UInt8]] {
        var words: [[UInt8]] = []
        var index = 0
        while let word = list[index] {
            words.append(Array(UnsafeRawBufferPointer(start: word, count: strlen(word))))
            index += 1
        }
        return words
    }
}
