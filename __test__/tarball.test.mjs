// The package as npm would install it: packed, inspected, installed into an empty folder from a registry that serves
// the tarballs, and run by every Node we support, as CommonJS, as ESM and as a command.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { figures } from "../release/figures.mjs";
import { budgetOf, inspect } from "../release/inspect.mjs";
import { pack } from "../release/pack.mjs";
import { GLIBC_FLOOR, platforms } from "../release/platforms.mjs";
import { nodeBinary } from "./support/nodes.mjs";
import { startRegistry } from "./support/registry.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

/** What a user does first: the hook over a long tool result, a count, each other door once. Prints what came out. */
const USE = `
const long = Array.from({ length: 90 }, (_, i) => "line " + i + " of a result").join("\\n");
const messages = [{ role: "user", content: "go", timestamp: 1 }];
for (let i = 0; i < 8; i += 1) {
  messages.push({ role: "assistant", content: [{ type: "toolCall", id: "c" + i, name: "read", arguments: {} }] });
  messages.push({ role: "toolResult", toolCallId: "c" + i, toolName: "read", content: [{ type: "text", text: long }] });
}
async function doors() {
  const provider = { getHistory: async () => [{ role: "user", content: "stored" }] };
  const messagesOf = await new pipeline.Pipeline({ provider }).prepare(1, "", "now?");
  const manager = new sessions.ContextManager();
  await manager.addMessage("s", { role: "user", content: "会话" });
  const { dropped } = await guard.guardContext(messages, { contextWindow: 300 });
  const memory = new sessions.RollingMemory({ contextWindow: 3000 });
  const { rolledOver } = await memory.beforePrompt(messages, "And now?");
  const recalled = await strata.createRecallTool(() => messages).execute("t", { handle: "c0", pattern: "line 7" });
  return [
    messagesOf[0].content,
    manager.getMessages("s")[0].content === "会话" && "s",
    dropped > 0,
    rolledOver,
    recalled.details.found,
  ];
}
strata.createTransformContext({ schedule: "everyCall" })(messages).then(async (sent) => {
  const edited = sent.filter((message, i) => message !== messages[i]).length;
  const tokens = strata.countTokens("hello world");
  console.log(JSON.stringify({ edited, tokens, status: strata.status(), doors: await doors() }));
});
`;

const PATHS = { strata: "", guard: "/guard", pipeline: "/pipeline", sessions: "/sessions" };

/** The script above behind the lines that load what it uses. */
function imports(line) {
  return [...Object.entries(PATHS).map(([name, path]) => line(name, `pi-strata${path}`)), USE].join("\n");
}

const folder = temporaryFolder("tarball");
const packed = join(folder, "packed");
const app = join(folder, "app");
let platformNames;

before(async () => {
  platformNames = pack(packed);
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{ "private": true }\n');
  writeFileSync(
    join(app, "use.cjs"),
    imports((name, path) => `const ${name} = require("${path}");`),
  );
  writeFileSync(
    join(app, "use.mjs"),
    imports((name, path) => `import * as ${name} from "${path}";`),
  );
  const registry = await startRegistry(packed);
  try {
    await registry.npm(["install", "pi-strata", "--no-audit", "--no-fund"], app);
  } finally {
    registry.stop();
  }
});

test("the guard finds nothing wrong, and says what it skips: a newer glibc, a build with its symbols", (t) => {
  const { problems, skipped, tarballs } = inspect(packed, { isPartial: true });
  for (const { manifest, files, bytes } of tarballs)
    t.diagnostic(`${manifest.name}: ${files.length} files, ${bytes} of ${budgetOf(manifest)} bytes`);
  assert.deepEqual(problems, []);
  for (const text of skipped) assert.match(text, /asks for glibc \d|with its symbols/);
  const strict = inspect(packed).problems;
  for (const text of skipped) assert.ok(strict.includes(text), "before publishing nothing is skipped");
});

test("the tarball says where the project is, and holds no native file", () => {
  const { files, manifest } = inspect(packed, { isPartial: true }).tarballs.find(
    (tarball) => tarball.manifest.name === "pi-strata",
  );
  assert.match(manifest.repository.url, /^git\+https:\/\/.*\.git$/);
  assert.match(manifest.homepage, /^https:/);
  assert.match(manifest.bugs.url, /^https:/);
  assert.ok(!files.some((file) => file.endsWith(".node")));
  assert.equal(
    manifest.preferUnplugged,
    true,
    "Node cannot read the command, an ES module, from Yarn's archive",
  );
});

test("the glibc floor is one number, and docs/electron.md has the table of this command", () => {
  const page = readFileSync(new URL("../docs/electron.md", import.meta.url), "utf8");
  // Of the sizes only the budgets are the same wherever this runs.
  const withoutSizes = (lines) => lines.map((line) => line.split("|").toSpliced(3, 1).join("|"));
  const shown = /<!-- figures -->\n(.*?)\n<!-- \/figures -->/s.exec(page)[1].split("\n");
  assert.deepEqual(withoutSizes(shown), withoutSizes(figures([])));
  const floor = GLIBC_FLOOR.join(".");
  const texts = [page];
  for (const { dir, manifest } of platforms())
    texts.push(readFileSync(`${dir}/README.md`, "utf8"), manifest.description);
  for (const text of texts)
    for (const [, said] of text.matchAll(/glibc[ _](\d+\.\d+)/gi)) assert.equal(said, floor, text);
});

test("the guard names what is missing, foreign, of another version or for another machine", () => {
  const wrong = join(folder, "wrong");
  mkdirSync(wrong);
  const [platform] = platformNames;
  const unpacked = join(folder, "unpacked");
  mkdirSync(unpacked);
  const tarball = readdirSync(packed).find((name) => name.startsWith(platform));
  execFileSync("tar", ["-xzf", join(packed, tarball), "-C", unpacked]);
  const manifest = JSON.parse(readFileSync(join(unpacked, "package/package.json"), "utf8"));
  const spoiled = { ...manifest, version: "9.9.9", os: ["aix"], files: [...manifest.files, ".env"] };
  writeFileSync(join(unpacked, "package/package.json"), JSON.stringify(spoiled));
  writeFileSync(join(unpacked, "package/.env"), randomBytes(budgetOf(manifest)));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", wrong], { cwd: join(unpacked, "package") });
  const problems = inspect(wrong).problems.join("\n");
  for (const expected of [
    /version 9\.9\.9, not/,
    /holds .*\.env/,
    /bytes, over the budget of \d+/,
    /native file is for/,
    /pi-strata: there is no tarball/,
  ])
    assert.match(problems, expected);
});

test("npm installs the platform package of this machine and no other", () => {
  const installed = readdirSync(join(app, "node_modules")).filter((name) => name.startsWith("pi-strata"));
  assert.deepEqual(installed.sort(), ["pi-strata", ...platformNames].sort());
});

for (const name of ["node20", "node22", "node24", "node26"]) {
  test(`${name} runs it as CommonJS, as ESM and as a command`, () => {
    const binary = nodeBinary(name);
    const run = (...args) => execFileSync(binary, args, { cwd: app, encoding: "utf8" });
    assert.match(run("--version"), new RegExp(`^v${name.slice(4)}\\.`));
    for (const script of ["use.cjs", "use.mjs"]) {
      const { edited, tokens, status, doors } = JSON.parse(run(script));
      assert.deepEqual([edited, tokens, status.native], [2, 2, true], script);
      assert.deepEqual(doors, ["stored", "s", true, true, true], script);
    }
    const counted = execFileSync(binary, ["node_modules/pi-strata/bin/cli.mjs", "count", "--json"], {
      cwd: app,
      encoding: "utf8",
      input: "hello world",
    });
    assert.equal(JSON.parse(counted).total, 2);
  });
}
