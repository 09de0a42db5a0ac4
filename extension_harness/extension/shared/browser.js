// The one door to chrome.*: everything that the extension asks of the browser. Only this
// file (and the content observer, which may import nothing) says `chrome.`.

const PAGE_PATTERN = "https://onetalk.alibaba.com/message/*";
const ALARM = "bright.wake";

/** @typedef {{id: number}} PageTab */

export const extensionVersion = () => chrome.runtime.getManifest().version;

/**
 * @param {(message: any, sender: {tabId: number | null, frameId: number}) =>
 *     Promise<unknown> | null} handle null: the message is not for this listener
 */
export function onMessage(handle) {
  chrome.runtime.onMessage.addListener((message, sender, respond) => {
    const answer = handle(message, {
      tabId: sender.tab?.id ?? null,
      frameId: sender.frameId ?? 0,
    });
    if (answer === null) return undefined;
    answer.then(respond, (error) =>
      respond({ error: String(error?.message ?? error) }),
    );
    return true;
  });
}

/** @param {() => void} handle */
export function onAlarm(handle) {
  chrome.alarms.onAlarm.addListener((alarm) => {
    if (alarm.name === ALARM) handle();
  });
}

/** @param {() => void} handle told at installation, update and browser start */
export function onLifecycle(handle) {
  chrome.runtime.onInstalled.addListener(() => handle());
  chrome.runtime.onStartup.addListener(() => handle());
}

/** @param {(changed: string[]) => void} handle */
export function onLocalChange(handle) {
  chrome.storage.onChanged.addListener((changes, area) => {
    if (area === "local") handle(Object.keys(changes));
  });
}

/**
 * Wakes the worker every 30 s, the shortest period that Chrome keeps from version 120.
 *
 * @returns {Promise<void>}
 */
export async function setAlarm() {
  if ((await chrome.alarms.get(ALARM)) === undefined) {
    await chrome.alarms.create(ALARM, { periodInMinutes: 0.5 });
  }
}

/** @returns {Promise<unknown>} */
export function clearAlarm() {
  return chrome.alarms.clear(ALARM);
}

/**
 * @param {string[]} keys
 * @returns {Promise<Record<string, any>>}
 */
export function readLocal(keys) {
  return chrome.storage.local.get(keys);
}

/** @param {Record<string, unknown>} values */
export function writeLocal(values) {
  return chrome.storage.local.set(values);
}

/** @param {string[]} keys */
export function removeLocal(keys) {
  return chrome.storage.local.remove(keys);
}

/**
 * What lasts as long as the browser, however often the worker dies.
 *
 * @param {string[]} keys
 * @returns {Promise<Record<string, any>>}
 */
export function readSession(keys) {
  return chrome.storage.session.get(keys);
}

/** @param {Record<string, unknown>} values */
export function writeSession(values) {
  return chrome.storage.session.set(values);
}

/** @returns {Promise<PageTab[]>} the tabs that show a OneTalk page */
export async function pageTabs() {
  const tabs = await chrome.tabs.query({ url: PAGE_PATTERN });
  return tabs.flatMap((tab) => (tab.id === undefined ? [] : [{ id: tab.id }]));
}

/**
 * @param {number} tabId
 * @param {string} kind
 * @param {Record<string, unknown>} body
 * @returns {Promise<any>} the observer's answer; rejects when there is none in the tab
 */
export function askTab(tabId, kind, body) {
  return chrome.tabs.sendMessage(tabId, { to: "page", kind, body }, { frameId: 0 });
}

/**
 * @param {Record<string, unknown>} message
 * @returns {Promise<any>} the worker's answer
 */
export function askWorker(message) {
  return chrome.runtime.sendMessage({ to: "worker", ...message });
}

export const openOptions = () => chrome.runtime.openOptionsPage();

/**
 * @param {string} name
 * @param {string[]} [substitutions]
 */
export function translated(name, substitutions) {
  return chrome.i18n.getMessage(name, substitutions);
}

/** @param {{text: string, color: string}} badge */
export async function setBadge(badge) {
  await chrome.action.setBadgeBackgroundColor({ color: badge.color });
  await chrome.action.setBadgeText({ text: badge.text });
}
