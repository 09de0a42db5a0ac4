// The service worker's entry: registers listeners, at top level and synchronously, so that
// the event which woke the worker is never missed. All logic is in background/.

import { Background } from "./background/start.js";
import { onAlarm, onLifecycle, onLocalChange, onMessage } from "./shared/browser.js";

const background = new Background();

onMessage((message, sender) => background.message(message, sender));
onAlarm(() => background.alarm());
onLifecycle(() => background.alarm());
onLocalChange((keys) => background.configured(keys));

// For whoever watches the worker from outside: another start has another id.
Object.defineProperty(globalThis, "bright", {
  value: Object.freeze({ bootId: background.bootId }),
});
