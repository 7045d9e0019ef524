// What the page asks of its server, and every way that can fail as one plain sentence.

const PATIENCE = 20_000; // milliseconds; an answer is written to disk, which takes far less

export class Failed extends Error {
  constructor(sentence, { stale = false, expired = false } = {}) {
    super(sentence);
    this.stale = stale; // the pair is not the current one any more
    this.expired = expired; // nothing will work at this address any more
  }
}

let csrf = "";

export async function session() {
  const answer = await ask("api/session", {});
  csrf = answer.csrf;
  return answer;
}

export const currentItem = () => ask("api/item", {});
export const sendAnswer = (answer) => post("api/answer", answer);
export const undo = () => post("api/undo", {});
export const goTo = (item) => post("api/goto", { item });

function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-CSRF": csrf };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function ask(path, options) {
  const response = await reached(path, options);
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  throw refusal(response, body);
}

async function reached(path, options) {
  const limits = { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(PATIENCE) };
  try {
    return await fetch(path, { ...options, ...limits });
  } catch (error) {
    if (error.name === "TimeoutError") {
      throw new Failed("The server has not answered for 20 seconds.");
    }
    throw new Failed("The server cannot be reached: it was stopped, or the connection is gone.");
  }
}

function refusal(response, body) {
  if ([401, 403, 404].includes(response.status)) {
    const said = body?.error ? `${ended(body.error)} ` : "";
    const advice = "Open the address that labeler annotate printed when it was last started.";
    return new Failed(`${said}This address is no longer valid. ${advice}`, { expired: true });
  }
  const sentence = body?.error ? ended(body.error) : `The server failed (${response.status}).`;
  return new Failed(sentence, { stale: response.status === 409 });
}

function ended(sentence) {
  const begun = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
