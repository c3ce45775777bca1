/// The script of a report, which shows the images of its data.
///
/// Every text of the data goes through `textContent` or `setAttribute`, never through markup.
enum ReportScript {
    static let text = #"""
        const data = JSON.parse(document.getElementById("data").textContent);
        const gallery = document.getElementById("gallery");
        const portion = 48;
        const outcomes = ["succeeded", "failed", "cancelled"];

        const items = data.items.map(([url, outcome, error, files, hash, color, frames], place) => ({
          url, outcome, hash, color, frames, place, error: error === null ? null : data.errors[error],
          files: files.map(([name, key, path, format, width, height, bytes, picture, failure, unchanged]) => ({
            name: name === null ? "original" : data.names[name], key: key === null ? url : key, path, width, height, bytes,
            format: format === null ? null : data.formats[format], picture: picture === null ? null : data.pictures[picture],
            error: failure === null ? null : data.errors[failure], unchanged,
          })),
        }));

        /** The last part of the path of a URL. */
        const shortName = (url) => url.split(/[?#]/)[0].split("/").filter((part) => part).pop() || url;
        const size = (item) => item.files.reduce((sum, file) => sum + (file.bytes || 0), 0);
        const facts = (file) => [file.format, file.width ? `${file.width} × ${file.height}` : null,
          file.bytes === null ? null : bytes(file.bytes), file.unchanged ? "unchanged" : null].filter((part) => part).join(", ");

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

        /** The placeholder, and the picture that fades in above it. */
        function picture(item, file) {
          const view = make("span", { class: "picture" });
          if (item.color) view.style.backgroundColor = item.color;
          const canvas = item.hash ? placeholder(item.hash) : null;
          if (canvas) view.append(canvas);
          if (file && file.picture) {
            const image = make("img", { alt: "", decoding: "async" });
            image.onload = () => image.classList.add("shown");
            image.onerror = () => image.remove();
            image.src = file.picture;
            view.append(image);
          } else if (item.outcome === 1 && !canvas) {
            view.classList.add("failed");
            view.append("failed");
          }
          return view;
        }

        function tile(item) {
          const original = item.files.find((file) => file.name === "original");
          const made = item.files.filter((file) => file.name !== "original" && file.path).length;
          const text = item.outcome === 0
            ? [original ? facts(original) : "nothing new", made > 0 ? `${made} ${made === 1 ? "variant" : "variants"}` : null]
              .filter((part) => part).join(", ")
            : outcomes[item.outcome];
          return make("button", { type: "button", class: "item", title: item.url, onclick: () => open(item) },
            picture(item, item.files.find((file) => file.picture)),
            make("span", { class: "name" }, shortName(item.url)),
            make("span", { class: "facts" + (item.outcome === 1 ? " bad" : "") }, text));
        }

        /** Original and variant above each other; the slider moves the border between them. */
        function comparison(item) {
          const files = item.files.filter((file) => file.picture);
          const original = files.find((file) => file.name === "original");
          const variants = files.filter((file) => file !== original);
          if (!original || variants.length === 0) {
            if (files.length > 0) return make("div", { class: "compare" }, make("img", { src: files[0].picture, alt: files[0].name }));
            const canvas = item.hash ? placeholder(item.hash) : null;
            return canvas ? make("div", { class: "compare" }, canvas) : null;
          }
          const above = make("img", { src: variants[0].picture, alt: variants[0].name });
          const slider = make("input", { type: "range", class: "slider", min: "0", max: "100", value: "50", id: "slider" });
          const cut = () => { above.style.clipPath = `inset(0 0 0 ${slider.value}%)`; };
          slider.oninput = cut;
          cut();
          const choice = make("select", { id: "variant" }, variants.map((file, place) => make("option", { value: place }, file.name)));
          choice.onchange = () => { above.src = variants[choice.value].picture; above.alt = variants[choice.value].name; };
          return [
            make("div", { class: "compare" }, make("img", { src: original.picture, alt: "original" }), above),
            make("label", { for: "slider", class: "quiet" }, "original on the left, variant on the right"), slider,
            make("div", { class: "controls" }, make("label", {}, "Variant", choice)),
          ];
        }

        const copyButton = (text, title) => make("button", {
          type: "button", "aria-label": "Copy " + title, onclick: async (event) => {
            const button = event.currentTarget;
            try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Not allowed"; }
          },
        }, "Copy " + title);

        function open(item) {
          const rows = item.files.map((file) => make("tr", {},
            make("td", {}, file.name), make("td", { class: "long" + (file.error ? " bad" : "") }, file.error || facts(file)),
            make("td", { class: "long" }, make("code", {}, file.key)),
            make("td", { class: "long" }, file.path ? make("code", {}, file.path) : "–"),
            make("td", {}, copyButton(file.key, "key"), file.path ? copyButton(file.path, "path") : null)));
          const close = make("button", {}, "Close");
          const dialog = make("dialog", { class: "wide", "aria-label": "Image" },
            make("h2", {}, shortName(item.url)), make("p", {}, make("code", {}, item.url)),
            make("p", { class: item.outcome === 1 ? "bad" : "quiet" }, outcomes[item.outcome] + (item.error ? ": " + item.error : "")),
            comparison(item),
            rows.length > 0 ? make("div", { class: "scroll", tabindex: "0" }, make("table", {},
              make("tr", {}, ["File", "Facts", "Key", "Path in the cache", "Copy"].map((title) => make("th", { scope: "col" }, title))), rows)) : null,
            make("form", { method: "dialog", class: "actions" }, close));
          dialog.addEventListener("close", () => dialog.remove());
          document.body.append(dialog);
          dialog.showModal();
        }

        let chosen = items, shown = 0;
        function more() {
          gallery.append(...chosen.slice(shown, shown + portion).map(tile));
          shown = Math.min(chosen.length, shown + portion);
          document.getElementById("more").hidden = shown >= chosen.length;
          document.getElementById("count").textContent = `${shown.toLocaleString("en-US")} of ${chosen.length.toLocaleString("en-US")} shown`;
        }

        const orders = {
          none: (a, b) => a.place - b.place, url: (a, b) => a.url < b.url ? -1 : a.url > b.url ? 1 : 0,
          large: (a, b) => size(b) - size(a), small: (a, b) => size(a) - size(b),
        };
        function choose() {
          const words = document.getElementById("search").value.trim().toLowerCase();
          const filter = document.getElementById("filter").value, order = document.getElementById("order").value;
          chosen = items.filter((item) => (filter === "all" || item.outcome === Number(filter)) && (words === ""
            || item.url.toLowerCase().includes(words) || item.files.some((file) => file.key.toLowerCase().includes(words))));
          chosen.sort(orders[order]);
          shown = 0;
          gallery.replaceChildren();
          more();
        }

        if (gallery) {
          document.querySelector(".controls").hidden = false;
          for (const id of ["filter", "order"]) document.getElementById(id).onchange = choose;
          document.getElementById("search").oninput = choose;
          document.getElementById("more").onclick = more;
          more();
        }

        """#
}
