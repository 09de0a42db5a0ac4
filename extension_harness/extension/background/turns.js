// One at a time for each name, in the order of asking.

export class Turns {
  /** @type {Map<string, Promise<unknown>>} the last that has asked, by name */
  #last = new Map();

  /**
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} work begins when all who asked before are done
   * @returns {Promise<T>}
   */
  take(name, work) {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const over = turn.catch(() => {}); // its own asker hears of the failure
    this.#last.set(name, over);
    void over.then(() => {
      if (this.#last.get(name) === over) this.#last.delete(name);
    });
    return turn;
  }
}
