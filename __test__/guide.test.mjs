// docs/guide.md, followed step by step: its program runs as it stands (only the model is a script), and its commands
// work on the session that the program leaves.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const guide = readFileSync(join(ROOT, "docs/guide.md"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "pi-strata-guide-"));
after(() => rmSync(folder, { recursive: true }));

/** The guide's code blocks in this language. */
function blocks(language) {
  const fenced = guide.split(/^`{3}/m).filter((_, i) => i % 2 === 1);
  return fenced
    .filter((text) => text.startsWith(`${language}\n`))
    .map((text) => text.slice(language.length + 1));
}

const SCRIPT = `
import { createScriptedModel } from ${JSON.stringify(pathToFileURL(join(ROOT, "examples/scripted/model.mjs")).href)};
const { streamFn } = createScriptedModel((function* () {
  for (const path of ["package.json", "agent.js"]) yield { calls: [{ name: "read", arguments: { path } }] };
  yield { text: "A folder with one program." };
})());
`;

const run = (...args) => spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });

test("the program of step 2 runs, and says what each request held", () => {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(ROOT, join(folder, "node_modules/pi-strata"), "junction");
  symlinkSync(
    join(ROOT, "node_modules/@earendil-works"),
    join(folder, "node_modules/@earendil-works"),
    "junction",
  );
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const [program] = blocks("js");
  const scripted = program.replace("new Agent({", "new Agent({ streamFn,");
  assert.notEqual(scripted, program);
  writeFileSync(join(folder, "agent.js"), SCRIPT + scripted);
  const { status, stdout, stderr } = run("agent.js");
  assert.equal(status, 0, stderr);
  assert.equal(stdout.match(/^\d+ → \d+ .+$/gm)?.length, 3, stdout);
  assert.match(stdout, /^A folder with one program\.$/m);
});

test("where there is no key, it says so", () => {
  writeFileSync(join(folder, "keyless.js"), blocks("js")[0].replace("session.jsonl", "keyless.jsonl"));
  const env = { ...process.env };
  for (const name of ["ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN"]) delete env[name];
  const { status, stdout, stderr } = spawnSync(process.execPath, ["keyless.js"], {
    cwd: folder,
    encoding: "utf8",
    env,
  });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^No API key/m);
});

test("the commands of steps 4 and 5 work on the session it leaves", () => {
  const commands = blocks("sh").flatMap((block) => block.match(/(?<=^npx pi-strata )[^#\n]+/gm) ?? []);
  assert.equal(commands.length, 3);
  for (const command of commands) {
    const { status, stdout, stderr } = run(join(ROOT, "bin/pi-strata.mjs"), ...command.trim().split(" "));
    assert.equal(status, 0, `${command}\n${stderr}`);
    assert.ok(stdout.length > 0, command);
  }
});
