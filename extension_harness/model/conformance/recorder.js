// Records one life of the worker: what reaches it, what it asks of the store and of the
// browser, and what it sends. It runs before the worker's own code in a copy of the
// extension and changes none of its files. Each entry leaves at once over a channel, so
// that what a killed worker did is known up to its last instant.
//
// While one input is handled the clock stands still, so that the same input, handled with
// the same clock, has to lead to the same.

import { Background } from "./background/start.js";
import { CLOCK } from "./background/clock.js";
import { Database } from "./store/database.js";

const CHANNEL = "bright.trace";
const STORE = "trade-message-center";

const channel = new BroadcastChannel(CHANNEL);
const life = crypto.randomUUID();
const realNow = Date.now.bind(Date);
const realOpen = indexedDB.open.bind(indexedDB);
const realUUID = crypto.randomUUID.bind(crypto);
const realRandom = Math.random.bind(Math);
let nowMs = realNow();
let steadyMs = performance.now();
let numbers = 0;
let entries = 0;

function note(entry) {
  entries += 1;
  channel.postMessage(JSON.stringify({ life, at: entries, ...entry }));
}

let isTaken = true; // what came in last, with all that follows from it at once
const next = new MessageChannel(); // its message comes in a turn of its own
next.port1.onmessage = () => (isTaken = true);

/**
 * Something comes in: the clock moves on, and stands still until the next. The browser may
 * hand over several at once, before anything follows from the first.
 */
function input(entry) {
  const isJoined = !isTaken;
  if (!isJoined) {
    nowMs = realNow();
    steadyMs = performance.now();
  }
  isTaken = false;
  next.port2.postMessage(null);
  note({ ...entry, isJoined, nowMs, steadyMs });
}

function number() {
  numbers += 1;
  return numbers;
}

Date.now = () => nowMs;
CLOCK.now = () => nowMs;
CLOCK.steady = () => steadyMs;
Math.random = () => {
  const value = realRandom();
  note({ kind: "random", value });
  return value;
};
crypto.randomUUID = () => {
  const value = realUUID();
  note({ kind: "uuid", value });
  return value;
};
note({ kind: "boot", nowMs, steadyMs });

// Timers of the worker's own parts.
const timers = new Map();
CLOCK.after = (callback, delayMs) => {
  const timer = number();
  const handle = setTimeout(() => {
    timers.delete(handle);
    input({ kind: "timer", timer });
    callback();
  }, delayMs);
  timers.set(handle, timer);
  note({ kind: "start", timer, ms: delayMs });
  return handle;
};
CLOCK.cancel = (handle) => {
  if (!timers.has(handle)) return;
  timers.delete(handle);
  clearTimeout(handle);
};

// The store: each verb as one transaction, by the name of the function that asks for it.
const running = new WeakMap();

function verb() {
  for (const line of new Error().stack.split("\n").slice(1)) {
    const named = /at (?:async )?([\w.#]+) .*\/(?:store|background)\/([\w-]+)\.js/.exec(line);
    if (named && named[2] !== "database") return named[1];
  }
  return "unknown";
}

function described(error) {
  return { code: error?.code ?? "unexpected", message: String(error?.message ?? error) };
}

let whole = null; // what was on disk as this life began

function snapshot() {
  whole ??= new Promise((resolve, reject) => {
    const request = realOpen(STORE);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const database = request.result;
      const names = Array.from(database.objectStoreNames);
      const records = {};
      const transaction = database.transaction(names, "readonly");
      for (const name of names) {
        const all = transaction.objectStore(name).getAll();
        all.onsuccess = () => (records[name] = all.result);
      }
      transaction.oncomplete = () => {
        database.close();
        note({ kind: "disk", records });
        resolve();
      };
    };
  });
  return whole;
}

const open = Database.prototype.open;

async function begun(database) {
  await open.call(database);
  await snapshot();
}

function recorded(name) {
  const real = Database.prototype[name];
  Database.prototype[name] = async function (stores, body) {
    const asked = verb();
    const transaction = number();
    const writes = [];
    const noting = (given) => {
      running.set(given, writes);
      writes.length = 0;
      return body(given);
    };
    note({ kind: "begin", transaction, verb: asked, mode: name });
    await begun(this);
    try {
      const value = await real.call(this, stores, noting);
      input({ kind: "done", transaction, value: value ?? null, writes });
      return value;
    } catch (error) {
      input({ kind: "done", transaction, error: described(error), writes: [] });
      throw error;
    }
  };
}
recorded("read");
recorded("write");
Database.prototype.open = async function () {
  await begun(this);
  input({ kind: "opened" });
};

for (const name of ["put", "delete"]) {
  const real = IDBObjectStore.prototype[name];
  IDBObjectStore.prototype[name] = function (...given) {
    const writes = running.get(this.transaction);
    writes?.push([this.name, name, JSON.parse(JSON.stringify(given[0]))]);
    return real.apply(this, given);
  };
}

// The browser's small storage, alarms and tabs.
function watch(owner, method, name) {
  const real = owner[method].bind(owner);
  owner[method] = async (...given) => {
    const call = number();
    note({ kind: "call", call, name, given });
    const value = await real(...given);
    input({ kind: "returned", call, value: value ?? null });
    return value;
  };
}
watch(chrome.storage.local, "get", "storage.local.get");
watch(chrome.storage.local, "set", "storage.local.set");
watch(chrome.storage.session, "get", "storage.session.get");
watch(chrome.storage.session, "set", "storage.session.set");
watch(chrome.alarms, "get", "alarms.get");
watch(chrome.alarms, "create", "alarms.create");
watch(chrome.alarms, "clear", "alarms.clear");
watch(chrome.tabs, "query", "tabs.query");

const sendMessage = chrome.tabs.sendMessage.bind(chrome.tabs);
chrome.tabs.sendMessage = async (tab, message, options) => {
  const question = number();
  note({ kind: "ask", question, tab, asked: message.kind, body: message.body });
  let response = null;
  try {
    response = await sendMessage(tab, message, options);
    return response;
  } finally {
    input({ kind: "answered", question, response: response ?? null });
  }
};

// What wakes it.
const { alarm, configured, message } = Background.prototype;
Background.prototype.alarm = function () {
  input({ kind: "alarm" });
  return alarm.call(this);
};
Background.prototype.configured = function (keys) {
  input({ kind: "configured", keys });
  return configured.call(this, keys);
};
Background.prototype.message = function (told, sender) {
  const reply = number();
  input({ kind: "message", reply, tab: sender.tabId, told });
  const answer = message.call(this, told, sender);
  answer?.then(
    (value) => note({ kind: "reply", reply, value: value ?? {} }),
    () => {},
  );
  return answer;
};

// The socket.
const Native = WebSocket;

class Recorded extends Native {
  #number = number();
  #isClosing = false;

  constructor(url, protocols) {
    super(url, protocols);
    note({ kind: "connect", socket: this.#number, url });
  }

  get readyState() {
    const state = super.readyState;
    if (state > Native.OPEN && !this.#isClosing) {
      this.#isClosing = true;
      note({ kind: "closing", socket: this.#number });
    }
    return state;
  }

  set onopen(handle) {
    super.onopen = this.#telling(handle, "open", () => ({}));
  }

  set onmessage(handle) {
    super.onmessage = this.#telling(handle, "frame", ({ data }) => ({ data }));
  }

  set onclose(handle) {
    const parts = ({ code, reason }) => ({ code, reason });
    super.onclose = this.#telling(handle, "closed", parts);
  }

  #telling(handle, kind, parts) {
    if (handle === null) return null;
    return (event) => {
      input({ kind, socket: this.#number, ...parts(event) });
      handle(event);
    };
  }

  send(data) {
    note({ kind: "send", socket: this.#number, frame: JSON.parse(data) });
    super.send(data);
  }

  close(code) {
    note({ kind: "close", socket: this.#number, code });
    super.close(code);
  }
}
globalThis.WebSocket = Recorded;
