// JavaScript values as JSON and back, as docs/storage-model.md writes them: what JSON lacks
// is an object with the member "$". `encode` uses the plain form wherever it is possible.
(() => {
  const has = (object, name) => Object.prototype.hasOwnProperty.call(object, name);
  const kindOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const unhex = (text) =>
    Uint8Array.from((text.match(/../g) ?? []).map((pair) => parseInt(pair, 16)));
  // Defined, not assigned: "__proto__" is a name like any other.
  const define = (object, name, value) =>
    Object.defineProperty(object, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });

  const binary = ({ v, t = "ArrayBuffer", pad = 0 }) => {
    const bytes = unhex(v);
    const buffer = new ArrayBuffer(bytes.length + 2 * pad);
    new Uint8Array(buffer).fill(0xee).set(bytes, pad);
    if (t === "ArrayBuffer") return buffer;
    const View = globalThis[t];
    return new View(buffer, pad, bytes.length / (View.BYTES_PER_ELEMENT ?? 1));
  };
  const detached = () => {
    const buffer = new ArrayBuffer(4);
    structuredClone(buffer, { transfer: [buffer] });
    return buffer;
  };
  const nest = (value, times) => {
    let nested = value;
    for (let at = 0; at < times; at += 1) nested = [nested];
    return nested;
  };

  // `keep` remembers an object under its id before its members are read: cycles.
  const MAKE = {
    undefined: () => undefined,
    num: ({ v }) => (v === "-0" ? -0 : Number(v)),
    bigint: ({ v }) => BigInt(v),
    u16: ({ v }) => String.fromCharCode(...v),
    repeat: ({ v, n }) => v.repeat(n),
    date: ({ v }, keep) => keep(new Date(v === "NaN" ? NaN : v)),
    bin: (tagged, keep) => keep(binary(tagged)),
    arr: ({ n, v }, keep, inner) => {
      const made = keep([]);
      made.length = n;
      for (const [name, value] of v) define(made, name, inner(value));
      return made;
    },
    obj: ({ v }, keep, inner) => {
      const made = keep({});
      for (const [name, value] of v) define(made, inner(name), inner(value));
      return made;
    },
    map: ({ v }, keep, inner) => {
      const made = keep(new Map());
      for (const [key, value] of v) made.set(inner(key), inner(value));
      return made;
    },
    set: ({ v }, keep, inner) => {
      const made = keep(new Set());
      for (const value of v) made.add(inner(value));
      return made;
    },
    regexp: ({ v, f = "" }, keep) => keep(new RegExp(v, f)),
    box: ({ v }, keep, inner) => keep(Object(inner(v))),
    ref: ({ v }, _keep, _inner, seen) => seen.get(v),
    function: () => () => {},
    symbol: () => Symbol("s"),
    detached,
    nest: ({ v, n }, _keep, inner) => nest(inner(v), n),
  };

  const decode = (json, seen = new Map()) => {
    if (json === null || typeof json !== "object") return json;
    const inner = (value) => decode(value, seen);
    if (Array.isArray(json)) return json.map(inner);
    if (!has(json, "$")) {
      const made = {};
      for (const name of Object.keys(json)) define(made, name, inner(json[name]));
      return made;
    }
    const keep = (value) => {
      if (has(json, "id")) seen.set(json.id, value);
      return value;
    };
    if (!has(MAKE, json.$)) throw new Error(`no such tag: ${json.$}`);
    return MAKE[json.$](json, keep, inner, seen);
  };

  // The objects that are reached more than once, which need an id.
  const sharedIn = (root) => {
    const seen = new Set();
    const shared = new Set();
    const visit = (value) => {
      if (value === null || typeof value !== "object") return;
      if (seen.has(value)) return void shared.add(value);
      seen.add(value);
      if (value instanceof Map) value.forEach((held, key) => (visit(key), visit(held)));
      else if (value instanceof Set) value.forEach(visit);
      else if (!ArrayBuffer.isView(value)) Object.keys(value).forEach((name) => visit(value[name]));
    };
    visit(root);
    return shared;
  };

  const text = (given) =>
    given.isWellFormed()
      ? given
      : { $: "u16", v: Array.from({ length: given.length }, (_, at) => given.charCodeAt(at)) };
  const number = (given) => {
    if (Object.is(given, -0)) return { $: "num", v: "-0" };
    return Number.isFinite(given) ? given : { $: "num", v: String(given) };
  };
  const primitive = (value) => {
    if (value === undefined) return { $: "undefined" };
    if (typeof value === "number") return number(value);
    if (typeof value === "bigint") return { $: "bigint", v: String(value) };
    return typeof value === "string" ? text(value) : value;
  };

  const BOXES = new Set(["Boolean", "Number", "String", "BigInt"]);
  // [tag, members] of an object that is neither an array nor a plain object; else null.
  const special = (value, inner) => {
    const kind = kindOf(value);
    if (BOXES.has(kind)) return ["box", { v: inner(value.valueOf()) }];
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength } = value;
      return ["bin", { t: kind, v: hex(new Uint8Array(buffer, byteOffset, byteLength)) }];
    }
    switch (kind) {
      case "Date":
        return ["date", { v: Number.isNaN(value.getTime()) ? "NaN" : value.getTime() }];
      case "ArrayBuffer":
        return ["bin", { v: hex(new Uint8Array(value)) }];
      case "RegExp":
        return ["regexp", { v: value.source, f: value.flags }];
      case "Map":
        return ["map", { v: Array.from(value, (pair) => pair.map(inner)) }];
      case "Set":
        return ["set", { v: Array.from(value, inner) }];
      default:
        return null;
    }
  };

  const encode = (root) => {
    const shared = sharedIn(root);
    const ids = new Map();
    const inner = (value) => {
      if (value === null || typeof value !== "object") return primitive(value);
      if (ids.has(value)) return { $: "ref", v: ids.get(value) };
      if (shared.has(value)) ids.set(value, ids.size + 1);
      const id = ids.has(value) ? { id: ids.get(value) } : {};
      const found = special(value, inner);
      if (found !== null) return { $: found[0], ...id, ...found[1] };
      const names = Object.keys(value);
      if (Array.isArray(value)) {
        const dense =
          names.length === value.length && names.every((name, at) => name === String(at));
        if (dense && !shared.has(value)) return value.map(inner);
        const own = names.map((name) => [
          /^\d+$/.test(name) ? Number(name) : name,
          inner(value[name]),
        ]);
        return { $: "arr", ...id, n: value.length, v: own };
      }
      const plain = names.every(
        (name) => name !== "$" && name !== "__proto__" && name.isWellFormed(),
      );
      if (plain && !shared.has(value)) {
        return Object.fromEntries(names.map((name) => [name, inner(value[name])]));
      }
      return { $: "obj", ...id, v: names.map((name) => [text(name), inner(value[name])]) };
    };
    return inner(root);
  };

  // In keys the sign of zero is dropped: databases on disk and in memory differ in it.
  const unsigned = (key) => {
    if (Array.isArray(key)) return key.map(unsigned);
    return key === 0 ? 0 : key;
  };

  return { decode, encode, encodeKey: (key) => encode(unsigned(key)) };
})();
