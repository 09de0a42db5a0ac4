// A socket whose other end is the test.

export class ScriptedSocket {
  static all = [];
  readyState = 0;
  bufferedAmount = 0;
  sent = [];
  closedWith = null;

  constructor(url, protocol) {
    this.url = url;
    this.protocol = protocol;
    ScriptedSocket.all.push(this);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close(code) {
    this.closedWith = code;
    this.readyState = 3;
  }

  opens() {
    this.readyState = 1;
    this.onopen?.();
  }

  says(frame) {
    this.onmessage?.({
      data: typeof frame === "string" ? frame : JSON.stringify(frame),
    });
  }

  isClosed(code, reason = "") {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }
}

export function welcome(changes = {}) {
  return {
    type: "welcome",
    requestId: "r",
    connectionId: "c",
    storeId: "store-1",
    serverTimeMs: 1,
    heartbeatIntervalMs: 15_000,
    authorizationVersion: 1,
    accounts: ["2500000000001"],
    limits: {
      maxFrameBytes: 1_048_576,
      maxBatchMessages: 200,
      maxInFlightBatches: 8,
    },
    ...changes,
  };
}
