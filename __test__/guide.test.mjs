// What the README and docs/guide.md show, run as it stands in the oldest and the newest pi of that name and in the Nodes
// they run on. Only Anthropic's server is played; the guide's commands then work on the session that its program leaves.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { nodeBinary } from "./support/nodes.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PI = join(ROOT, "__test__/pi/node_modules");
const base = mkdtempSync(join(tmpdir(), "pi-strata-guide-"));
after(() => rmSync(base, { recursive: true }));

/** Where each pi lies, and the Nodes that are tried with it: 0.87 asks for 22.19. */
const PIS = [
  {
    version: "0.74",
    core: join(PI, "pi-agent-core-0.74"),
    ai: join(PI, "@earendil-works/pi-ai"),
    nodes: ["node20", "node24"],
  },
  {
    version: "0.87",
    core: join(PI, "pi-agent-core-0.87"),
    ai: join(PI, "pi-agent-core-0.87/node_modules/@earendil-works/pi-ai"),
    nodes: ["node22", "node24"],
  },
];

/** The code blocks of a page in this language. */
function blocks(page, language) {
  const fenced = readFileSync(join(ROOT, page), "utf8").split(/^`{3}/m);
  return fenced
    .filter((text, i) => i % 2 === 1 && text.startsWith(`${language}\n`))
    .map((text) => text.slice(language.length + 1));
}

/** Anthropic's server as far as a program of two tool calls asks it: one event stream after the other. */
const SERVER = `
const steps = [
  { type: "tool_use", id: "t1", name: "read", json: { path: "package.json" } },
  { type: "tool_use", id: "t2", name: "read", json: { path: "agent.js" } },
  { type: "text", text: "A folder with one program." },
];
const usage = { input_tokens: 900, output_tokens: 20, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
function events({ json, text, ...block }) {
  const delta = text === undefined
    ? { type: "input_json_delta", partial_json: JSON.stringify(json) }
    : { type: "text_delta", text };
  const content_block = text === undefined ? { ...block, input: {} } : { ...block, text: "" };
  const message = { id: "m", type: "message", role: "assistant", model: "claude", content: [], stop_reason: null, usage };
  return [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: text === undefined ? "tool_use" : "end_turn" }, usage },
    { type: "message_stop" },
  ];
}
globalThis.fetch = async (input) => {
  const { href } = new URL(input.url ?? input);
  if (!href.startsWith("https://api.anthropic.com/v1/messages")) throw new Error("asked " + href);
  const body = events(steps.shift()).map((event) => "event: " + event.type + "\\ndata: " + JSON.stringify(event) + "\\n\\n");
  return new Response(body.join(""), { headers: { "content-type": "text/event-stream" } });
};
`;

/** A folder with this pi and us, as the guide has made it by its first step. */
function folderFor({ version, core, ai }) {
  const folder = join(base, version);
  mkdirSync(join(folder, "node_modules/@earendil-works"), { recursive: true });
  const link = (target, name) => symlinkSync(target, join(folder, "node_modules", name), "junction");
  link(ROOT, "pi-strata");
  link(core, "@earendil-works/pi-agent-core");
  link(ai, "@earendil-works/pi-ai");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "server.mjs"), SERVER);
  return folder;
}

for (const pi of PIS) {
  const folder = folderFor(pi);
  for (const name of pi.nodes) {
    const run = (args, env = {}) =>
      spawnSync(nodeBinary(name), args, { cwd: folder, encoding: "utf8", env: { ...process.env, ...env } });
    const title = `pi ${pi.version} on ${name}`;

    test(`the five lines of the README run as they stand: ${title}`, () => {
      const own = `
        import { createScriptedModel, scriptedModel } from ${JSON.stringify(pathToFileURL(join(ROOT, "examples/scripted/model.mjs")).href)};
        const { streamFn } = createScriptedModel([{ text: "done" }]);
        const initialState = { systemPrompt: "", model: scriptedModel, tools: [] };`;
      const asked = `
        await agent.prompt("go");
        console.log(agent.state.messages.at(-1).content[0].text);`;
      for (const page of ["README.md", "README.zh-CN.md"]) {
        writeFileSync(join(folder, "five.js"), `${own}\n${blocks(page, "js")[0]}\n${asked}`);
        const { status, stdout, stderr } = run(["five.js"]);
        assert.deepEqual([status, stdout], [0, "done\n"], stderr);
      }
    });

    test(`the program of step 2 runs as it stands: ${title}`, () => {
      writeFileSync(join(folder, "agent.js"), blocks("docs/guide.md", "js")[0]);
      const { status, stdout, stderr } = run(["--import", "./server.mjs", "agent.js"], {
        ANTHROPIC_API_KEY: "sk-ant-none",
      });
      assert.equal(status, 0, stderr);
      assert.equal(stdout.match(/^\d+ → \d+ .+$/gm)?.length, 3, `${stdout}\n${stderr}`);
      assert.match(stdout, /^A folder with one program\.$/m);
    });

    test(`where there is no key, it says so, and the steps behind still work: ${title}`, () => {
      const none = { ANTHROPIC_API_KEY: undefined, ANTHROPIC_OAUTH_TOKEN: undefined };
      writeFileSync(
        join(folder, "keyless.js"),
        blocks("docs/guide.md", "js")[0].replace("session.", "keyless."),
      );
      const { status, stdout, stderr } = run(["keyless.js"], none);
      assert.equal(status, 0, stderr);
      assert.match(stdout, /API key/i);
      assertCommandsWork("keyless.jsonl");
    });

    test(`the commands of steps 4 and 5 work on the session it leaves: ${title}`, () =>
      assertCommandsWork("session.jsonl"));

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
  }
}
