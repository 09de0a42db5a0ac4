// What is configured and remembered in chrome.storage.local: the server's address, the
// binding token, this installation's device id, settings, and what must outlive a worker.

import { readLocal, writeLocal } from "../shared/browser.js";
import { extensionEndpoint, settingsFrom } from "../shared/settings.js";

export const CONFIGURED = ["serverUrl", "bindingToken", "settings"];
const REMEMBERED = ["deviceId", "stop", "storeIds", "lastStoreId"];

/**
 * @typedef {object} Stored
 * @property {string | null} endpoint null: none, or one that cannot be used
 * @property {string} serverUrl as typed
 * @property {string} bindingToken
 * @property {string} deviceId
 * @property {import("../shared/settings.js").Settings} settings
 * @property {import("./connection.js").Stop | null} stop
 * @property {Record<string, string>} storeIds the server store that each account's
 *     confirmed candidates are in
 * @property {string | null} lastStoreId
 */

/**
 * Reads all of it; makes the device id at the first start.
 *
 * @returns {Promise<Stored>}
 */
export async function readConfiguration() {
  const stored = await readLocal([...CONFIGURED, ...REMEMBERED]);
  const serverUrl = typeof stored.serverUrl === "string" ? stored.serverUrl : "";
  let deviceId = stored.deviceId;
  if (typeof deviceId !== "string" || deviceId === "") {
    deviceId = crypto.randomUUID();
    await writeLocal({ deviceId });
  }
  return {
    endpoint: endpointOf(serverUrl),
    serverUrl,
    bindingToken: typeof stored.bindingToken === "string" ? stored.bindingToken : "",
    deviceId,
    settings: settingsFrom(stored.settings),
    stop: stored.stop ?? null,
    storeIds: stored.storeIds ?? {},
    lastStoreId: stored.lastStoreId ?? null,
  };
}

/** @param {string} serverUrl */
function endpointOf(serverUrl) {
  try {
    return serverUrl === "" ? null : extensionEndpoint(serverUrl);
  } catch {
    return null; // the options page says why; here it is as good as none
  }
}

/**
 * Whether an account's messages may be sent on Bright's word. Off until somebody allows it
 * in the options; asked anew each time, because it may be taken back at any moment.
 *
 * @param {string} channelAccountId
 * @returns {Promise<boolean>}
 */
export async function isSendingAllowed(channelAccountId) {
  const { sendingAllowed } = await readLocal(["sendingAllowed"]);
  return Array.isArray(sendingAllowed) && sendingAllowed.includes(channelAccountId);
}
