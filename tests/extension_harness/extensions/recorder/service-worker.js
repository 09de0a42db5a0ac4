// A recorder: keeps each text it is told in IndexedDB, sends it, and marks it confirmed when
// the server says so. Small enough to know what every kill must leave behind.
const opened = new Promise((resolve, reject) => {
  const request = indexedDB.open("recorder", 2);
  request.onupgradeneeded = () => {
    const rows = request.result.createObjectStore("rows", { keyPath: "id" });
    rows.createIndex("by_state", "state");
    request.result.createObjectStore("notes", { autoIncrement: true });
  };
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

const write = async (row) => {
  const database = await opened;
  const transaction = database.transaction(["rows"], "readwrite", { durability: "strict" });
  transaction.objectStore("rows").put(row);
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
};

let socket;
const connect = async () => {
  const { serverUrl } = await chrome.storage.local.get("serverUrl");
  if (!serverUrl) return null;
  if (!socket || socket.readyState > WebSocket.OPEN) {
    socket = new WebSocket(serverUrl);
    socket.onmessage = async ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.type === "observation.ack") await write({ id: frame.id, state: "confirmed" });
    };
  }
  if (socket.readyState === WebSocket.CONNECTING) {
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
  }
  return socket;
};

const record = async (id) => {
  await write({ id, state: "pending" });
  const uplink = await connect();
  uplink?.send(JSON.stringify({ type: "observation.batch", id }));
  return { recorded: id };
};

chrome.runtime.onMessage.addListener((message, _sender, respond) => {
  if (message.record !== undefined) {
    record(message.record).then(respond, (error) => respond({ error: String(error) }));
    return true;
  }
  respond({ pong: true });
  return false;
});
