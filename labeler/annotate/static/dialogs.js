// The instructions and the list of keys, each reached with a key.

import { keepSetting, readSetting } from "./drafts.js";
import { byId, element } from "./dom.js";

const keysOf = (noun) => [
  ["s", `skip: the ${noun} comes again at the end`],
  ["c", "cannot judge, as of a broken text; no grade is saved"],
  ["n", "write a note; Esc leaves it"],
  ["u", "undo the last answer"],
  ["b or Backspace", `back to the ${noun} before`],
  ["v", "forward again"],
  ["e", "open more of a folded text"],
  ["a", "show all of it; once more folds it again"],
  ["Space, arrows", "scroll"],
  ["i", "instructions"],
  ["?", "these keys"],
];

export function fillHelp(choices, said, noun) {
  const answers = choices.filter(({ key }) => key).map((choice) => [
    choice.also ? `${choice.key} or ${choice.also.replace("Arrow", "arrow ").toLowerCase()}` : choice.key,
    said(choice),
  ]);
  byId("help-keys").replaceChildren(...[...answers, ...keysOf(noun)].flatMap(([key, meaning]) => [
    element("dt", {}, [element("kbd", { text: key })]),
    element("dd", { text: meaning }),
  ]));
}

// Plain text: blank lines part paragraphs, "# " begins a heading, "- " an item of a list.
export function fillInstructions(session) {
  const scale = (session.scale ?? []).flatMap(({ grade, name, description }) => [
    element("dt", { text: name ? `${grade}, ${name}` : String(grade) }),
    element("dd", { text: description || "" }),
  ]);
  const parts = (session.instructions ?? "").split(/\n\s*\n/).filter((part) => part.trim());
  const nodes = parts.map(instruction);
  if (scale.length) nodes.unshift(element("dl", { class: "scale" }, scale));
  byId("instructions-text").replaceChildren(...nodes);
}

function instruction(part) {
  const lines = part.trim().split("\n");
  const heading = /^#{1,6} (.*)$/.exec(lines[0]);
  if (heading && lines.length === 1) return element("h3", { text: heading[1] });
  if (!lines[0].startsWith("- ")) return element("p", { class: "lines", text: lines.join("\n") });
  const items = lines.join("\n").slice(2).split(/\n- /);
  return element("ul", {}, items.map((text) => element("li", { text: text.replace(/\n\s*/g, " ") })));
}

export function openDialog(id) {
  byId(id).showModal();
}

export function watchDialogs() {
  for (const [id, key] of [["instructions", "i"], ["help", "?"]]) {
    byId(`open-${id}`).addEventListener("click", () => openDialog(id));
    byId(id).addEventListener("keydown", (event) => {
      if (event.key === key && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        byId(id).close();
      }
    });
  }
}

// One key alone is in the way of those who dictate: it can be switched off.
export function watchSingleKeys() {
  const box = byId("single-keys");
  box.checked = readSetting("single-keys", "on") === "on";
  box.addEventListener("change", () => keepSetting("single-keys", box.checked ? "on" : "off"));
  return () => box.checked;
}
