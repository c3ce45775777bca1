/// The forms of a report.
package enum ReportFormat: String, CaseIterable {
    case text, json, html, csv
}
