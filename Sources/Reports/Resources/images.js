// The images of a batch: a tile for each, and one large view with its variants.
//
// An image is { key, url, outcome, error, files, hash, color, frames, attempts }, with outcome 0 succeeded, 1 failed,
// 2 cancelled. A file is { name, key, path, format, width, height, bytes, error, unchanged }. The page says where
// pictures are: `tileFile(image)` is the file of a tile's picture or null; `address(file)` is a picture's
// address, null for none, undefined while it is not known; `load(file)` waits for it; `isPreview` is true for pictures
// smaller than the files; `isOver(file)` is true for a file over its budget; `fragment(image)` is the part of the
// address that shows an image.

const outcomes = ["succeeded", "failed", "cancelled"];

/** Draws a ThumbHash (https://evanw.github.io/thumbhash/) on a canvas; null if it is invalid. */
function placeholder(text) {
  let hash;
  try { hash = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)); } catch { return null; }
  if (hash.length < 5) return null;
  let place = 0;
  const take = (count) => {
    let value = 0;
    for (let bit = 0; bit < count; bit += 1, place += 1) value |= (hash[place >> 3] >> (place & 7) & 1) << bit;
    return value;
  };
  const mean = [take(6) / 63, take(6) / 31.5 - 1, take(6) / 31.5 - 1];
  const luminance = take(5) / 31, hasAlpha = take(1) === 1, count = take(3);
  const yellow = take(6) / 63 * 1.25, red = take(6) / 63 * 1.25, isWide = take(1) === 1;
  const limit = hasAlpha ? 5 : 7;
  const columns = isWide ? limit : count, rows = isWide ? count : limit;
  const alphaMean = hasAlpha ? take(4) / 15 : 1, alphaScale = hasAlpha ? take(4) / 15 : 0;
  const waves = (nx, ny, scale) => {
    const found = [];
    for (let y = 0; y < ny; y += 1) {
      for (let x = y === 0 ? 1 : 0; x * ny < nx * (ny - y); x += 1) found.push([x, y, (take(4) / 7.5 - 1) * scale]);
    }
    return found;
  };
  const parts = [waves(Math.max(3, columns), Math.max(3, rows), luminance), waves(3, 3, yellow), waves(3, 3, red),
    hasAlpha ? waves(5, 5, alphaScale) : []];
  const ratio = Math.max(1, columns) / Math.max(1, rows);
  const width = Math.round(ratio > 1 ? 32 : 32 * ratio), height = Math.round(ratio > 1 ? 32 / ratio : 32);
  const canvas = make("canvas", { width, height, "aria-hidden": "true" });
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const value = (part, first, x, y) => part.reduce((sum, [i, j, wave]) =>
    sum + 2 * wave * Math.cos(Math.PI / width * (x + 0.5) * i) * Math.cos(Math.PI / height * (y + 0.5) * j), first);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const l = value(parts[0], mean[0], x, y), p = value(parts[1], mean[1], x, y), q = value(parts[2], mean[2], x, y);
      const blue = l - 2 / 3 * p, redPart = (3 * l - blue + q) / 2, at = 4 * (y * width + x);
      image.data.set([redPart, redPart - q, blue, value(parts[3], alphaMean, x, y)].map((part) =>
        255 * Math.max(0, Math.min(1, part))), at);
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The last part of the path of a URL. */
const lastPart = (url) => url.split(/[?#]/)[0].split("/").filter((part) => part).pop() || url;
/** The last part, percent-decoded unless it then has invalid bytes or invisible characters. */
function shortName(url) {
  const name = lastPart(url);
  try { return /[\p{C}\p{Z}]/u.test(decodeURIComponent(name).replaceAll(" ", "")) ? name : decodeURIComponent(name); } catch { return name; }
}
/** The URL before its last part, without `https://`. */
function folder(url) {
  const path = url.split(/[?#]/)[0];
  return path.slice(0, Math.max(0, path.lastIndexOf(lastPart(url)))).replace(/^https?:\/\//, "");
}
const original = (image) => image.files.find((file) => file.name === "original");
const variantFiles = (image) => image.files.filter((file) => file.name !== "original");
/** `webp, 200 × 150, 1.2 KiB`. */
const facts = (file) => [file.format, file.width ? `${file.width} × ${file.height}` : null,
  file.bytes === null ? null : bytes(file.bytes), file.unchanged ? "unchanged" : null].filter((part) => part)
  .map((part) => part.replaceAll(" ", "\u00a0")).join(", ");

/** A variant's size relative to its original; null if a size is unknown. */
function saving(image, file) {
  const whole = original(image)?.bytes;
  if (!whole || file.bytes === null || file.name === "original") return null;
  return make("span", { class: file.bytes > whole ? "bad" : "good" }, smaller(file.bytes, whole));
}

/** One line per variant of an image. */
function strip(image) {
  const made = variantFiles(image), shown = made.length > 3 ? made.slice(0, 2) : made;
  return [
    shown.map((file) => make("span", { class: "variant" }, make("b", {}, file.name), " ",
      file.error ? make("span", { class: "bad" }, "failed") : [file.bytes === null ? null : isOver(file)
        ? make("b", { class: "bad", title: "over the budget" }, bytes(file.bytes)) : bytes(file.bytes), " ", saving(image, file)])),
    made.length > shown.length ? make("span", { class: "variant" }, `and ${made.length - shown.length} more`) : null,
  ];
}

/** The placeholder with the picture on top; null if an image has neither. */
function picture(image) {
  const file = tileFile(image), canvas = image.hash ? placeholder(image.hash) : null;
  const source = file ? address(file) : null;
  if (!canvas && source === null) return null;
  const overlay = (text) => make("span", { class: "overlay bad" }, text);
  const view = make("span", { class: "picture" }, canvas,
    source === undefined ? make("span", { class: "quiet" }, "loading") : null,
    source ? make("img", { src: source, alt: "", decoding: "async",
      onerror: (event) => event.currentTarget.replaceWith(overlay("cannot be shown")) }) : null,
    image.frames > 1 ? make("span", { class: "badge" }, `${image.frames} frames`) : null,
    image.outcome === 0 ? null : overlay(source ? "variant failed" : outcomes[image.outcome]));
  if (image.color) view.style.backgroundColor = image.color;
  return view;
}

/** A tile, or a low one with outcome and error if there is no picture. `open` shows the large view. */
function tile(image, open) {
  const view = picture(image), first = original(image);
  const kind = image.outcome === 1 ? " bad" : "";
  const text = image.outcome === 0 ? (first ? facts(first) : "nothing new")
    : image.error || image.files.find((file) => file.error)?.error || outcomes[image.outcome];
  return make("button", { type: "button", class: view ? "item" : "item bare", title: image.url, "data-key": image.key, onclick: open },
    view ?? make("span", { class: "state" + kind }, image.outcome === 0 ? "no picture" : outcomes[image.outcome]),
    make("span", { class: "name" }, shortName(image.url)), make("span", { class: "folder" }, folder(image.url)),
    make("span", { class: "facts" + kind }, text), strip(image));
}

/** Original and variant on top of each other with a slider between them. Null without a picture. */
function comparison(image) {
  const files = image.files.filter((file) => address(file));
  const first = files.find((file) => file.name === "original");
  const rest = files.filter((file) => file !== first);
  const shape = (box, file) => {
    const ratio = file.width && file.height ? file.width / file.height : 1;
    box.style.aspectRatio = String(ratio);
    box.style.width = `min(100%, ${Math.round(420 * Math.min(ratio, 2.1))}px)`;
    return box;
  };
  if (!first || rest.length === 0) {
    const only = files[0];
    if (only) return shape(make("div", { class: "compare" }, make("img", { src: address(only), alt: only.name })), only);
    const canvas = image.hash ? placeholder(image.hash) : null;
    return canvas ? shape(make("div", { class: "compare" }, canvas), original(image) ?? {}) : null;
  }
  const above = make("img", { src: address(rest[0]), alt: rest[0].name });
  const border = make("span", { class: "border", "aria-hidden": "true" });
  const slider = make("input", { type: "range", class: "slider", min: "0", max: "100", value: "50", id: "slider" });
  const cut = () => {
    above.style.clipPath = `inset(0 0 0 ${slider.value}%)`;
    border.style.left = `${slider.value}%`;
  };
  slider.oninput = cut;
  const box = shape(make("div", { class: "compare" }, make("img", { src: address(first), alt: "original" }), above, border), first);
  slider.style.width = box.style.width;
  cut();
  const choice = make("select", { id: "variant" }, rest.map((file, place) => make("option", { value: place }, file.name)));
  choice.onchange = () => { above.src = address(rest[choice.value]); above.alt = rest[choice.value].name; };
  const whole = make("button", { type: "button", "aria-pressed": "false", onclick: () => {
    const isWhole = whole.getAttribute("aria-pressed") === "false";
    whole.setAttribute("aria-pressed", String(isWhole));
    frame.classList.toggle("whole", isWhole);
    if (!isWhole) { shape(box, first); return; }
    box.style.width = `${first.width}px`;
  } }, "100 %");
  const frame = make("div", { class: "frame", tabindex: "0", role: "region", "aria-label": "Comparison" }, box);
  return [
    make("div", { class: "controls" }, make("label", {}, "Variant", choice), isPreview || !first.width ? null : whole), frame, slider,
    make("label", { for: "slider", class: "quiet" }, "Left of the border is the original, right of it the variant.",
      isPreview ? " These are small previews: the page of the batch in larder serve compares the files." : null),
  ];
}

/** Copies a text, also in an insecure context, which has no `navigator.clipboard`. */
async function copy(text, button) {
  const title = button.dataset.title ||= button.textContent;
  let isCopied = true;
  try { await navigator.clipboard.writeText(text); } catch {
    // Next to the button, because a dialog makes everything outside inert.
    const area = make("textarea", { class: "copied", readonly: "", "aria-hidden": "true" });
    area.value = text;
    button.after(area);
    area.select();
    isCopied = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = isCopied ? "Copied" : "Cannot copy";
  setTimeout(() => { button.textContent = title; }, 2000);
}

const copyButton = (text, title) => make("button", {
  type: "button", "aria-label": "Copy " + title, onclick: (event) => copy(text, event.currentTarget),
}, "Copy " + title);

/** Shows an image of a list; the arrow keys go to the next one. The address names it, and going back closes it.
 * `isNamed` is true when the address has named it before. */
function openImage(images, start, isNamed = false) {
  let place = start;
  const close = make("button", { value: "close", "aria-label": "Close" }, "Close");
  const step = (by, text) => make("button", { type: "button", "aria-label": text, onclick: () => go(by) }, by < 0 ? "‹" : "›");
  const heading = make("h2", {}), body = make("div", {}), count = make("span", { class: "quiet" });
  const dialog = make("dialog", { class: "wide", "aria-label": "Image" },
    make("form", { method: "dialog", class: "head" }, heading,
      make("span", { class: "steps" }, count, images.length > 1 ? [step(-1, "Previous image"), step(1, "Next image")] : null, close)), body);
  const pair = (text, title) => make("div", { class: "pair" }, make("code", {}, text), copyButton(text, title));
  async function fill() {
    const image = images[place];
    const state = outcomes[image.outcome] + (image.attempts > 1 ? ` after ${image.attempts} attempts` : "");
    heading.textContent = shortName(image.url);
    count.textContent = images.length > 1 ? `${place + 1} of ${images.length}` : "";
    const view = make("div", {});
    body.replaceChildren(pair(image.url, "URL"),
      make("p", { class: image.outcome === 1 ? "bad" : "quiet" }, state + (image.error ? ": " + image.error : "")),
      make("div", { class: "sight" }, view, image.files.length === 0 ? null
        : make("ul", { class: "files", "aria-label": "Files, with their keys and paths in the cache" }, image.files.map((file) => make("li", {},
          make("b", {}, file.name), " ", make("span", { class: file.error ? "bad" : "quiet" }, file.error || facts(file)), " ", saving(image, file),
          pair(file.key, "key"), file.path ? pair(file.path, "path") : null)))));
    await Promise.all(image.files.map(load));
    const shown = comparison(image);
    // A page without room for a picture has one column.
    if (shown === null) view.remove(); else view.append(...[shown].flat());
  }
  function go(by) {
    place = (place + by + images.length) % images.length;
    history.replaceState(null, "", fragment(images[place]));
    fill();
  }
  dialog.onkeydown = (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key) || event.target.matches("input, select, .whole")) return;
    event.preventDefault();
    go(event.key === "ArrowLeft" ? -1 : 1);
  };
  const closeBack = () => { if (!/image=\d+$/.test(location.hash)) dialog.close("back"); };
  window.addEventListener("popstate", closeBack);
  dialog.addEventListener("close", () => {
    window.removeEventListener("popstate", closeBack);
    dialog.remove();
    if (dialog.returnValue === "back") return;
    if (isNamed) history.replaceState(null, "", fragment(null)); else history.back();
  });
  document.body.append(dialog);
  if (!isNamed) history.pushState(null, "", fragment(images[place]));
  dialog.showModal();
  return fill();
}
