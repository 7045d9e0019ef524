// How high the parts are that stay in sight, for the style sheet: what scrolls stops beside them.

import { byId } from "./dom.js";

const NAMES = [["query", "--top-height"], ["top", "--top-height"], ["actions", "--bottom-height"]];

export function watchHeights() {
  const heights = new ResizeObserver(measure);
  for (const [id] of NAMES) heights.observe(byId(id));
  addEventListener("resize", measure);
}

export function measure() {
  const query = byId("query"); // a long one scrolls in itself, which the Tab key must reach
  query.tabIndex = query.scrollHeight > query.clientHeight + 1 ? 0 : -1;
  for (const [id, name] of NAMES) {
    const part = byId(id), style = getComputedStyle(part);
    const beside = id === "actions" && style.bottom === "auto";
    if (style.display === "contents" || (id === "query" && style.position !== "sticky")) continue;
    const height = style.position === "sticky" && !beside ? part.offsetHeight : 0;
    document.documentElement.style.setProperty(name, `${height}px`);
  }
}
