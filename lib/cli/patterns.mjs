// File names with `*` and `?` in them, for shells that hand them on as they are: Windows has no other.

import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, parse, sep } from "node:path";
import { UsageError } from "./session.mjs";

const WILD = /[*?]/;

/** `names`, each with a pattern in it replaced by the files it stands for, in order. A UsageError where it has none. */
export async function expand(names) {
  const found = [];
  for (const name of names) {
    if (!WILD.test(name) || existsSync(name)) found.push(name);
    else found.push(...(await matches(name)));
  }
  return found;
}

async function matches(pattern) {
  const { root } = parse(pattern);
  const parts = pattern.slice(root.length).split(sep === "\\" ? /[\\/]+/ : /\/+/);
  let paths = [root];
  for (const part of parts) {
    const steps = await Promise.all(paths.map((path) => step(path, part)));
    paths = steps.flat();
  }
  const files = paths.filter((path) => existsSync(path));
  if (files.length === 0) throw new UsageError(`No file matches ${pattern}.`);
  return files;
}

/** The entries of a folder that one part of a pattern stands for. */
async function step(folder, part) {
  if (!WILD.test(part)) return [join(folder, part)];
  const escaped = part.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  const wanted = new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`);
  const entries = await readdir(folder === "" ? "." : folder).catch(() => []);
  return entries
    .filter((name) => wanted.test(name) && (part.startsWith(".") || !name.startsWith(".")))
    .sort()
    .map((name) => join(folder, name));
}
