// Writes the JSON schema of the extension's settings from contract.json and the comments in index.d.ts: `npm run build:schema`.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import contract from "../lib/contract.js";
import rules from "../lib/options.js";
import { defaultOf, OWN_SETTINGS } from "../pi-extension/settings.mjs";

export const SCHEMA_FILE = new URL("../pi-extension/settings.schema.json", import.meta.url);

const texts = { type: "array", items: { type: "string" } };
const above0 = { type: "number", exclusiveMinimum: 0 };
const from0 = { type: "number", minimum: 0 };
/** Schemas of the rules that contract.json names. */
const RULES = {
  positive: above0,
  amount: from0,
  ratio: { ...above0, maximum: 1 },
  count: { type: "integer", minimum: 0 },
  flag: { type: "boolean" },
  names: texts,
  text: { type: "string" },
  encoding: { type: "string" },
  keep: {
    anyOf: [
      { const: false },
      { type: "object", properties: { files: texts, tools: texts }, additionalProperties: false },
    ],
  },
  times: { type: "array", items: { type: "number" } },
  economy: { anyOf: [{ enum: Object.keys(contract.economies) }, above0] },
  cache: {
    anyOf: [
      { const: "auto" },
      {
        type: "object",
        properties: Object.fromEntries(Object.keys(contract.cacheOptions).map((name) => [name, from0])),
        additionalProperties: false,
      },
    ],
  },
};
/** Descriptions of what index.d.ts does not know: the extension's own settings, and those with another default. */
const OWN = {
  contextWindow: "The model's window in tokens. Default: what pi reports.",
  marker: 'The language of the markers: "zh", "en", or "auto" for the conversation\'s.',
  recall: "False takes the tool `recall` from the model, and the handles from the markers.",
  enabled: "False begins each session paused, as PI_STRATA=off does.",
  protectPaths: "Patterns of files whose results stay whole, such as PLAN.md or docs/**.",
};
/** Schemas of its rules. */
const ownSchema = (rule) => RULES[Object.keys(RULES).find((name) => rules[name] === rule)];

/** The schema of pi's settings.json, of which it describes the key "strata". */
export function schemaOf() {
  const comments = readFileSync(new URL("../index.d.ts", import.meta.url), "utf8");
  const isJson = ([, { is }]) => is !== "handler";
  const options = Object.entries(contract.hookOptions).filter(isJson);
  const described = [
    ...options.map(([name, { is }]) => [
      name,
      Array.isArray(is) ? { enum: is } : RULES[is],
      OWN[name] ?? commentOf(name, comments),
    ]),
    ...Object.entries(OWN_SETTINGS).map(([name, [, rule]]) => [name, ownSchema(rule), OWN[name]]),
  ];
  const properties = described.map(([name, rule, description]) => [
    name,
    { description, ...rule, default: defaultOf(name) },
  ]);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The settings of pi-strata in pi's settings.json",
    type: "object",
    properties: {
      strata: {
        type: "object",
        properties: Object.fromEntries(properties),
        additionalProperties: false,
      },
    },
  };
}

/** The comment above an option in index.d.ts, without its tags. */
function commentOf(name, text) {
  const [, body] =
    new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*(?://[^\\n]*\\s*)?${name}\\?:`).exec(text) ?? [];
  return body
    ?.split(/\n\s*\*\s*@/, 1)[0]
    .replace(/\s*\n\s*\*\s?/g, " ")
    .trim();
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(SCHEMA_FILE, `${JSON.stringify(schemaOf(), null, 2)}\n`);
