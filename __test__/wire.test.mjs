// The wire as judge: generated sessions through the hook, through real pi-ai of every version, to the request bodies of
// four protocols. Whatever the provider would object to in the hook's request, it must have objected to without it.
//
// WIRE_CHECKS is the number of bodies judged, over all protocols and versions.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createTransformContext } from "../index.js";
import { piVersions } from "./pi/versions.mjs";
import { authors } from "./support/authors.mjs";
import { conversation } from "./support/conversation.mjs";
import { deepFreeze } from "./support/generate.mjs";
import { forEachPi } from "./support/on-node22.mjs";
import { introduced, judge, rulesOf } from "./support/wire/judge.mjs";
import { PiWire } from "./support/wire/pi.mjs";
import { countSockets } from "./support/wire/sockets.mjs";

const CHECKS = Number(process.env.WIRE_CHECKS ?? 2_000);
/** Sets of options each session goes through the hook with. */
const OPTIONS_PER_SESSION = 4;
/** Share of the bodies that the hook must have changed for the rest to prove anything. */
const MIN_CHANGED = 0.5;

const apis = Object.keys(rulesOf);
const sessionsPerAuthor = (api) => {
  const perApi = CHECKS / apis.length / Object.keys(piVersions).length;
  const perAuthor = perApi / authors.filter((author) => author.api === api).length;
  return Math.ceil(perAuthor / OPTIONS_PER_SESSION);
};

/** Windows from far too small for any session to larger than all. */
const options = fc
  .record({
    contextWindow: fc.oneof(fc.integer({ min: 100, max: 3_000 }), fc.integer({ min: 3_000, max: 60_000 })),
    reserve: fc.double({ min: 0, max: 0.9, noNaN: true }),
    keepRecentToolResults: fc.nat(6),
    keepRecentThinking: fc.nat(2),
    keepRecentMessages: fc.nat(20),
    summaryHeadLines: fc.nat(4),
    summaryTailLines: fc.nat(3),
    minSummaryChars: fc.constantFrom(0, 100, 500),
    summaryLineChars: fc.constantFrom(20, 500),
    marker: fc.constantFrom("zh", "en", (lines, chars) => `<${lines} of ${chars}>`),
    excludeTools: fc.constantFrom([], ["bash"]),
    thinkingScope: fc.constantFrom("all", "closedTurns"),
    overflow: fc.constantFrom("shrink", "shrink", "keep"),
    calibrate: fc.boolean(),
    schedule: fc.constantFrom("everyCall"),
  })
  .map(({ reserve, ...rest }) => ({ ...rest, reserveTokens: Math.floor(reserve * rest.contextWindow) }));

const sockets = countSockets();

async function suite(version) {
  const wire = await PiWire.load(version);
  describe(`Requests of pi ${version}`, () => {
    for (const author of authors) {
      test(`to ${author.model} over ${author.api} break no rule that they kept without the hook`, async (t) => {
        const numRuns = sessionsPerAuthor(author.api);
        const counts = { bodies: 0, changed: 0, flawed: 0 };
        const property = fc.asyncProperty(
          conversation(author, wire.systemMessages),
          fc.array(options, { minLength: OPTIONS_PER_SESSION, maxLength: OPTIONS_PER_SESSION }),
          (messages, optionSets) => check(wire, author, messages, optionSets, counts),
        );
        await fc.assert(property, { numRuns });
        assert.ok(
          counts.changed >= MIN_CHANGED * counts.bodies,
          `${counts.changed} of ${counts.bodies} changed`,
        );
        t.diagnostic(
          `wire: pi ${version} ${author.api} ${author.model}: ${counts.bodies} bodies, ${counts.changed} changed by ` +
            `the hook, 0 violations; ${counts.flawed} flawed by pi alone`,
        );
      });
    }

    test("open no socket", async () => {
      assert.equal(sockets.opened, 0);
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      const socket = connect(server.address().port, "127.0.0.1");
      assert.equal(sockets.opened, 1, "the counter counts");
      socket.destroy();
      server.close();
      sockets.opened = 0;
    });
  });
}

/** One session with and without the hook: what the hook adds to the provider's objections is nothing. */
async function check(wire, author, messages, optionSets, counts) {
  deepFreeze(messages);
  const unedited = await wire.payloadOf(author, messages);
  const isFlawed = judge(author.api, unedited, unedited).length > 0;
  for (const options of optionSets) {
    const failures = [];
    const onEvent = (event) => event.type === "failed" && failures.push(event);
    const edited = await createTransformContext({ ...options, onEvent })(messages);
    assert.deepEqual(failures, []);
    counts.bodies += 1;
    counts.flawed += isFlawed ? 1 : 0;
    if (edited === messages) continue;
    counts.changed += 1;
    assert.deepEqual(introduced(author.api, await wire.payloadOf(author, edited), unedited), []);
  }
}

await forEachPi(suite, { file: import.meta.url, minPassed: authors.length + 1, timeoutMs: 1_800_000 });
