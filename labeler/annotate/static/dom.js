// Elements from plain text. Nothing here reads markup: every text becomes a text node.

export const byId = (id) => document.getElementById(id);

export function element(name, { text, ...attributes } = {}, children = []) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(attribute, value === true ? "" : value);
  }
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

// A button that says its key, and is found by it.
export function keyedButton(label, key, press, attributes = {}) {
  const button = element("button", { type: "button", "aria-keyshortcuts": key, ...attributes });
  button.append(label, " ", element("kbd", { text: key }));
  button.addEventListener("click", press);
  return button;
}

export const counted = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
