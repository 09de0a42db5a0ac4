// The extension's errors. Each carries a stable code (for tests, the popup's words and
// support) and a sentence that says what was wrong and what to do.
//
//   BrightError
//   ├── StoreError       the durable store could not be opened, read or written
//   ├── PageError        the OneTalk page did not answer, or answered something else
//   ├── LinkError        the connection to Bright failed or was refused
//   └── SettingsError    an address, a token or a setting that cannot be used

export class BrightError extends Error {
  /**
   * @param {string} code stable, snake_case
   * @param {string} message what was wrong, where, what to do
   * @param {{cause?: unknown}} [options]
   */
  constructor(code, message, options) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

export class StoreError extends BrightError {}
export class PageError extends BrightError {}
export class LinkError extends BrightError {}
export class SettingsError extends BrightError {}

/**
 * The stable code and the words of anything that was thrown.
 *
 * @param {unknown} error
 * @returns {{code: string, message: string}}
 */
export function describeError(error) {
  if (error instanceof BrightError) {
    return { code: error.code, message: error.message };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: "unexpected", message };
}
