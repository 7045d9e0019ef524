// The page: shows one item, sends its answer, and goes on only when the server has said "saved".

import * as api from "./api.js";
import { CANNOT_JUDGE, SKIP, asSent, choiceButton, choicesOf, said } from "./choices.js";
import { Clock } from "./clock.js";
import { fillHelp, fillInstructions, openDialog, watchDialogs, watchSingleKeys } from "./dialogs.js";
import { byId, keyedButton } from "./dom.js";
import { draftKey, dropDraft, keepDraft, readDraft } from "./drafts.js";
import { measure, watchHeights } from "./heights.js";
import { listen } from "./keys.js";
import { showDocument, showEnd, showProgress, showQuery } from "./views.js";

// Nobody reads a pair faster: a key that comes sooner was pressed twice, or meant the pair before.
const SOONEST = 250; // milliseconds

const NEW = "new", READY = "ready", SAVING = "saving", ENDED = "ended", STOPPED = "stopped";

const page = {
  session: null, choices: [], state: "loading", item: null, around: {}, view: null,
  clock: new Clock(), draft: "",
};

function enter(state) {
  page.state = state;
  document.body.dataset.state = state;
  const busy = state === SAVING || state === STOPPED;
  for (const button of document.querySelectorAll("#choices button, #others button")) {
    button.setAttribute("aria-disabled", String(busy)); // disabled would lose the focus
  }
}

const tell = (sentence) => { byId("status").textContent = sentence; };
const warn = (sentence) => { byId("alert").textContent = sentence; };

// --- showing an item

function take(answer, sentence) {
  const { item, progress, ...around } = answer;
  Object.assign(page, { item, around });
  showProgress(progress);
  tell(sentence);
  if (item) showItem(item);
  else showNoItem(progress);
  measure();
  byId("query").focus({ preventScroll: true });
  scrollTo(0, item ? readDraft(page.draft).scroll ?? 0 : 0);
}

function showItem(item) {
  page.draft = draftKey(page.session.rater, item);
  const draft = readDraft(page.draft);
  page.clock = new Clock(draft.seconds);
  showQuery(item);
  page.view = showDocument(item, draft.opened);
  byId("note").value = draft.note ?? item.previous?.note ?? page.around.undone?.note ?? "";
  document.body.dataset.note = byId("note").value ? "open" : "closed"; // where there is little room
  showButtons(item);
  enter(NEW);
  setTimeout(() => { if (page.state === NEW && page.item === item) enter(READY); }, SOONEST);
}

function showButtons(item) {
  byId("choices").hidden = byId("note-field").hidden = false;
  byId("choices").replaceChildren(...page.choices.map((c) => choiceButton(c, item.previous, answer)));
  byId("others").replaceChildren(
    choiceButton(CANNOT_JUDGE, item.previous, answer), choiceButton(SKIP, null, answer),
    keyedButton("Note", "n", openNote, { class: "way", id: "open-note" }), ...wayButtons());
}

function wayButtons() {
  const { before, after, can_undo: canUndo } = page.around;
  const buttons = [];
  if (canUndo) buttons.push(keyedButton("Undo", "u", undo, { class: "way" }));
  if (before) buttons.push(keyedButton("Back", "b", back, { class: "way" }));
  if (after && page.item?.previous) buttons.push(keyedButton("Forward", "v", forward, { class: "way" }));
  return buttons;
}

function showNoItem(progress) {
  const { first_skipped: skipped } = page.around;
  page.view = null;
  byId("choices").hidden = byId("note-field").hidden = true;
  byId("others").replaceChildren();
  const buttons = wayButtons();
  if (skipped) buttons.unshift(keyedButton("Judge what was skipped", "s", () => go(skipped), { class: "way" }));
  showEnd(progress, buttons);
  enter(ENDED);
}

// --- answering

async function answer(choice) {
  if (page.state === NEW) return tell("Not counted: this pair had only just appeared.");
  if (page.state !== READY) return undefined;
  const { item } = page;
  const sent = asSent(choice, item, byId("note").value.trim(), page.clock.seconds);
  return during(`Saving ${said(choice)} …`, async () => {
    const saved = await api.sendAnswer(sent);
    dropDraft(page.draft);
    take(saved, `${choice.skip ? "Skipped" : `Saved: ${said(choice)}`}. ${nextIs(saved)}`);
  });
}

const nextIs = ({ item }) => (item ? "Next pair." : "That was the last one.");

// Runs one request at a time. Whatever fails is said, and what is on the page stays.
async function during(sentence, act, failed = "Not saved.") {
  const { state } = page;
  enter(SAVING);
  warn("");
  tell(sentence);
  try {
    await act();
  } catch (error) {
    await fail(error, state, failed);
  }
}

async function fail(error, state, failed) {
  tell("");
  enter(error.expired ? STOPPED : state === NEW ? READY : state);
  if (!(error instanceof api.Failed)) throw error;
  keep();
  warn(`${failed} ${error.message} Your note is kept${error.expired ? " in this tab." : "; try again."}`);
  if (!error.stale) return;
  warn(`${failed} ${error.message}`);
  await api.currentItem().then((current) => take(current, "This is the current pair."), (again) => {
    warn(`${failed} ${again.message}`);
  });
}

// --- moving

const isIdle = () => [NEW, READY, ENDED].includes(page.state);

function go(item, sentence = "") {
  if (item && isIdle()) moving(() => api.goTo(item), sentence);
}

const back = () => go(page.around.before, "The pair before.");
const forward = () => go(page.around.after, "The pair after.");

function undo() {
  if (page.around.can_undo && isIdle()) moving(() => api.undo(), "Undone: this pair is open again.");
}

function moving(ask, sentence) {
  keep();
  during("", async () => take(await ask(), sentence), "Nothing was changed.");
}

function openNote() {
  document.body.dataset.note = "open";
  byId("note").focus();
}

function openMore() {
  page.view?.openMore();
  keep();
}

function openAll() {
  if (page.view?.isFolded) page.view.openAll();
  else page.view?.close();
  keep();
}

// --- what a reload finds again

function keep() {
  if (!page.item) return;
  const { seconds } = page.clock;
  keepDraft(page.draft, { note: byId("note").value, opened: page.view?.opened, seconds, scroll: scrollY });
}

// --- keys

function bindings() {
  const bound = new Map([["i", () => openDialog("instructions")], ["?", () => openDialog("help")]]);
  bound.set("u", undo).set("b", back).set("Backspace", back).set("v", forward);
  if (page.state === ENDED) return bound.set("s", () => go(page.around.first_skipped));
  for (const choice of [...page.choices, CANNOT_JUDGE, SKIP]) {
    for (const key of [choice.key, choice.also]) if (key) bound.set(key, () => answer(choice));
  }
  bound.set("n", openNote).set("e", openMore).set("a", openAll);
  return bound;
}

function watch() {
  const isOn = watchSingleKeys();
  listen(bindings, isOn);
  watchDialogs();
  watchHeights();
  byId("note").addEventListener("input", keep);
  byId("note").addEventListener("keydown", (event) => {
    if (event.key === "Escape") byId("query").focus({ preventScroll: true });
  });
  document.addEventListener("visibilitychange", () => { page.clock.follow(); keep(); });
  addEventListener("pagehide", keep);
}

async function start() {
  watch();
  try {
    page.session = await api.session();
    page.choices = choicesOf(page.session);
    fillHelp(page.choices, said);
    fillInstructions(page.session);
    take(await api.currentItem(), "");
  } catch (error) {
    enter(STOPPED);
    byId("progress").textContent = "";
    if (!(error instanceof api.Failed)) throw error;
    warn(error.message);
  }
}

start();
