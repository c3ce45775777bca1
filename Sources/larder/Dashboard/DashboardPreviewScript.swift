/// The script of the page that makes variants of one image.
enum DashboardPreviewScript {
    static let text = #"""
        const example = [{ name: "thumb", thumbnail: { width: 200, height: 200 }, format: "webp" }];
        // A file is { name, data }, its data in base64.
        const preview = { url: "", file: null, variants: JSON.stringify(example, null, 2), answer: null, message: "" };
        const mostFileBytes = \#(PreviewRequest.mostBytes);

        let previewTimer = null, previewNumber = 0;

        /** Once the user has stopped typing for a second. */
        function makeLater() {
          clearTimeout(previewTimer);
          previewTimer = setTimeout(() => { if (preview.url || preview.file) makePreview(); }, 1000);
        }

        async function makePreview() {
          clearTimeout(previewTimer);
          previewNumber += 1;
          const own = previewNumber;
          try {
            const variants = JSON.parse(preview.variants);
            preview.message = "Working…";
            await show();
            const source = preview.file ? { file: preview.file.data } : { url: preview.url };
            const answer = await call("preview", { ...source, variants });
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

        /** Takes a file that was chosen or dropped; the URL is not used then. */
        function takeFile(file) {
          if (!file) return;
          if (file.size > mostFileBytes) {
            preview.message = `${file.name} has ${bytes(file.size)}; a preview takes ${bytes(mostFileBytes)}.`;
            show();
            return;
          }
          const reader = new FileReader();
          reader.onerror = () => { preview.message = `${file.name} cannot be read.`; show(); };
          reader.onload = () => {
            preview.file = { name: file.name, data: reader.result.slice(reader.result.indexOf(",") + 1) };
            makePreview();
          };
          reader.readAsDataURL(file);
        }

        const fileField = () => make("p", { class: "drop" },
          make("label", { for: "preview-file" }, "Or a file, chosen or dropped here"),
          make("input", { type: "file", id: "preview-file", accept: "image/*",
            onchange: (event) => takeFile(event.currentTarget.files[0]) }),
          preview.file ? make("span", { class: "quiet" }, `Of the file ${preview.file.name}. `) : null,
          preview.file ? make("button", { type: "button", onclick: () => {
            preview.file = null;
            preview.answer = null;
            document.querySelector("#preview-file").value = "";
            show();
          } }, "Remove the file") : null);

        function previewPage(pipelines) {
          if (!allowsChanges) return [make("p", { class: "quiet" }, "larder serve --allow-changes makes previews.")];
          const url = make("input", { type: "url", id: "preview-url", required: preview.file ? null : "", size: "70", value: preview.url,
            oninput: (event) => { preview.url = event.currentTarget.value; preview.file = null; makeLater(); } });
          const variants = make("textarea", { id: "preview-variants", rows: "12", spellcheck: "false",
            oninput: (event) => { preview.variants = event.currentTarget.value; makeLater(); } }, preview.variants);
          const form = make("form", {
              onsubmit: (event) => { event.preventDefault(); makePreview(); },
              ondragover: (event) => event.preventDefault(),
              ondrop: (event) => { event.preventDefault(); takeFile(event.dataTransfer.files[0]); },
            },
              make("p", {}, make("label", { for: "preview-url" }, "URL of an image"), url),
              fileField(),
              make("p", {}, make("label", { for: "preview-variants" }, "Variants, as in a pipeline"), variants),
              make("p", { class: "actions" }, make("button", { class: "primary" }, "Make"), pipelines.map((pipeline) => make("button", {
                type: "button", onclick: () => {
                  preview.variants = JSON.stringify(JSON.parse(pipeline.spec).variants ?? [], null, 2);
                  show();
                },
              }, "Use pipeline " + pipeline.name))));
          return [make("div", { class: "editor" }, form, make("div", {},
            make("p", { role: "status", class: "message", hidden: preview.message ? null : "" }, preview.message),
            preview.answer ? previewResult(preview.answer)
              : make("p", { class: "quiet" }, "Each variant is shown here with its size, bytes, time and key. Nothing is stored.")))];
        }

        function previewResult({ source, variants }) {
          return make("div", {},
            make("p", { class: "quiet" }, `${source.format}, ${source.width} × ${source.height}, ${bytes(source.bytes)}, `
              + (source.key === null ? "a file" : `${source.cached ? "from the cache" : "downloaded"} in ${number(source.ms)} ms`)),
            make("div", { class: "previews" }, variants.map((variant) => make("figure", {},
              variant.data ? make("img", { src: variant.data, alt: variant.name }) : null,
              make("figcaption", {}, make("b", {}, variant.name), variant.error
                ? make("p", { class: "bad" }, variant.error.message)
                : make("p", {}, `${variant.format}, ${variant.width} × ${variant.height}, ${bytes(variant.bytes)}, ${variant.ms} ms`),
                make("code", {}, variant.key ?? ""))))));
        }

        """#
}
