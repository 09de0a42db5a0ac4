// The whole of the page's side, bridge and taps included, asked as the observer asks it; its
// clock is the test's.

import { ManualClock } from "./manual-clock.mjs";
import { loadInto, pageWorld } from "./page-world.mjs";

/** For an answer, by the real clock. */
const DEADLINE_MS = 5_000;

class Message {
  constructor(type, { detail }) {
    Object.assign(this, { type, detail });
  }
}

class Unheard {
  observe() {}
  open() {}
  send() {}
}

/** A document that shows enough for a page in health, and nothing that could be clicked. */
const shownDocument = () => ({
  cookie: "",
  readyState: "complete",
  body: { innerText: "x".repeat(5_000) },
  querySelectorAll: () => [],
});

/**
 * @param {object} parts
 * @param {(path: string) => object | string | Response} parts.answers of the page's server
 */
export function bridgeWorld({ answers = () => ({}), ...page } = {}) {
  const clock = new ManualClock();
  const listeners = new Map();
  const told = [];
  const asked = [];
  const fetch = async (address) => {
    const [path] = String(address).split("?");
    asked.push(path);
    const answer = answers(path);
    if (answer instanceof Response || answer.type !== undefined) return answer;
    return new Response(
      typeof answer === "string" ? answer : JSON.stringify(answer),
    );
  };
  const { context, window } = pageWorld({ ...page, fetch });
  const hear = (type, listener) =>
    listeners.set(type, [...(listeners.get(type) ?? []), listener]);
  const dispatch = (event) =>
    (listeners.get(event.type) ?? []).forEach((listener) => listener(event));
  const every = (callback, ms) => {
    clock.after(() => every(callback, ms), ms);
    clock.after(callback, ms);
  };
  Object.assign(window, {
    addEventListener: hear,
    dispatchEvent: dispatch,
    setTimeout: clock.after,
    clearTimeout: clock.cancel,
    setInterval: every,
    performance: { now: clock.steady },
    document: shownDocument(),
    CustomEvent: Message,
    MutationObserver: Unheard,
    XMLHttpRequest: class extends Unheard {
      open() {}
      send() {}
    },
    Request: class {},
  });
  const waiting = new Map();
  hear("bright:from-page", ({ detail }) => {
    const { kind, body } = JSON.parse(detail);
    if (kind === "answer") waiting.get(body.id)(body);
    else told.push([kind, body]);
  });
  loadInto(context, "page/taps.js", "page/bridge.js");
  const tell = (kind, id, body) =>
    dispatch(
      new Message("bright:to-page", {
        detail: JSON.stringify({ kind, id, body }),
      }),
    );
  tell("listening");
  const ask = (kind, body = {}) =>
    new Promise((resolve, reject) => {
      const id = `q-${waiting.size}`;
      const late = () => reject(new Error(`no answer to ${kind}`));
      const timer = setTimeout(late, DEADLINE_MS);
      waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      tell(kind, id, { channelAccountId: window.aliId, ...body });
    });
  return { ask, asked, clock, told, window };
}
