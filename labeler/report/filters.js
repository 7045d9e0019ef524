"use strict";
// Shows the form that filters rows, and hides the rows that it leaves out. Without this all are shown.
for (const form of document.querySelectorAll("form.filters")) {
  const rows = [...document.querySelectorAll(".filtered > details")];
  const texts = new Map();
  const has = (row, words) => {
    if (!words) return true;
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row).includes(words);
  };
  const apply = () => {
    const words = form.elements.words.value.trim().toLowerCase();
    const size = Number(form.elements.size.value) || 0;
    const choices = [...form.querySelectorAll("select")].filter((each) => each.value);
    let shown = 0;
    for (const row of rows) {
      const kept = Number(row.dataset.size) >= size &&
        choices.every((each) => row.dataset[each.name] === each.value) && has(row, words);
      row.hidden = !kept;
      shown += kept;
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} queries`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
}
