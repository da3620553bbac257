// What hosts hand over by mistake is named, whichever door it comes to; and what they hand over rightly comes back the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as pipeline from "pi-strata/pipeline";
import * as sessions from "pi-strata/sessions";
import { open } from "./support/sqlite.mjs";

const ODD = [undefined, null, -1, Number.NaN, "x", true, {}, { foo: 1 }, [], [null], [1], [{}]];
ODD.push([{ role: "user" }], () => {}, Symbol("odd"), 1n, new Date(0));
/** What V8 says of code that did not look. */
const UNNAMED = /is not a function|is not iterable|reading '|Cannot (?:read|convert|destructure)|circular/;
const onEvent = () => {};
const DOORS = {
  ContextManager: () => new sessions.ContextManager({ onEvent }),
  RollingMemory: () => new sessions.RollingMemory({ contextWindow: 1000, onEvent }),
  SimpleCompressor: () => new pipeline.SimpleCompressor(),
  StandardAssembler: () => new pipeline.StandardAssembler(),
  SqliteProvider: () => {
    const db = open(":memory:");
    db.exec("CREATE TABLE history(id INTEGER PRIMARY KEY, chat_id, role text, text text, created_at text)");
    return new pipeline.SqliteProvider({ db });
  },
};

function methodsOf(door) {
  const prototypes = [Object.getPrototypeOf(door), Object.getPrototypeOf(Object.getPrototypeOf(door))];
  return prototypes
    .filter((prototype) => prototype !== Object.prototype)
    .flatMap((prototype) => Object.entries(Object.getOwnPropertyDescriptors(prototype)))
    .filter(([name, { value }]) => typeof value === "function" && !["constructor", "close"].includes(name))
    .map(([name]) => name);
}

async function assertNamed(what, work) {
  try {
    const answer = work();
    if (typeof answer?.next === "function") for await (const _ of answer) break;
    else await answer;
  } catch (error) {
    assert.doesNotMatch(String(error?.message), UNNAMED, what);
  }
}

for (const [name, make] of Object.entries(DOORS)) {
  test(`${name} names what is wrong with an argument`, async () => {
    const door = make();
    for (const method of methodsOf(door)) {
      for (const first of ODD) {
        for (const second of ODD) await assertNamed(`${name}.${method}`, () => door[method](first, second));
      }
    }
    await door.close?.();
  });
}

test("functions and constructors name it, too", async () => {
  for (const [name, door] of Object.entries({ ...sessions, ...pipeline })) {
    if (typeof door !== "function") continue;
    for (const first of ODD) {
      for (const second of ODD) {
        await assertNamed(name, () => (/^[A-Z]/.test(name) ? new door(first, second) : door(first, second)));
      }
    }
  }
});

test("-0 in the arguments of a call comes back as -0, from memory and from a database", () => {
  const call = { id: "1", name: "move", arguments: { by: -0, list: [-0, 0], text: "-0" } };
  const said = { role: "assistant", content: "", toolCalls: [call] };
  for (const options of [{}, { database: open(":memory:") }]) {
    const manager = new sessions.ContextManager(options);
    manager.addMessage("s", said);
    const [kept] = manager.getMessages("s");
    assert.deepEqual(kept.toolCalls[0].arguments, call.arguments, "deepEqual tells -0 from 0");
    const [back] = sessions.toAgentMessages([kept]);
    assert.deepEqual(back.content[0].arguments, call.arguments);
  }
});

test("arguments that are nested too deeply for any request come back as their text", () => {
  const text = `{"list":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
  const said = { role: "assistant", content: "", toolCalls: [{ id: "1", name: "move", arguments: text }] };
  const [{ content }] = sessions.toAgentMessages([said]);
  assert.deepEqual(content[0].arguments, { value: text });
});
