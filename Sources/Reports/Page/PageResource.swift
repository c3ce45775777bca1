/// The scripts and stylesheets of `Resources`, embedded in the program. A script uses what those before it declare.
package enum PageResource {
    /// What the report and the dashboard share.
    package static let style = EmbeddedText.page_css
    /// What the report and the dashboard share.
    package static let script = EmbeddedText.page_js
    static let reportStyle = style + EmbeddedText.report_css
    static let reportScript = script + EmbeddedText.report_image_js + EmbeddedText.report_js
}
