// The instructions and the list of keys, each reached with a key.

import { keepSetting, readSetting } from "./drafts.js";
import { byId, element } from "./dom.js";

const KEYS = [
  ["s", "skip: the pair comes again at the end"],
  ["c", "cannot judge, as of a broken text; no grade is saved"],
  ["n", "write a note; Esc leaves it"],
  ["u", "undo the last answer"],
  ["b or Backspace", "back to the pair before"],
  ["v", "forward again"],
  ["e", "open more of a folded text"],
  ["a", "show all of it; once more folds it again"],
  ["Space, arrows", "scroll"],
  ["i", "instructions"],
  ["?", "these keys"],
];

export function fillHelp(choices, said) {
  const answers = choices.filter(({ key }) => key).map((choice) => [
    choice.also ? `${choice.key} or ${choice.also.replace("Arrow", "arrow ").toLowerCase()}` : choice.key,
    said(choice),
  ]);
  byId("help-keys").replaceChildren(...[...answers, ...KEYS].flatMap(([key, meaning]) => [
    element("dt", {}, [element("kbd", { text: key })]),
    element("dd", { text: meaning }),
  ]));
}

// Plain text, whose blank lines part paragraphs.
export function fillInstructions(session) {
  const scale = session.scale.flatMap(({ grade, name, description }) => [
    element("dt", { text: name ? `${grade}, ${name}` : String(grade) }),
    element("dd", { text: description || "" }),
  ]);
  const nodes = session.instructions.trim().split(/\n\s*\n/).map((text) => element("p", { class: "lines", text }));
  if (scale.length) nodes.unshift(element("dl", { class: "scale" }, scale));
  byId("instructions-text").replaceChildren(...nodes);
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
