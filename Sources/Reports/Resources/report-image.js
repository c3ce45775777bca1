// The part of a report's script that draws one image: in the gallery, and large with its variants.

/** Draws a ThumbHash (https://evanw.github.io/thumbhash/) on a canvas; null for one that is not valid. */
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

/**
 * Placeholder, indicator, then the picture, which fades in, or an error: the states of SDWebImage's views. Null
 * for an image without any.
 */
function picture(item) {
  const canvas = item.hash ? placeholder(item.hash) : null;
  const file = item.files.find((file) => file.picture);
  // The smallest file of the cache, of a megabyte at most.
  const served = file ? null : item.files.filter((one) => address(one) && one.bytes < 1 << 20)
    .sort((a, b) => a.bytes - b.bytes)[0];
  if (!canvas && !file && !served) return null;
  const view = make("span", { class: "picture" });
  if (item.color) view.style.backgroundColor = item.color;
  if (canvas) view.append(canvas);
  const overlay = (text) => view.append(make("span", { class: "overlay bad" }, text));
  if (file || served) {
    const indicator = make("span", { class: "indicator", "aria-hidden": "true" });
    const image = make("img", { alt: "", decoding: "async", loading: file ? null : "lazy" });
    image.onload = () => { indicator.remove(); image.classList.add("shown"); };
    image.onerror = () => { indicator.remove(); image.remove(); overlay("cannot be shown"); };
    image.src = file ? file.picture : address(served);
    view.append(indicator, image);
    if (item.outcome === 1) overlay("variant failed");
  } else if (item.outcome !== 0) {
    overlay(outcomes[item.outcome]);
  }
  if (item.frames > 1) view.append(make("span", { class: "badge" }, `${item.frames} frames`));
  return view;
}

/** Original and variant above each other; the slider moves the border between them. */
function comparison(item) {
  const files = item.files.filter((file) => file.picture || address(file));
  const source = (file) => file.picture || address(file);
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
    if (only) return shape(make("div", { class: "compare" }, make("img", { src: source(only), alt: only.name })), only);
    const canvas = item.hash ? placeholder(item.hash) : null;
    return canvas ? shape(make("div", { class: "compare" }, canvas), original(item) || {}) : null;
  }
  const above = make("img", { src: source(rest[0]), alt: rest[0].name });
  const border = make("span", { class: "border", "aria-hidden": "true" });
  const slider = make("input", { type: "range", class: "slider", min: "0", max: "100", value: "50", id: "slider" });
  const cut = () => {
    above.style.clipPath = `inset(0 0 0 ${slider.value}%)`;
    border.style.left = `${slider.value}%`;
  };
  slider.oninput = cut;
  const box = shape(make("div", { class: "compare" },
    make("img", { src: source(first), alt: "original" }), above, border), first);
  slider.style.width = box.style.width;
  cut();
  const choice = make("select", { id: "variant" }, rest.map((file, place) => make("option", { value: place }, file.name)));
  choice.onchange = () => { above.src = source(rest[choice.value]); above.alt = rest[choice.value].name; };
  return [
    make("div", { class: "controls" }, make("label", {}, "Variant", choice)), box, slider,
    make("label", { for: "slider", class: "quiet" }, "Left of the border is the original, right of it the variant."),
  ];
}

/** Copies a text, also where the page is no secure context and has no `navigator.clipboard`. */
async function copy(text, button) {
  const title = button.dataset.title ||= button.textContent;
  let isCopied = true;
  try { await navigator.clipboard.writeText(text); } catch {
    // Next to the button, because a dialog makes all outside it inert.
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

function open(item) {
  const pair = (text, title) => make("div", { class: "pair" }, make("code", {}, text), copyButton(text, title));
  const rows = item.files.map((file) => make("li", {},
    make("b", {}, link(file) ? make("a", { href: link(file) }, file.name) : file.name), " ",
    make("span", { class: file.error ? "bad" : "quiet" }, file.error || facts(file)),
    pair(file.key, "key"), file.path ? pair(file.path, "path") : null));
  const view = comparison(item);
  const close = make("button", { "aria-label": "Close" }, "Close");
  const state = outcomes[item.outcome] + (item.attempts > 1 ? ` after ${item.attempts} attempts` : "");
  const dialog = make("dialog", { class: "wide", "aria-label": "Image" },
    make("form", { method: "dialog", class: "head" }, make("h2", {}, shortName(item.url)), close),
    pair(item.url, "URL"),
    make("p", { class: item.outcome === 1 ? "bad" : "quiet" }, state + (item.error ? ": " + item.error : "")),
    make("div", { class: view ? "sight" : null }, view ? make("div", {}, view) : null,
      rows.length === 0 ? null
        : make("ul", { class: "files", "aria-label": "Files, with their keys and paths in the cache" }, rows)));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
