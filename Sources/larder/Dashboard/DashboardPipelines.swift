/// The script of the page of pipelines: their variants in words, and as JSON.
enum DashboardPipelines {
    static let text = #"""
        /** A value of a pipeline without the marks of JSON. */
        const plain = (value) => Array.isArray(value) ? value.map(plain).join(", ")
          : value !== null && typeof value === "object" ? fields(value) : String(value);
        const fields = (object, ...left) => Object.entries(object).filter(([name]) => !left.includes(name))
          .map(([name, value]) => `${name} ${plain(value)}`).join(", ");

        /** `at most 400 × 400`, or the exact size of a thumbnail that does not keep its shape. */
        function thumbnailSize({ thumbnail }) {
          if (!thumbnail) return "as the original";
          const size = `${thumbnail.width} × ${thumbnail.height}`;
          return thumbnail.preserveAspectRatio === false ? size : "at most " + size;
        }

        function pipelineSection({ name, version, spec }) {
          const variants = JSON.parse(spec).variants ?? [];
          return make("section", { "data-key": "pipeline-" + name },
            make("div", { class: "heading" }, make("h2", {}, make("bdi", {}, name), make("span", { class: "quiet" }, `, version ${version}`)),
              allowsChanges ? make("a", { href: "#/preview?" + query({ pipeline: name }) }, "Try in the preview") : null),
            table("Variants of " + name, [
              ["Variant", (row) => row.name, "medium"], ["Size", thumbnailSize],
              ["Transformers", (row) => row.transform?.length > 0
                ? make("ol", {}, row.transform.map((step) => make("li", {}, make("b", {}, step.type), " ", fields(step, "type")))) : "none", "long"],
              ["Format", (row) => row.format ?? "as the original"], ["Quality", (row) => row.quality ?? "–", "number"],
              ["Other", (row) => fields(row, "name", "thumbnail", "transform", "format", "quality") || "–", "medium"],
            ], variants, "It stores the originals alone."),
            disclosure("JSON", make("pre", { tabindex: "0" }, JSON.stringify(JSON.parse(spec), null, 2))));
        }

        """#
}
