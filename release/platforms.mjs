// The platform packages under npm/: what each is for and which native file it carries.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The repository. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The newest glibc a Linux package may ask for: that which Node 20 asks for itself. */
export const GLIBC_FLOOR = [2, 28];

/** Packages a user adds on purpose; npm must not choose them by itself (it would install both halves and the whole). */
const CHOSEN_BY_HAND = new Set(["darwin-universal"]);

/** `{ key, name, dir, manifest, file, isOptional }` of each; `isOptional`: an optional dependency of the root package. */
export function platforms() {
  return readdirSync(`${ROOT}/npm`).map((key) => {
    const dir = `${ROOT}/npm/${key}`;
    const manifest = readJson(`${dir}/package.json`);
    return {
      key,
      dir,
      manifest,
      name: manifest.name,
      file: manifest.main,
      isOptional: !CHOSEN_BY_HAND.has(key),
    };
  });
}

export function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}
