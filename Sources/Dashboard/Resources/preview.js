// The page that makes variants of one image.

const example = [{ name: "thumb", thumbnail: { width: 200, height: 200 }, format: "webp" }];
// A file is { name, data }, its data in base64. `wrong` is about the variants, `message` about the image.
const preview = {
  url: "", file: null, variants: JSON.stringify(example, null, 2), pipeline: "", answer: null, message: "", wrong: "",
};
const mostFileBytes = Number(main.dataset.mostFileBytes);
const mostVariants = Number(main.dataset.mostVariants);

let previewTimer = null, previewNumber = 0;

/** The error in the text of the variants that the browser finds; empty if the text can be sent. */
function variantsError(text) {
  let variants;
  try { variants = JSON.parse(text); } catch (failure) { return failure.message; }
  if (!Array.isArray(variants)) return "The variants are an array: [{\"name\": …}, …]";
  if (variants.length > mostVariants) return `${variants.length} variants; a preview makes ${mostVariants}.`;
  const unnamed = variants.findIndex((variant) => typeof variant?.name !== "string" || variant.name === "");
  if (unnamed >= 0) return `Variant ${unnamed + 1} has no name.`;
  const names = variants.map((variant) => variant.name);
  const again = names.find((name, place) => names.indexOf(name) < place);
  return again === undefined ? "" : `Two variants have the name ${again}.`;
}

/** Calls once the user has not typed for a second. */
function makeLater() {
  clearTimeout(previewTimer);
  previewTimer = setTimeout(() => { if (preview.url || preview.file) makePreview(); }, 1000);
}

async function makePreview() {
  clearTimeout(previewTimer);
  previewNumber += 1;
  const own = previewNumber;
  preview.wrong = variantsError(preview.variants);
  preview.message = preview.wrong ? "" : "Working…";
  await show();
  if (preview.wrong) return;
  try {
    const source = preview.file ? { file: preview.file.data } : { url: preview.url };
    const answer = await call("preview", { ...source, variants: JSON.parse(preview.variants) });
    // A later edit has sent another request.
    if (own !== previewNumber) return;
    preview.answer = answer;
    preview.message = "";
  } catch (failure) {
    if (own !== previewNumber) return;
    preview.message = "";
    // Error 4 is about a variant, which the message names.
    preview[failure.domain === "LarderErrorDomain" && failure.code === 4 ? "wrong" : "message"] = failure.message;
  }
  await show();
}

/** Uses a chosen or dropped file instead of the URL. */
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

function useVariants(text) {
  preview.variants = text;
  preview.wrong = variantsError(text);
  show();
  makeLater();
}

const variantsOf = (pipeline) => JSON.stringify(inOrder(JSON.parse(pipeline.spec).variants ?? []), null, 2);

/** The text of the variants with its error below it. */
function variantsField(pipelines) {
  const field = make("textarea", { id: "preview-variants", rows: "16", spellcheck: "false", "aria-describedby": "preview-error",
    "aria-invalid": preview.wrong ? "true" : null,
    oninput: (event) => {
      preview.variants = event.currentTarget.value;
      preview.wrong = variantsError(preview.variants);
      soon(shortestPause);
      makeLater();
    } }, preview.variants);
  return [
    make("div", { class: "heading" }, make("label", { for: "preview-variants" }, "Variants, as in a pipeline"),
      make("button", { type: "button", disabled: preview.wrong ? "" : null,
        onclick: () => useVariants(JSON.stringify(JSON.parse(preview.variants), null, 2)) }, "Format")),
    pipelines.length === 0 ? null : make("p", { class: "actions" }, pipelines.map((pipeline) => make("button", {
      type: "button", onclick: () => useVariants(variantsOf(pipeline)),
    }, "Use pipeline " + pipeline.name))),
    field, make("p", { id: "preview-error", class: "bad", role: "status" }, preview.wrong)];
}

function previewPage(pipelines, filter) {
  if (!allowsChanges) {
    return [make("p", { class: "empty" }, command("larder serve --allow-changes --token-file FILE"), " makes previews.")];
  }
  const wanted = pipelines.find((pipeline) => pipeline.name === filter.pipeline);
  if (wanted && preview.pipeline !== wanted.name) preview.variants = variantsOf(wanted);
  preview.pipeline = wanted?.name ?? "";
  const url = make("input", { type: "url", id: "preview-url", required: preview.file ? null : "", size: "70", value: preview.url,
    oninput: (event) => { preview.url = event.currentTarget.value; preview.file = null; makeLater(); } });
  const form = make("form", {
      onsubmit: (event) => { event.preventDefault(); makePreview(); },
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => { event.preventDefault(); takeFile(event.dataTransfer.files[0]); },
    },
      make("p", {}, make("label", { for: "preview-url" }, "URL of an image"), url),
      fileField(),
      variantsField(pipelines),
      make("p", { class: "actions" }, make("button", { class: "primary" }, "Make the variants")));
  return [make("div", { class: "editor" }, form, make("div", {},
    make("p", { role: "status", class: "message", hidden: preview.message ? null : "" }, preview.message),
    preview.answer ? previewResult(preview.answer)
      : make("p", { class: "empty" },
        "Each variant is shown here with its size, bytes, time and key. Nothing is stored.")))];
}

/** A file with its facts; a bar of full width stands for `most` bytes. */
function previewFigure(file, title, most, isOriginal, fact, note) {
  return make("figure", { class: isOriginal ? "source" : null },
    file.data ? make("a", { href: file.data, download: title, title: "Save the file" }, make("img", { src: file.data, alt: title })) : null,
    make("figcaption", {}, make("b", {}, title), file.error ? make("p", { class: "bad" }, file.error.message) : [
      make("p", {}, `${file.format}, ${file.width} × ${file.height}, ${bytes(file.bytes)}, ${fact}`),
      share(file.bytes, most, isOriginal ? "quiet" : "accent"),
      note ? make("p", { class: "quiet" }, note) : null,
      file.data ? null : make("p", { class: "quiet" }, "A browser cannot show it, or it is too large to be sent.")],
      file.key ? make("code", { title: "The key of the cache" }, file.key) : null));
}

function previewResult({ source, variants }) {
  const most = Math.max(source.bytes, ...variants.map((variant) => variant.bytes ?? 0), 1);
  const origin = source.key === null ? "a file"
    : source.cached ? "from the cache" : `downloaded in ${number(source.ms)} ms`;
  return make("div", { class: "previews" }, previewFigure(source, "original", most, true, origin),
    variants.map((variant) => previewFigure(variant, variant.name, most, false, `${variant.ms} ms`,
      source.bytes > 0 ? (variant.bytes * 100 / source.bytes).toFixed(1) + " % of the original" : null)));
}
