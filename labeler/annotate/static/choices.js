// What can be answered: the choices with their keys, and how each is sent and said.

import { element } from "./dom.js";
import { gradeKeys } from "./keys.js";

export function choicesOf(session) {
  const keys = gradeKeys(session.scale.map(({ grade }) => grade));
  return session.scale.map(({ grade, name, description }, position) => (
    { key: keys[position], grade, name: name || `Grade ${grade}`, description }
  ));
}

export const CANNOT_JUDGE = { key: "c", name: "Cannot judge", cannot_judge: true };
export const SKIP = { key: "s", name: "Skip", skip: true };

// The answer as the server takes it.
export function asSent(choice, item, note, seconds) {
  return {
    item: item.id,
    grade: choice.grade ?? null,
    cannot_judge: choice.cannot_judge ?? false,
    skip: choice.skip ?? false,
    note,
    seconds,
  };
}

export function said(choice) {
  if (choice.grade === undefined) return choice.name;
  return choice.name === `Grade ${choice.grade}` ? choice.name : `${choice.grade}, ${choice.name}`;
}

export function isPrevious(choice, previous) {
  if (!previous) return false;
  if (choice.cannot_judge) return Boolean(previous.cannot_judge);
  return choice.grade !== undefined && previous.grade === choice.grade;
}

export function choiceButton(choice, previous, press) {
  const button = element("button", {
    type: "button",
    class: "choice",
    "aria-keyshortcuts": choice.key || undefined,
    "aria-pressed": isPrevious(choice, previous) ? "true" : undefined,
  });
  const name = element("span", { class: "name", text: choice.name });
  const text = choice.description ? [element("span", { class: "description", text: choice.description })] : [];
  const key = choice.key ? [element("kbd", { text: choice.key })] : [];
  button.append(...key, element("span", { class: "words" }, [name, " ", ...text]));
  if (isPrevious(choice, previous)) button.append(element("span", { class: "was", text: "your answer" }));
  button.addEventListener("click", () => press(choice));
  return button;
}
