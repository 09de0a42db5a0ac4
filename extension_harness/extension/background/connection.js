// The one WebSocket to Bright (OT-60): opening it, greeting, heartbeat, noticing that it is
// dead, and coming back. It carries frames and knows nothing of messages. Clock, random
// source and sockets are handed in. What it cannot do in a timer shorter than a worker's
// life it leaves to the next alarm, which calls `poke`.

import { LONGEST_TIMER_MS, afterClose, isFinal, stopHolds } from "../shared/backoff.js";
import { markOf } from "../shared/credentials.js";
import { PROTOCOL_VERSION, SUBPROTOCOL, readFrame } from "../shared/frames.js";

/** @typedef {import("../shared/frames.js").Welcome} Welcome */
/** @typedef {import("../shared/frames.js").Incoming} Incoming */

/**
 * @typedef {object} Clock
 * @property {() => number} now ms since the epoch; jumps when the clock is put right
 * @property {() => number} steady ms that only ever go on: what a duration is measured by
 * @property {(callback: () => void, delayMs: number) => number} after
 * @property {(timer: number | undefined) => void} cancel
 */

/**
 * @typedef {object} Configuration
 * @property {string | null} endpoint null: no usable address is configured
 * @property {string} bindingToken
 * @property {string} deviceId
 * @property {import("../shared/settings.js").Settings} settings
 * @property {string | null} lastStoreId
 */

/**
 * @typedef {object} Stop why the connection does not come back by itself
 * @property {number} closeCode
 * @property {string} reason
 * @property {string} [code] what it is, in a stable word; an older version kept none
 * @property {number} atMs since when
 * @property {string} [of] the mark of the credentials that it was said of; an older version
 *     kept none
 */

/**
 * @typedef {object} ConnectionEvents
 * @property {(welcome: Welcome) => void} online
 * @property {(frame: Incoming) => void} frame every frame after `welcome`
 * @property {() => void} offline
 * @property {(stop: Stop) => void} stopped told once, to be remembered over restarts
 * @property {() => void} changed the state to show is another
 */

export class Connection {
  /** @type {"off" | "unconfigured" | "stopped" | "connecting" | "online" | "waiting"} */
  state = "off";
  /** @type {Welcome | null} */
  welcome = null;
  /** @type {Stop | null} */
  stop = null;
  /** @type {{code: string, message: string} | null} why it is not connected */
  trouble = null;
  /** @type {number | null} when the next try is due */
  retryAtMs = null;

  /** @type {WebSocket | null} */
  #socket = null;
  #serverAheadMs = 0;
  #wanted = false;
  #attempt = 0;
  /** Times in a row that Bright wanted to be greeted anew, no heartbeat answered between. */
  #greetedAnew = 0;
  /** @type {string | null} why Bright says that it will close, told before the close */
  #farewell = null;
  /** The mark of what this socket is opened with, and greeted with. */
  #mark = "";
  #lastFrameAtMs = 0;
  #nextHeartbeatAtMs = 0;
  #retryDueMs = 0;
  #requests = 0;
  /** @type {number | undefined} */
  #timer;
  #parts;

  /**
   * @param {object} parts
   * @param {() => Configuration} parts.configuration the present one
   * @param {(url: string, protocol: string) => WebSocket} parts.openSocket
   * @param {Clock} parts.clock
   * @param {() => number} parts.random
   * @param {{bootId: string, extensionVersion: string, storeVersion: number}} parts.identity
   * @param {ConnectionEvents} parts.events
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Bytes that the socket has taken and not sent yet. */
  get bufferedBytes() {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /** What Bright's clock says now, as far as its last word of it tells. */
  serverNowMs() {
    return this.#parts.clock.now() + this.#serverAheadMs;
  }

  /** A request id, unique in this worker's life. */
  nextRequestId() {
    this.#requests += 1;
    return `${this.#parts.identity.bootId.slice(0, 8)}-${this.#requests}`;
  }

  /**
   * Says whether a connection is wanted; opens it, or closes it with 1000.
   *
   * @param {boolean} wanted
   */
  want(wanted) {
    this.#wanted = wanted;
    if (!wanted) return this.#leave();
    if (this.state === "off" || this.state === "unconfigured") this.#open();
  }

  /** Opens at once when a try is due; an alarm calls this, a new configuration too. */
  poke() {
    if (!this.#wanted || this.#socket !== null) return;
    if (this.stop !== null && this.#holds(this.stop)) return;
    this.stop = null;
    if (this.retryAtMs === null || this.#isRetryDue()) this.#open();
  }

  #isRetryDue() {
    return this.#parts.clock.steady() >= this.#retryDueMs;
  }

  /**
   * Starts anew with another configuration, whatever stood in the way before.
   *
   * @param {Stop | null} remembered a stop that may still hold
   */
  reconfigure(remembered) {
    const stop = remembered !== null && this.#holds(remembered) ? remembered : null;
    this.stop = stop;
    this.trouble = null;
    this.#attempt = 0;
    this.#drop(1000);
    this.retryAtMs = null;
    if (stop) return this.#become("stopped");
    this.#rest();
    if (this.#wanted) this.#open();
  }

  /**
   * What was said of one token is no word about the next: it may have been written down
   * after that was entered, by a worker that did not live to see it (OT-60).
   *
   * @param {Stop} stop
   */
  #holds(stop) {
    const { clock, configuration } = this.#parts;
    const isOfThese = stop.of === undefined || stop.of === markOf(configuration());
    return isOfThese && stopHolds(stop, clock.now());
  }

  /**
   * @param {object | string} frame
   * @returns {boolean} false: not connected, nothing was sent
   */
  send(frame) {
    if (this.state !== "online" || this.#socket?.readyState !== WebSocket.OPEN) {
      return false;
    }
    this.#socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
    return true;
  }

  /**
   * Gives up on a socket that may look open and is not, and comes back.
   *
   * @param {string} code
   * @param {string} message
   */
  abandon(code, message) {
    if (this.#socket === null) return;
    this.trouble = { code, message };
    this.#drop(4000);
    this.#retry(1006);
  }

  #open() {
    const { configuration, openSocket, clock } = this.#parts;
    const { endpoint, bindingToken, settings } = configuration();
    if (this.stop !== null) return this.#become("stopped");
    if (endpoint === null || bindingToken === "") return this.#become("unconfigured");
    this.retryAtMs = null;
    this.#farewell = null;
    this.#mark = markOf({ endpoint, bindingToken });
    clock.cancel(this.#timer);
    /** @type {WebSocket} */
    let socket;
    try {
      socket = openSocket(endpoint, SUBPROTOCOL);
    } catch (cause) {
      this.trouble = { code: "address_refused", message: String(cause) };
      return this.#retry(1006);
    }
    this.#socket = socket;
    this.#become("connecting");
    socket.onopen = () => this.#greet(socket);
    socket.onmessage = (event) => this.#receive(socket, event.data);
    socket.onclose = (event) => this.#closed(socket, event.code, event.reason);
    this.#timer = clock.after(
      () => this.abandon("no_welcome", "Bright did not answer the connection in time."),
      settings.openTimeoutMs,
    );
  }

  /** @param {WebSocket} socket */
  #greet(socket) {
    const { configuration, identity } = this.#parts;
    const { bindingToken, deviceId, endpoint, lastStoreId } = configuration();
    this.#mark = markOf({ endpoint, bindingToken });
    socket.send(
      JSON.stringify({
        type: "hello",
        requestId: this.nextRequestId(),
        protocolVersion: PROTOCOL_VERSION,
        deviceId,
        bindingToken,
        ...identity,
        ...(lastStoreId === null ? {} : { lastStoreId }),
      }),
    );
  }

  /**
   * @param {WebSocket} socket
   * @param {unknown} data
   */
  #receive(socket, data) {
    if (socket !== this.#socket) return;
    this.#lastFrameAtMs = this.#parts.clock.steady();
    const frame = readFrame(data);
    if (frame === null) return;
    this.#noteTime(/** @type {any} */ (frame).serverTimeMs);
    if (frame.type === "welcome" && this.state === "connecting") {
      return this.#welcomed(frame);
    }
    if (this.state !== "online") return;
    if (frame.type === "binding.revoked") {
      this.#farewell = frame.reason;
      return;
    }
    if (frame.type === "heartbeat.ack") {
      // Another version may allow less: greet again before anything else is done (OT-60).
      if (frame.authorizationVersion !== this.welcome?.authorizationVersion) {
        this.abandon("authorization_changed", "The authorization changed.");
      } else {
        this.#greetedAnew = 0;
      }
      return;
    }
    this.#parts.events.frame(frame);
  }

  /** @param {unknown} serverTimeMs */
  #noteTime(serverTimeMs) {
    if (typeof serverTimeMs !== "number" || !Number.isSafeInteger(serverTimeMs)) return;
    this.#serverAheadMs = serverTimeMs - this.#parts.clock.now();
  }

  /** @param {Welcome} welcome */
  #welcomed(welcome) {
    const { clock, events } = this.#parts;
    clock.cancel(this.#timer);
    this.#attempt = 0;
    this.welcome = welcome;
    this.trouble = null;
    this.#nextHeartbeatAtMs = clock.steady() + welcome.heartbeatIntervalMs;
    this.#become("online");
    this.#watch(welcome);
    events.online(welcome);
  }

  /**
   * Heartbeats, and notices silence: nothing heard for two and a half intervals is dead.
   *
   * @param {Welcome} welcome
   */
  #watch(welcome) {
    const { clock } = this.#parts;
    const interval = welcome.heartbeatIntervalMs;
    this.#timer = clock.after(() => {
      const now = clock.steady();
      if (now - this.#lastFrameAtMs > 2.5 * interval) {
        return this.abandon("half_open", "Nothing was heard from Bright for too long.");
      }
      if (now >= this.#nextHeartbeatAtMs) {
        this.#nextHeartbeatAtMs = now + interval;
        this.send({
          type: "heartbeat",
          requestId: this.nextRequestId(),
          authorizationVersion: welcome.authorizationVersion,
        });
      }
      this.#watch(welcome);
    }, interval / 4);
  }

  /**
   * @param {WebSocket} socket
   * @param {number} closeCode
   * @param {string} reason
   */
  #closed(socket, closeCode, reason) {
    if (socket !== this.#socket) return;
    const code = closeName(closeCode, this.#farewell);
    this.trouble = {
      code,
      message: reason || `The connection was closed (${closeCode}).`,
    };
    this.#drop(null);
    // The token holds, under another version of the authorization: greet again, later each
    // time that this is all that comes of it (OT-60).
    if (code === "authorization_changed") {
      this.#attempt = this.#greetedAnew;
      this.#greetedAnew += 1;
      return this.#retry(1006);
    }
    if (!isFinal(closeCode)) return this.#retry(closeCode);
    const atMs = this.#parts.clock.now();
    this.stop = { closeCode, reason, code, atMs, of: this.#mark };
    this.#become("stopped");
    this.#parts.events.stopped(this.stop);
  }

  /** @param {number} closeCode */
  #retry(closeCode) {
    if (!this.#wanted) return this.#become("off");
    const { clock, configuration, random } = this.#parts;
    const { backoffBaseMs, backoffCapMs } = configuration().settings;
    const bounds = { baseMs: backoffBaseMs, capMs: backoffCapMs };
    const next = afterClose(closeCode, this.#attempt, bounds, random);
    const delayMs = next.stop ? LONGEST_TIMER_MS : next.delayMs;
    this.#attempt += 1;
    this.retryAtMs = clock.now() + delayMs; // to be shown
    this.#retryDueMs = clock.steady() + delayMs;
    this.#become("waiting");
    this.#timer = clock.after(() => this.poke(), delayMs);
  }

  #leave() {
    const wasOpen = this.#socket !== null;
    this.#drop(1000);
    this.retryAtMs = null;
    if (wasOpen) this.trouble = null;
    if (this.state !== "stopped") this.#rest();
  }

  /** Nothing is wanted; whether anything could be is still worth saying. */
  #rest() {
    const { endpoint, bindingToken } = this.#parts.configuration();
    const isUsable = endpoint !== null && bindingToken !== "";
    this.#become(isUsable ? "off" : "unconfigured");
  }

  /** @param {number | null} closeCode null: it is closed already */
  #drop(closeCode) {
    const socket = this.#socket;
    this.#parts.clock.cancel(this.#timer);
    this.#socket = null;
    const wasOnline = this.welcome !== null;
    this.welcome = null;
    if (socket !== null) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      if (closeCode !== null) socket.close(closeCode);
    }
    if (wasOnline) this.#parts.events.offline();
  }

  /** @param {Connection["state"]} state */
  #become(state) {
    this.state = state;
    this.#parts.events.changed();
  }
}

/**
 * What a close means, in a stable word.
 *
 * @param {number} closeCode
 * @param {string | null} farewell why Bright said that it would close
 */
function closeName(closeCode, farewell) {
  if (closeCode !== 4401) return `closed_${closeCode}`;
  if (farewell === null) return "binding_unknown"; // it was never taken
  return farewell === "version_changed" ? "authorization_changed" : "binding_revoked";
}
