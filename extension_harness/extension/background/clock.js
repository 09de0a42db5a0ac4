// The browser's clock and timers, as the parts of the worker take them.

/** @type {import("./connection.js").Clock} */
export const CLOCK = {
  now: () => Date.now(),
  steady: () => performance.now(),
  after: (callback, delayMs) => /** @type {any} */ (setTimeout(callback, delayMs)),
  cancel: (timer) => clearTimeout(timer),
};
