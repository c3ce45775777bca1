import JobQueue

/// The section that the script fills with the images.
extension ReportPage {
    package var images: String {
        guard !gallery.items.isEmpty else { return "" }
        return """
            <noscript><p>The images need JavaScript, which this page has inside.</p></noscript>
            <div class="controls" hidden>
            <label>Search in URLs and keys<input type="search" id="search" autocomplete="off"></label>
            <label>Show<select id="filter"><option value="all">all</option><option value="0">succeeded</option>
            <option value="1">failed</option><option value="2">cancelled</option>
            <option value="retried">retried</option><option value="animated">animated</option></select></label>
            <label>Order<select id="order"><option value="pictures">pictures first</option>
            <option value="none">as enqueued</option><option value="failures">failures first</option>
            <option value="url">URL</option><option value="large">largest first</option>
            <option value="small">smallest first</option><option value="saved">most saved first</option>
            <option value="attempts">most attempts first</option></select></label>
            </div>
            <div class="gallery" id="gallery"\(hasFailures ? " data-short" : "")></div>
            <p class="actions"><button type="button" id="more" hidden>Show more</button>
            <span class="quiet" id="count" role="status"></span></p>
            <p class="quiet">\(imagesNote)</p>

            """
    }

    private var hasFailures: Bool { reports.contains { $0.progress.failed > 0 } }

    /// How many images the page has of how many, and how many pictures.
    private var imagesNote: String {
        let (shown, all) = (gallery.items.count, statistics.records)
        var note = ""
        if shown < all {
            note += "This page lists \(shown.grouped) of \(all.grouped) images; larder report --files lists all. "
        }
        guard gallery.pictureCount > 0 else {
            return note + (isServed ? "Pictures are loaded from the cache." : Self.noPicture)
        }
        let rest = isServed ? "the other pictures are loaded from the cache" : "others show their placeholder"
        note += "\(gallery.picturedItems.grouped) of \(shown.grouped) images have a picture inside the page"
        note += " (\(gallery.pictureCount.grouped) pictures)"
        return note + (gallery.picturedItems < shown ? "; \(rest)." : ".")
    }

    private static let noPicture = "No picture is embedded: the cache does not have the files, or --thumbnails is 0."
}
