// The page of pipelines: variants in words and as JSON.

/** A pipeline's value as text, without JSON's quotes and braces. */
const plain = (value) => Array.isArray(value) ? value.map(plain).join(", ")
  : value !== null && typeof value === "object" ? fields(value) : String(value);
const fields = (object, ...left) => Object.entries(inOrder(object)).filter(([name]) => !left.includes(name))
  .map(([name, value]) => `${name} ${plain(value)}`).join(", ");

/** Sorts the fields for reading; the database sorts them by name. */
function inOrder(value) {
  if (Array.isArray(value)) return value.map(inOrder);
  if (value === null || typeof value !== "object") return value;
  const first = ["name", "type", "x", "y", "width", "height"].filter((name) => name in value);
  const rest = Object.keys(value).filter((name) => !first.includes(name));
  return Object.fromEntries([...first, ...rest].map((name) => [name, inOrder(value[name])]));
}

/** `at most 400 × 400`, or the exact size of a thumbnail that does not keep its shape. */
function thumbnailSize({ thumbnail }) {
  if (!thumbnail) return "–";
  const size = `${thumbnail.width} × ${thumbnail.height}`;
  return thumbnail.preserveAspectRatio === false ? size : "at most " + size;
}

function pipelineSection({ name, version, spec }) {
  const variants = JSON.parse(spec).variants ?? [];
  const columns = [
    ["Variant", (row) => row.name, "medium"], ["Size", thumbnailSize, "medium"],
    ["Transformers", (row) => row.transform?.length > 0
      ? make("ol", {}, row.transform.map((step) => make("li", {}, make("b", {}, step.type), " ", fields(step, "type")))) : "–", "long"],
    ["Format", (row) => row.format ?? "as the original", "medium"], ["Quality", (row) => row.quality ?? "–", "number"],
    ["Other", (row) => fields(row, "name", "thumbnail", "transform", "format", "quality") || "–", "medium"],
  ];
  return make("section", { "data-key": "pipeline-" + name },
    make("div", { class: "heading" }, make("h2", {}, make("bdi", {}, name), make("span", { class: "quiet" }, `, version ${version}`)),
      allowsChanges ? make("a", { href: "#/preview?" + query({ pipeline: name }) }, "Try in the preview") : null),
    table("Variants of " + name, columns.filter(([, value]) => variants.some((row) => value(row) !== "–")), variants,
      "It stores the originals alone."),
    disclosure("As JSON", make("pre", { tabindex: "0" }, JSON.stringify(inOrder(JSON.parse(spec)), null, 2))));
}
