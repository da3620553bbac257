// What benches share: the recording they measure without another, where results go, and quantiles.

import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { quantile as below } from "../lib/cli/numbers.mjs";

const RESULTS = new URL("results/", import.meta.url);
export const EXAMPLE = fileURLToPath(new URL("../examples/session.jsonl", import.meta.url));
/** Tokens; of another window the names of results say the size. */
export const CONTEXT_WINDOW = 200_000;

/** Writes a value, or a picture, to `bench/results`. */
export function save(name, value) {
  mkdirSync(RESULTS, { recursive: true });
  const text = typeof value === "string" ? value : `${JSON.stringify(value, null, 1)}\n`;
  writeFileSync(new URL(name, RESULTS), text);
}

/** The value below which this share of the values lies. */
export const quantile = (values, share = 0.5) => below(values, share);
