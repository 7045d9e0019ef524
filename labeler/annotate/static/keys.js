// Which key means what. Digits and letters work on every keyboard layout: where a layout yields
// another sign (AZERTY's digits, Cyrillic letters), the key's position counts.

const SPARE = "qwrtyfghjkl"; // for grades that are no single digit, as -1 or 10

export function gradeKeys(grades) {
  const spare = SPARE[Symbol.iterator]();
  return grades.map((grade) => (grade >= 0 && grade <= 9 ? String(grade) : spare.next().value ?? ""));
}

export function keyOf(event, bound) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (bound.has(key)) return key;
  if (event.shiftKey || /^[\x20-\x7e]$/.test(key) && !/^Digit/.test(event.code)) return "";
  const position = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(event.code ?? "");
  const meant = position ? (position[1] ?? position[2]).toLowerCase() : "";
  return bound.has(meant) ? meant : "";
}

const TYPED_INTO = "textarea, select, input:not([type=checkbox])";

// Calls the action that is bound to a key, unless somebody types, a dialog is open, or the key
// belongs to the browser. A key that is held down counts once.
export function listen(bindings, isOn) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(TYPED_INTO) || document.querySelector("dialog[open]")) return;
    const bound = bindings();
    const key = keyOf(event, bound);
    if (!key || !isOn(key)) return;
    if (event.key === "Enter" && event.target.closest?.("button, a, label")) return;
    event.preventDefault();
    if (!event.repeat) bound.get(key)();
  });
}
