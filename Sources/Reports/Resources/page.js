// What the scripts of the dashboard and of reports share; it comes before them.

"use strict";
/** An element with attributes and children; texts become text nodes. */
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element[key] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (value >= 1024 && place < units.length - 1) { value /= 1024; place += 1; }
  return (place === 0 ? value : value.toFixed(1)) + " " + units[place];
}

const clock = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  hourCycle: "h23", timeZoneName: "short",
});
/** A time of ISO 8601 where the reader is, `2026-01-31 14:05:09 GMT+1`. */
function localTime(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const part = Object.fromEntries(clock.formatToParts(date).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName}`;
}
