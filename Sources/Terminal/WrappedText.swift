import FoundationEssentials
import Glibc

package enum WrappedText {
    /// The lines of `text`, broken at spaces; a longer word gets its own line.
    package static func lines(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? word : " " + word
        }
        return line.isEmpty ? lines : lines + [line]
    }

    /// Paragraphs separated by empty lines; one with an indented line keeps its lines.
    package static func paragraphs(_ text: String, width: Int) -> String {
        text.split(separator: "\n\n").map { paragraph in
            let rows = paragraph.split(separator: "\n")
            return rows.contains { $0.hasPrefix(" ") }
                ? String(paragraph) : lines(String(paragraph), width: width).joined(separator: "\n")
        }.joined(separator: "\n\n")
    }

    /// A row of two columns with the right one wrapped. With little room, the right column begins below the left.
    package static func row(_ name: String, _ text: String, left: Int, width: Int) -> String {
        let isNarrow = width - left - 4 < 30
        let indent = isNarrow ? 8 : left + 4
        let rows = lines(text, width: max(20, width - indent))
        let space = String(repeating: " ", count: indent)
        var first = "  " + name
        var rest = rows[...]
        if !isNarrow, name.count <= left, let row = rest.popFirst() {
            first += String(repeating: " ", count: indent - first.count) + row
        }
        return ([first] + rest.map { space + $0 }).map { $0 + "\n" }.joined()
    }
}

/// The columns of a help page.
package enum PageWidth {
    /// The terminal's columns; without a terminal COLUMNS, else 120. From 40 to 200.
    package static var current: Int {
        of(terminal: terminal, variable: ProcessInfo.processInfo.environment["COLUMNS"])
    }

    package static func of(terminal: Int?, variable: String?) -> Int {
        min(max(terminal ?? variable.flatMap { Int($0) } ?? 120, 40), 200)
    }

    private static var terminal: Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
