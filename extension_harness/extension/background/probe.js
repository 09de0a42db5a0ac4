// Tries an address and a token with a real greeting on a socket of its own. It greets as
// another device, so that the present connection is not displaced by the trial.

import { PROTOCOL_VERSION, SUBPROTOCOL, readFrame } from "../shared/frames.js";
import { LinkError } from "../shared/errors.js";

/**
 * @param {object} trial
 * @param {string} trial.endpoint
 * @param {string} trial.bindingToken
 * @param {{bootId: string, extensionVersion: string, storeVersion: number}} trial.identity
 * @param {number} trial.timeoutMs
 * @returns {Promise<{accounts: string[]}>} what the binding allows
 * @throws {LinkError} `unreachable`, `token_refused`, `no_welcome`, `closed_<code>`
 */
export function probe({ endpoint, bindingToken, identity, timeoutMs }) {
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
