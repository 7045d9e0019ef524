// What is seen of an item: the query with its topic, its document, and how far the rater is.

import { DocumentView } from "./documents.js";
import { byId, counted, element } from "./dom.js";

export function showQuery(item) {
  byId("query").textContent = item.query.text;
  const topic = byId("topic");
  topic.replaceChildren();
  for (const part of [item.query.description, item.query.narrative]) {
    if (part) topic.append(element("p", { dir: "auto", text: part }));
  }
}

export function showDocument(item, opened) {
  const view = new DocumentView(item.document, opened);
  const notices = item.notice ? [element("p", { class: "notice", text: item.notice })] : [];
  byId("main").replaceChildren(...notices, view.node);
  return view;
}

export function showProgress({ done, of, skipped }) {
  const bar = byId("done");
  bar.max = Math.max(1, of);
  bar.value = done;
  const parts = [`${done.toLocaleString("en")} of ${of.toLocaleString("en")} done`];
  if (skipped) parts.push(`${skipped.toLocaleString("en")} skipped`);
  byId("progress").textContent = parts.join(" · ");
  document.title = `${done}/${of} – labeler`;
}

export function showEnd(progress, buttons) {
  const done = progress.skipped ? "Only what you skipped is left." : "That was all. Thank you!";
  byId("query").textContent = progress.of === 0 ? "Nothing is here to be judged." : done;
  byId("topic").replaceChildren();
  const skipped = progress.skipped ? `, ${progress.skipped.toLocaleString("en")} skipped` : "";
  const text = `${counted(progress.done, "answer")} saved${skipped}.`;
  byId("main").replaceChildren(
    element("p", { text }),
    element("p", { class: "buttons" }, buttons),
  );
}
