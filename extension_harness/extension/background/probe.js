// Tries an address and a token with a real greeting on a socket of its own. It greets as
// another device, so that the present connection is not displaced by the trial.

import { PROTOCOL_VERSION, SUBPROTOCOL, readFrame } from "../shared/frames.js";
import { LinkError, describeError } from "../shared/errors.js";
import { extensionEndpoint } from "../shared/settings.js";

/**
 * @typedef {object} Trial
 * @property {string} endpoint
 * @property {string} bindingToken
 * @property {{bootId: string, extensionVersion: string, storeVersion: number}} identity
 * @property {number} timeoutMs
 */

/**
 * Tries what a person typed, and says how it went.
 *
 * @param {string} serverUrl
 * @param {Omit<Trial, "endpoint">} trial
 * @returns {Promise<{accounts: string[]} | {error: {code: string, message: string}}>}
 */
export async function tryOut(serverUrl, trial) {
  try {
    return await probe({ endpoint: extensionEndpoint(serverUrl), ...trial });
  } catch (error) {
    return { error: describeError(error) };
  }
}

/**
 * @param {Trial} trial
 * @returns {Promise<{accounts: string[]}>} what the binding allows
 * @throws {LinkError} `unreachable`, `token_refused`, `no_welcome`, `closed_<code>`
 */
function probe({ endpoint, bindingToken, identity, timeoutMs }) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(endpoint, SUBPROTOCOL);
    let opened = false;
    const timer = setTimeout(
      () => finish(() => reject(new LinkError("no_welcome", "No answer in time."))),
      timeoutMs,
    );
    /** @param {() => void} outcome */
    function finish(outcome) {
      clearTimeout(timer);
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close(1000);
      outcome();
    }
    socket.onopen = () => {
      opened = true;
      socket.send(
        JSON.stringify({
          type: "hello",
          requestId: "probe",
          protocolVersion: PROTOCOL_VERSION,
          deviceId: `probe-${crypto.randomUUID()}`,
          bindingToken,
          ...identity,
        }),
      );
    };
    socket.onmessage = (event) => {
      const frame = readFrame(event.data);
      if (frame?.type === "welcome") {
        finish(() => resolve({ accounts: frame.accounts }));
      }
    };
    socket.onclose = (event) =>
      finish(() => reject(closeError(opened, event.code, event.reason)));
  });
}

/**
 * @param {boolean} opened
 * @param {number} closeCode
 * @param {string} reason
 */
function closeError(opened, closeCode, reason) {
  if (!opened) {
    return new LinkError("unreachable", "There is no Bright server at this address.");
  }
  if (closeCode === 4401) return new LinkError("token_refused", reason);
  return new LinkError(`closed_${closeCode}`, reason);
}
