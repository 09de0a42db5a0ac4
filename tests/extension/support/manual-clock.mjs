// A clock that moves only when a test says so.

export class ManualClock {
  #nowMs = 1_000_000;
  #timers = new Map();
  #last = 0;

  now = () => this.#nowMs;
  steady = () => this.#nowMs;

  after = (callback, delayMs) => {
    this.#last += 1;
    this.#timers.set(this.#last, { callback, dueMs: this.#nowMs + delayMs });
    return this.#last;
  };

  cancel = (timer) => {
    this.#timers.delete(timer);
  };

  /** Moves on, calling what is due in the order in which it is due. */
  pass(ms) {
    const end = this.#nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, timer]) => timer.dueMs <= end);
      if (due.length === 0) break;
      due.sort(([, left], [, right]) => left.dueMs - right.dueMs);
      const [id, timer] = due[0];
      this.#timers.delete(id);
      this.#nowMs = timer.dueMs;
      timer.callback();
    }
    this.#nowMs = end;
  }

  get pending() {
    return this.#timers.size;
  }
}
