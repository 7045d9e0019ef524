// A document as it is read: its path, its title, its paragraphs, and what is folded of them.

import { counted, element } from "./dom.js";

const MORE = 300; // words that one key opens before the passage, and behind it
const LARGE = 400; // paragraphs beyond which the browser lays out only those in sight

export class DocumentView {
  constructor(shown, opened) {
    this.paragraphs = shown.paragraphs;
    const unfolded = this.paragraphs.findIndex((paragraph) => !paragraph.folded);
    this.first = Math.max(0, unfolded);
    this.last = this.paragraphs.findLastIndex((paragraph) => !paragraph.folded) + 1;
    this.start = [this.first, this.last];
    this.body = element("div", { class: "text", lang: shown.language || undefined });
    this.before = fold(() => this.openMore(true, false));
    this.behind = fold(() => this.openMore(false, true));
    this.node = this.article(shown);
    this.fill(opened);
  }

  article(shown) {
    const title = shown.title ? element("h2", { dir: "auto" }, shown.title_runs.map(runNode)) : "";
    const path = element("p", { class: "path" }, [element("bdi", { text: shown.path || shown.id })]);
    const large = this.paragraphs.length > LARGE ? "document large" : "document";
    const label = `Document ${shown.title || shown.path || shown.id}`;
    return element("article", { class: large, "aria-label": label }, [
      path, title, this.before, this.body, this.behind,
    ]);
  }

  fill(opened) {
    if (!this.paragraphs.length) {
      this.body.append(element("p", { class: "empty", text: "This document has no text." }));
    }
    this.body.append(...this.nodes(this.first, this.last));
    if (opened) this.open(opened[0], opened[1]);
    this.tell();
  }

  nodes(first, last) {
    return this.paragraphs.slice(first, last).map(paragraphNode);
  }

  words(first, last) {
    return this.paragraphs.slice(first, last).reduce((sum, { words }) => sum + words, 0);
  }

  get isFolded() {
    return this.first > 0 || this.last < this.paragraphs.length;
  }

  get opened() {
    return this.first < this.start[0] || this.last > this.start[1] ? [this.first, this.last] : null;
  }

  // The passage stays where it is on the screen while text opens before it.
  open(first, last) {
    const passage = this.body.firstElementChild;
    const top = passage?.getBoundingClientRect().top ?? 0;
    this.body.prepend(...this.nodes(first, this.first));
    this.body.append(...this.nodes(this.last, last));
    [this.first, this.last] = [Math.min(first, this.first), Math.max(last, this.last)];
    this.tell();
    if (passage?.isConnected) scrollBy(0, passage.getBoundingClientRect().top - top);
  }

  openMore(before = true, behind = true) {
    let [first, last] = [this.first, this.last];
    while (before && first > 0 && (first === this.first || this.words(first - 1, this.first) <= MORE)) first--;
    while (behind && last < this.paragraphs.length && (last === this.last || this.words(this.last, last + 1) <= MORE)) last++;
    this.open(first, last);
  }

  openAll() {
    this.open(0, this.paragraphs.length);
  }

  close() {
    [this.first, this.last] = this.start;
    this.body.replaceChildren(...this.nodes(this.first, this.last));
    this.tell();
  }

  tell() {
    setFold(this.before, this.words(0, this.first), "above", "↑");
    setFold(this.behind, this.words(this.last, this.paragraphs.length), "below", "↓");
  }
}

function paragraphNode({ runs, preformatted }) {
  return element(preformatted ? "pre" : "p", { dir: "auto" }, runs.map(runNode));
}

const runNode = ([text, marked]) => (marked ? element("mark", { text }) : text);

function fold(press) {
  const button = element("button", { type: "button", class: "fold", "aria-keyshortcuts": "e" });
  button.addEventListener("click", press);
  return button;
}

function setFold(button, words, where, arrow) {
  button.hidden = words === 0;
  const label = `${arrow} ${counted(words, "word")} folded ${where} `;
  button.replaceChildren(label, element("kbd", { text: "e" }), " more");
}
