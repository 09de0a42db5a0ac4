// The page's classic scripts, loaded as the manifest orders them into a world of their own.

import { readFileSync } from "node:fs";
import vm from "node:vm";

const EXTENSION = new URL(
  "../../../extension_harness/extension/",
  import.meta.url,
);

export function pageWorld({
  aliId = "2500000000001",
  fetch = async () => new Response("{}"),
} = {}) {
  const manifest = JSON.parse(
    readFileSync(new URL("manifest.json", EXTENSION), "utf8"),
  );
  const scripts = manifest.content_scripts[0].js.filter(
    (name) => !["page/bridge.js", "page/taps.js"].includes(name),
  );
  const window = { aliId, fetch };
  window.window = window;
  const context = vm.createContext(
    Object.assign(window, {
      URL,
      URLSearchParams,
      TextDecoder,
      Uint8Array,
      atob,
      setTimeout,
      clearTimeout,
      location: {
        host: "onetalk.alibaba.com",
        href: "https://onetalk.alibaba.com/",
        hash: "",
      },
      document: { cookie: "" },
    }),
  );
  loadInto(context, ...scripts);
  const bright = vm.runInContext('window[Symbol.for("bright.page")]', context);
  return { bright, context, window };
}

/** Runs more of the extension's scripts in such a world. */
export function loadInto(context, ...names) {
  for (const name of names) {
    vm.runInContext(
      readFileSync(new URL(name, EXTENSION), "utf8"),
      context,
      name,
    );
  }
}

/** A value of that world as one of this, so that equality is about content alone. */
export function plain(value) {
  return JSON.parse(JSON.stringify(value));
}
