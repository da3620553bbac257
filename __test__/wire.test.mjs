// The wire as judge: generated sessions, and recorded ones call by call, through the hook, through real pi-ai of every version, to
// the request bodies of six protocols. Whatever the provider would object to in the hook's request, it must have objected to
// without it.
//
// WIRE_CHECKS is the number of bodies judged of generated sessions, over all protocols and versions. PI_STRATA_SESSIONS names more
// recordings than the example, with colons between; WIRE_EVERY is 1 for every call of theirs.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { piVersions } from "./pi/versions.mjs";
import { authors } from "./support/authors.mjs";
import { conversation } from "./support/conversation.mjs";
import { forEachPi } from "./support/each-pi.mjs";
import { EXAMPLE } from "./support/recording.mjs";
import { deepFreeze } from "./support/transcripts.mjs";
import { introduced, rulesOf } from "./support/wire/judge.mjs";
import { PiWire } from "./support/wire/pi.mjs";

const CHECKS = Number(process.env.WIRE_CHECKS ?? 2_000);
/** Sets of options each session goes through the hook with. */
const OPTIONS_PER_SESSION = 4;
/** One session of so many checks is played call by call. */
const PLAYED_EVERY = 100;
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
    marker: fc.constantFrom("zh", "en", (lines, chars) => `<${lines} of ${chars}>`),
    excludeTools: fc.constantFrom([], ["bash"]),
    thinkingScope: fc.constantFrom("all", "closedTurns"),
    overflow: fc.constantFrom("shrink", "shrink", "keep"),
    calibrate: fc.boolean(),
    schedule: fc.constantFrom("everyCall", "sticky", "auto"),
    economy: fc.constantFrom("faithful", "balanced", "thrifty"),
    // Generated sessions tick in seconds: with one of them the cache is always cold.
    cache: fc.record({ ttlSeconds: fc.constantFrom(1, 300) }),
  })
  .map(({ reserve, ...rest }) => ({ ...rest, reserveTokens: Math.floor(reserve * rest.contextWindow) }));
const damage = fc.record({ at: fc.nat(), isDropped: fc.boolean() });
const optionSets = fc.array(options, { minLength: OPTIONS_PER_SESSION, maxLength: OPTIONS_PER_SESSION });

const recordings = [EXAMPLE, ...(process.env.PI_STRATA_SESSIONS?.split(":") ?? [])];
const EVERY = Number(process.env.WIRE_EVERY ?? 5);
const RECORDED_OPTIONS = [
  {},
  { schedule: "sticky" },
  { schedule: "everyCall", contextWindow: 24_000 },
  { schedule: "sticky", contextWindow: 24_000, economy: "thrifty" },
  { schedule: "everyCall", contextWindow: 4_000, reserveTokens: 500 },
];

/** The model that gave this answer, and one of each protocol it did not use, as after a change of model. */
function recipients({ api, provider, model }) {
  const recorded = api in rulesOf ? [{ api, provider, model, thinks: "maybe" }] : [];
  const others = apis.filter((other) => other !== api);
  return [...recorded, ...others.map((other) => authors.find((author) => author.api === other))];
}

/**
 * Puts the hook on trial over a transcript: the result judges the request to this author that the hook makes of it, or of a damaged
 * form of it that the hook has to mend, against the request without the hook. True if the hook changed it.
 */
async function trialOf(wire, author, messages) {
  const unedited = await wire.payloadOf(author, messages);
  return async (options, given = messages) => {
    if (!isKnownTo(author, given)) return false;
    const failures = [];
    const onEvent = (event) => event.type === "failed" && failures.push(event.code);
    const edited = await createTransformContext({ ...options, onEvent })(given);
    const payload = edited === messages ? unedited : await wire.payloadOf(author, edited);
    const objections = [...failures, ...introduced(author.api, payload, unedited)];
    assert.deepEqual(objections, [], `${author.api} ${JSON.stringify(options)}`);
    return edited !== given;
  };
}

/** False for a list that does not tell the hook whose turn it is: it holds no answer of that provider. */
const isKnownTo = ({ api, speaksInTurn }, messages) =>
  !speaksInTurn || messages.some((message) => message.api === api);

/** Plays a session call by call on one hook and judges each request. */
async function play(wire, author, messages, options) {
  const failures = [];
  const onEvent = (event) => event.type === "failed" && failures.push(event.code);
  const hook = createTransformContext({ ...options, onEvent });
  for (const at of messages.keys()) {
    const given = messages.slice(0, at);
    if (messages[at].role !== "assistant" || at === 0) continue;
    const edited = await hook(given);
    if (edited === given || !isKnownTo(author, given)) continue;
    const [payload, unedited] = [await wire.payloadOf(author, edited), await wire.payloadOf(author, given)];
    const objections = [...failures, ...introduced(author.api, payload, unedited)];
    assert.deepEqual(objections, [], `${author.api} ${JSON.stringify(options)}, call before ${at}`);
  }
}

async function suite(version) {
  const wire = await PiWire.load(version);
  describe(`Requests of pi ${version}`, () => {
    for (const author of authors) {
      test(`to ${author.model} over ${author.api} break no rule that they kept without the hook, nor where results lost their calls`, async (t) => {
        const changed = [];
        const session = conversation(author, wire.systemMessages);
        const property = fc.asyncProperty(session, optionSets, damage, async (messages, sets, damage) => {
          const judged = await trialOf(wire, author, deepFreeze(messages));
          for (const options of sets) changed.push(await judged(options));
          await judged(sets[0], damaged(messages, damage));
        });
        await fc.assert(property, { numRuns: sessionsPerAuthor(author.api) });
        const count = changed.filter(Boolean).length;
        assert.ok(count >= MIN_CHANGED * changed.length, `${count} of ${changed.length} bodies changed`);
        t.diagnostic(`wire: ${changed.length} bodies, ${count} changed by the hook, 0 violations`);
      });
    }

    for (const author of authors.filter(({ speaksInTurn }) => speaksInTurn)) {
      test(`to ${author.model} over ${author.api} break no rule call by call`, async () => {
        const property = fc.asyncProperty(
          conversation(author, wire.systemMessages),
          options,
          (messages, options) => play(wire, author, deepFreeze(messages), options),
        );
        await fc.assert(property, { numRuns: Math.ceil(CHECKS / PLAYED_EVERY) });
      });
    }

    for (const [i, file] of recordings.entries()) {
      test(`of recorded session ${i + 1} break no rule that they kept without the hook`, async () => {
        let changed = 0;
        const messages = deepFreeze(structuredClone((await loadSession(file)).messages));
        const answers = messages.flatMap(({ role }, at) => (role === "assistant" && at > 0 ? [at] : []));
        for (const at of answers.filter((_, call) => call % EVERY === 0)) {
          for (const author of recipients(messages[at])) {
            const judged = await trialOf(wire, author, messages.slice(0, at));
            for (const options of RECORDED_OPTIONS) changed += Number(await judged(options));
          }
        }
        assert.ok(changed > 0);
      });
    }
  });
}

/** The session with the calls of one message gone: the message dropped, or one that pi does not send. */
function damaged(messages, { at, isDropped }) {
  const calling = messages.filter((message) => message.stopReason === "toolUse");
  const lost = calling[at % calling.length];
  const rest = (message) => (isDropped ? [] : [{ ...message, stopReason: "aborted" }]);
  return messages.flatMap((message) => (message === lost ? rest(message) : [message]));
}

await forEachPi(suite);
