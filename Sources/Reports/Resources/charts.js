// Charts: SVG between text axes, with a legend. Failures are striped in two shades, so that charts can be read without
// telling colours apart. Columns have no gaps.

const rect = (x, y, width, height, fill) => svg("rect", { x, y, width, height, ...fill });

/** A plot with three marks on the left, some below, and a legend of [kind, name]; `mark` is the text of a mark. */
function plot(title, top, times, legend, label, mark, ...content) {
  const marks = [top, top / 2, 0].map((value) => make("span", {}, mark(Math.round(value * 10) / 10)));
  return make("figure", { class: "chart" },
    make("figcaption", {}, make("b", {}, title), legend.map(([kind, name]) =>
      make("span", { class: "legend" }, make("i", { class: "key-" + kind, "aria-hidden": "true" }), name))),
    make("div", { class: "plot" }, make("div", { class: "left", "aria-hidden": "true" }, marks),
      svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": label },
        ...[0, 50, 100].map((y) => svg("line", { x1: 0, x2: 1000, y1: y, y2: y, class: "grid" })), ...content),
      make("div", { class: "below", "aria-hidden": "true" }, times.map((text) => make("span", {}, text)))));
}

/** The smallest round number of at least a value whose half is round too: 2, 4, 6, 8, 10, 12, 16, 20, 30 … */
function roundTop(value) {
  const small = [2, 4, 6, 8].find((top) => top >= value);
  if (small) return small;
  for (let unit = 1; ; unit *= 10) {
    const step = [10, 12, 16, 20, 30, 40, 50, 60, 80].find((factor) => factor * unit >= value);
    if (step) return step * unit;
  }
}

const stripes = (id) => svg("defs", {}, svg("pattern",
  { id, width: 20, height: 4, patternUnits: "userSpaceOnUse" },
  rect(0, 0, 20, 4, { class: "between" }), rect(0, 0, 20, 2, { class: "stripe" })));

/** Stacked columns in the order of the legend; `list` has the values and text of each. */
function columns(id, title, list, times, legend, label, mark = number) {
  const top = roundTop(Math.max(1, ...list.map(({ values }) => values.reduce((sum, value) => sum + value, 0))));
  const width = 1000 / list.length;
  const parts = list.map(({ values, text }, place) => {
    let y = 100;
    const bars = values.map((value, part) => {
      const height = value * 100 / top, kind = legend[part][0];
      y -= height;
      return rect(place * width + width * 0.1, y, width * 0.8, height,
        kind === "bad" ? { fill: `url(#${id})` } : { class: "fill-" + kind });
    });
    return svg("g", {}, svg("title", {}, text), ...bars.filter((_, part) => values[part] > 0));
  });
  return plot(title, top, times, legend, label, mark, stripes(id), ...parts);
}

/** The stages of a job with their colours. */
const jobStages = [["quiet", "wait"], ["accent", "fetch"], ["warn", "transcode"], ["good", "store"]];

/** A table cell with the stages' times in a row; the full width stands for `top` ms. */
function waterfall(row, top) {
  let x = 0;
  const parts = jobStages.map(([kind, stage]) => {
    const width = row[stage] * 100 / Math.max(1, top);
    x += width;
    return rect(x - width, 0, width, 8, { class: "fill-" + kind });
  });
  const text = jobStages.map(([, stage]) => `${stage} ${took(row[stage])}`).join(", ");
  return make("div", { class: "bar", title: text }, svg("svg",
    { viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": text }, ...parts));
}

/** A table cell's bar; `value` of `top` is its share of the width. */
const share = (value, top, kind = "accent") => make("div", { class: "bar", "aria-hidden": "true" },
  svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none" },
    rect(0, 0, Math.min(100, top > 0 ? value * 100 / top : 0), 8, { class: "fill-" + kind })));
