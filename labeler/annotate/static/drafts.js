// What a rater typed and where they were, kept in this tab until the answer is saved: a reload, a
// stopped server or a new address of the same server loses none of it. It ends with the tab.

const PREFIX = "labeler:";

// The ids alone could be those of another collection served at the same address.
export function draftKey(rater, item) {
  const documents = item.document ? [item.document.id] : [];
  return PREFIX + JSON.stringify([rater, item.id, item.query.text, ...documents]);
}

export function readDraft(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? {};
  } catch {
    return {}; // storage is switched off, or holds something else
  }
}

export function keepDraft(key, draft) {
  try {
    sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // storage is switched off or full: the page works, and a reload forgets
  }
}

export function dropDraft(key) {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // nothing was kept
  }
}

export function readSetting(name, usual) {
  try {
    return localStorage.getItem(PREFIX + name) ?? usual;
  } catch {
    return usual;
  }
}

export function keepSetting(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // it holds for this page alone
  }
}
