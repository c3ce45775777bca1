/// The script of the page that makes variants of one image.
enum DashboardPreviewScript {
    static let text = #"""
        const example = [{ name: "thumb", thumbnail: { width: 200, height: 200 }, format: "webp" }];
        const preview = { url: "", variants: JSON.stringify(example, null, 2), answer: null, message: "" };

        let previewTimer = null, previewNumber = 0;

        /** Once the user has stopped typing for a second. */
        function makeLater() {
          clearTimeout(previewTimer);
          previewTimer = setTimeout(() => { if (preview.url) makePreview(); }, 1000);
        }

        async function makePreview() {
          clearTimeout(previewTimer);
          previewNumber += 1;
          const own = previewNumber;
          try {
            const variants = JSON.parse(preview.variants);
            preview.message = "Working…";
            await show();
            const answer = await call("preview", { url: preview.url, variants });
            // A later edit has asked again.
            if (own !== previewNumber) return;
            preview.answer = answer;
            preview.message = "";
          } catch (failure) {
            if (own !== previewNumber) return;
            preview.message = failure.message;
          }
          await show();
        }

        function previewPage(pipelines) {
          if (!allowsChanges) return [make("p", { class: "quiet" }, "larder serve --allow-changes makes previews.")];
          const url = make("input", { type: "url", id: "preview-url", required: "", size: "70", value: preview.url,
            oninput: (event) => { preview.url = event.currentTarget.value; makeLater(); } });
          const variants = make("textarea", { id: "preview-variants", rows: "12", spellcheck: "false",
            oninput: (event) => { preview.variants = event.currentTarget.value; makeLater(); } }, preview.variants);
          return [
            make("form", { onsubmit: (event) => { event.preventDefault(); makePreview(); } },
              make("p", {}, make("label", { for: "preview-url" }, "URL of an image"), url),
              make("p", {}, make("label", { for: "preview-variants" }, "Variants, as in a pipeline"), variants),
              make("p", { class: "actions" }, make("button", {}, "Make"), pipelines.map((pipeline) => make("button", {
                type: "button", onclick: () => {
                  preview.variants = JSON.stringify(JSON.parse(pipeline.spec).variants ?? [], null, 2);
                  show();
                },
              }, "Take " + pipeline.name)))),
            make("p", { role: "status", class: "message", hidden: preview.message ? null : "" }, preview.message),
            preview.answer ? previewResult(preview.answer) : null,
          ];
        }

        function previewResult({ source, variants }) {
          return make("div", {},
            make("p", { class: "quiet" }, `${source.format}, ${source.width} × ${source.height}, ${bytes(source.bytes)}, `
              + `${source.cached ? "from the cache" : "downloaded"} in ${number(source.ms)} ms`),
            make("div", { class: "previews" }, variants.map((variant) => make("figure", {},
              variant.data ? make("img", { src: variant.data, alt: variant.name }) : null,
              make("figcaption", {}, make("b", {}, variant.name), variant.error
                ? make("p", { class: "bad" }, variant.error.message)
                : make("p", {}, `${variant.format}, ${variant.width} × ${variant.height}, ${bytes(variant.bytes)}, ${variant.ms} ms`),
                make("code", {}, variant.key ?? ""))))));
        }

        """#
}
