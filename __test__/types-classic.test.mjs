// Projects that resolve modules as Node 10 did know nothing of `exports`: every entry's types must be found there, too.

import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const { exports: entries } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

test("every entry with types is found by classic module resolution", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "strata-types-")));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(ROOT, join(folder, "node_modules/pi-strata"), "dir");
    const options = { moduleResolution: ts.ModuleResolutionKind.Node10, module: ts.ModuleKind.CommonJS };
    const file = join(folder, "index.ts");
    writeFileSync(file, "");
    const typed = Object.entries(entries).filter(([, entry]) => entry.types?.endsWith(".d.ts"));
    assert.ok(typed.length >= 7);
    for (const [entry, { types }] of typed) {
      const name = `pi-strata${entry.slice(1)}`.replace("*", "o200k_base");
      const { resolvedModule } = ts.resolveModuleName(name, file, options, ts.sys);
      assert.equal(resolvedModule?.resolvedFileName, join(realpathSync(ROOT), types), name);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
