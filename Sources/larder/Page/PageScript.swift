/// What the scripts of the dashboard and of reports share; it comes before them.
enum PageScript {
    static let text = #"""
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

        """#
}
