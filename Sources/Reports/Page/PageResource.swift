/// The scripts and stylesheets of `Resources`, embedded in the program. A script uses what those before it declare.
package enum PageResource {
    /// The styles of the report and of the dashboard.
    package static let style = EmbeddedText.page_css + EmbeddedText.images_css
    /// The elements, charts, sections and images of a batch, for the report and the dashboard.
    package static let script =
        EmbeddedText.page_js + EmbeddedText.charts_js + EmbeddedText.sections_js + EmbeddedText.images_js
    static let reportScript = script + EmbeddedText.report_js
}
