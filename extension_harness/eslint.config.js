// What the linter holds over the extension: correctness rules, and the borders of style.
import js from "@eslint/js";
import globals from "globals";

const onlyDoor =
  "Only shared/browser.js says chrome.*; import what you need from there.";

export default [
  js.configs.recommended,
  {
    files: ["extension/**/*.js"],
    languageOptions: {
      ecmaVersion: 2023,
      sourceType: "module",
      globals: { ...globals.browser, ...globals.serviceworker },
    },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-console": "error",
      "no-restricted-globals": ["error", { name: "chrome", message: onlyDoor }],
      // A worker whose graph has a top-level await never registers.
      "no-restricted-syntax": [
        "error",
        {
          selector: "Program > ExpressionStatement > AwaitExpression",
          message: "No top-level await in the worker's graph.",
        },
        {
          selector:
            "CallExpression[callee.property.name='getAll'][callee.object.callee.property.name='objectStore']",
          message: "Reads go through an index, never objectStore.getAll() (OT-17).",
        },
      ],
      "max-lines": ["error", { max: 400 }],
      "max-lines-per-function": ["error", { max: 60, skipComments: true }],
      complexity: ["error", 14],
    },
  },
  {
    files: ["extension/shared/browser.js", "extension/content/observer.js"],
    languageOptions: { globals: { chrome: "readonly" } },
    rules: { "no-restricted-globals": "off" },
  },
  {
    // Classic scripts: each is one closure, so that the page's globals stay the page's.
    files: ["extension/page/**/*.js", "extension/content/**/*.js"],
    languageOptions: { sourceType: "script" },
    rules: { "max-lines-per-function": "off", strict: ["error", "function"] },
  },
];
