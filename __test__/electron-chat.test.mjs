// The Electron example's conversation, without Electron: questions until the window is full, and on.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { fieldsOf } from "./support/fields.mjs";
import { ROOT } from "./support/root.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const folder = temporaryFolder("chat");

// The example in a folder of its own, with this package and pi where an install would put them.
const modules = join(folder, "node_modules");
cpSync(join(ROOT, "examples/electron"), folder, {
  recursive: true,
  filter: (path) => !path.includes("node_modules"),
});
mkdirSync(modules);
symlinkSync(ROOT, join(modules, "pi-strata"), "junction");
symlinkSync(join(ROOT, "node_modules/@earendil-works"), join(modules, "@earendil-works"), "junction");
const load = (name) => import(pathToFileURL(join(folder, name)).href);
const { createChat } = await load("chat.mjs");
const { answers, model } = await load("model.mjs");
const { createInspector } = createRequire(join(folder, "chat.mjs"))("pi-strata/inspector");

test("the conversation begins anew before its window is full, and remembers", async () => {
  const seen = [];
  const initialState = { systemPrompt: "Be brief.", model, tools: [] };
  const chat = createChat({ initialState, streamFn: answers(), emit: (event) => seen.push(event) });
  const QUESTIONS = 12;
  for (let i = 1; i <= QUESTIONS; i += 1) await chat.ask(`question number ${i}`);

  const of = (wanted) => seen.filter(({ type }) => type === wanted);
  assert.deepEqual(of("failed"), []);
  assert.equal(of("idle").length, QUESTIONS);
  const asked = of("message").filter(({ role }) => role === "user");
  assert.deepEqual(
    fieldsOf(asked, "text"),
    Array.from({ length: QUESTIONS }, (_, i) => `question number ${i + 1}`),
  );
  assert.equal(of("message").length, 2 * QUESTIONS);
  const rollovers = of("newConversation");
  assert.ok(rollovers.length >= 2);
  assert.equal(rollovers[0].pairs[0].q, "question number 1");
  assert.ok(of("tokens").every(({ tokensAfter }) => tokensAfter <= model.contextWindow));
});

test("the inspector sees each call of the conversation", async () => {
  const inspector = createInspector();
  const initialState = { systemPrompt: "Be brief.", model, tools: [] };
  const chat = createChat({ initialState, streamFn: answers(), emit: () => {}, inspector });
  for (const question of ["one", "two"]) await chat.ask(question);
  const { calls } = await (await fetch(new URL("state", await inspector.open()))).json();
  assert.deepEqual(fieldsOf(calls, "contextWindow", "messagesBefore"), [
    [model.contextWindow, 1],
    [model.contextWindow, 3],
  ]);
  await inspector.close();
});

test("a model that fails is told to the page, and the next question can be asked", async () => {
  const seen = [];
  const broken = () => {
    throw new Error("no network");
  };
  const initialState = { systemPrompt: "", model, tools: [] };
  const chat = createChat({ initialState, streamFn: broken, emit: (event) => seen.push(event) });
  await chat.ask("first");
  await chat.ask("second");
  assert.equal(seen.filter(({ type }) => type === "failed").length, 2);
  assert.equal(seen.filter(({ type }) => type === "idle").length, 2);
});
