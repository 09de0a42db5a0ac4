// Runs in the worker's global scope, before its own script where that is possible: wraps the
// points a trap can name, counts what passes them, and stops in `debugger` at the chosen
// occurrence. Called with the steps of the trap; the last one is the trap itself.
(steps) => {
  if (globalThis.harnessTrap) return globalThis.harnessTrap.arm(steps);

  let step = 0;
  let passed = 0;
  let live = steps;
  const state = {
    hit: null,
    released: false,
    arm: (given) => {
      step = 0;
      passed = 0;
      live = given;
      state.hit = null;
      state.released = false;
      return true;
    },
    disarm: () => {
      live = [];
      state.released = true;
    },
  };
  Object.defineProperty(globalThis, "harnessTrap", { value: state });

  const matches = (wanted, facts, content) =>
    wanted.point === facts.point &&
    (wanted.kind === null || wanted.kind === facts.kind) &&
    (wanted.mode === null || wanted.mode === facts.mode) &&
    wanted.stores.every((name) => (facts.stores ?? []).includes(name)) &&
    Object.entries(wanted.fields).every(([name, value]) => content?.[name] === value);

  const pass = (facts, content) => {
    if (step >= live.length || !matches(live[step], facts, content)) return;
    passed += 1;
    if (passed < live[step].nth) return;
    passed = 0;
    step += 1;
    if (step < live.length) return;
    state.hit = { ...facts, stores: [...(facts.stores ?? [])] };
    debugger;
    // Whoever is killed here must not run one line further, also when the kill first ends
    // the pause: only a release lets go.
    while (!state.released);
  };
  const cares = (...points) => live.some((wanted) => points.includes(wanted.point));

  const parsed = (data) => {
    if (typeof data !== "string") return undefined;
    try {
      return JSON.parse(data);
    } catch {
      return undefined;
    }
  };

  const wrap = (prototype, name, make) => {
    const native = prototype[name];
    Object.defineProperty(prototype, name, {
      value: make(native),
      writable: true,
      configurable: true,
    });
  };

  wrap(IDBDatabase.prototype, "transaction", (native) =>
    function transaction(stores, mode = "readonly", ...rest) {
      const facts = { stores: typeof stores === "string" ? [stores] : [...stores], mode };
      pass({ point: "transaction", ...facts });
      const made = native.call(this, stores, mode, ...rest);
      // First of its listeners: it runs before any of the extension's.
      made.addEventListener("complete", () => pass({ point: "committed", ...facts }));
      return made;
    },
  );

  for (const name of ["put", "add", "delete", "clear"]) {
    wrap(IDBObjectStore.prototype, name, (native) =>
      function write(...given) {
        const facts = { stores: [this.name], mode: "readwrite", kind: name };
        pass({ point: "write", ...facts }, given[0]);
        const request = native.apply(this, given);
        request.addEventListener("success", () =>
          pass({ point: "written", ...facts }, given[0]),
        );
        return request;
      },
    );
  }

  for (const name of ["createObjectStore", "deleteObjectStore"]) {
    wrap(IDBDatabase.prototype, name, (native) =>
      function change(...given) {
        const facts = { stores: [String(given[0])], mode: "versionchange", kind: name };
        pass({ point: "schema", ...facts });
        return native.apply(this, given);
      },
    );
  }

  for (const name of ["createIndex", "deleteIndex"]) {
    wrap(IDBObjectStore.prototype, name, (native) =>
      function change(...given) {
        const facts = { stores: [this.name], mode: "versionchange", kind: name };
        pass({ point: "schema", ...facts });
        return native.apply(this, given);
      },
    );
  }

  wrap(WebSocket.prototype, "send", (native) =>
    function send(data) {
      const frame = cares("before_send", "after_send") ? parsed(data) : undefined;
      pass({ point: "before_send", kind: frame?.type }, frame);
      native.call(this, data);
      pass({ point: "after_send", kind: frame?.type }, frame);
    },
  );

  // A listener that wants to know what came reads `data`: that is where it is stopped,
  // however and whenever it was registered.
  const data = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data");
  const read = new WeakSet();
  Object.defineProperty(MessageEvent.prototype, "data", {
    ...data,
    get() {
      const value = data.get.call(this);
      if (cares("received") && this.target instanceof WebSocket && !read.has(this)) {
        read.add(this);
        const frame = parsed(value);
        pass({ point: "received", kind: frame?.type }, frame);
      }
      return value;
    },
  });

  const onMessage = globalThis.chrome?.runtime?.onMessage;
  if (onMessage) {
    const add = onMessage.addListener;
    const delivered = new WeakSet();
    onMessage.addListener = function addListener(listener, ...rest) {
      const wrapped = (message, sender, respond) => {
        // Several listeners get one message; its sender object names the delivery.
        if (!delivered.has(sender)) {
          delivered.add(sender);
          pass({ point: "message", kind: message?.type }, message);
        }
        return listener(message, sender, respond);
      };
      return add.call(this, wrapped, ...rest);
    };
  }
  return true;
}
