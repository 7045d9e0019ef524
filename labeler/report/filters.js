"use strict";
// Shows the form that filters and sorts rows. Without this all are shown, as they stand.
for (const form of document.querySelectorAll("form.filters")) {
  const rows = [...document.querySelectorAll(".filtered > details")];
  const { words, size, order } = form.elements;
  const texts = new Map();
  const has = (row, asked) => {
    if (!asked) return true;
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row).includes(asked);
  };
  const filter = () => {
    const asked = words.value.trim().toLowerCase();
    const facts = [...form.querySelectorAll("select")].filter((each) => each !== order && each.value);
    let shown = 0;
    for (const row of rows) {
      const kept = Number(row.dataset.size || 0) >= (Number(size.value) || 0) &&
        facts.every((each) => row.dataset[each.name] === each.value) && has(row, asked);
      row.hidden = !kept;
      shown += kept;
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} queries`;
  };
  const sort = () => {
    const [place, sign] = order.value.split(" ").map(Number);
    const figure = (row) => row.querySelector("summary").children[place + 1].lastChild.textContent;
    const value = (row) => sign * parseFloat(figure(row).replaceAll(",", ""));
    const key = (row, at) => !sign ? at : Number.isNaN(value(row)) ? Infinity : value(row);
    const keys = new Map(rows.map((row, at) => [row, key(row, at)]));
    for (const list of document.querySelectorAll(".filtered")) {
      const own = rows.filter((row) => row.parentNode === list);
      list.append(...own.sort((one, other) => keys.get(one) - keys.get(other)));
    }
  };
  form.addEventListener("input", filter);
  order.addEventListener("change", sort);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
}
