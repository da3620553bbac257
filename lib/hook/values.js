// Compares messages: whether one was changed in place, whether one is a copy of another, and how much two lists share.
"use strict";

const { areSame } = require("../helpers.js");
const { TEXT_FIELDS } = require("./snapshot.js");

/** Fields compared beside the content, by role. */
const FIELDS = {
  __proto__: null,
  ...TEXT_FIELDS,
  assistant: ["stopReason", "usage"],
  toolResult: ["toolCallId", "toolName"],
};

/**
 * The values that are compared to detect a change in place.
 * A host changes in place what grows (content, calls, a shell's output) or comes late (the stop reason, the usage). Fields
 * set once are not compared: `timestamp`, `api`, `provider`, `model`, signatures, and the usage's answer tokens and costs,
 * which come with the prompt's.
 */
function valuesOf(message) {
  const { role, content, excludeFromContext } = message;
  const values = [role, content, excludeFromContext];
  if (Array.isArray(content)) {
    for (const block of content) {
      values.push(block, block?.text ?? block?.thinking ?? block?.arguments);
      if (block?.type === "toolCall") values.push(block.id, block.name);
    }
  }
  for (const field of FIELDS[role] ?? []) values.push(message[field]);
  const { usage } = message;
  if (role === "assistant") values.push(usage?.input, usage?.cacheRead, usage?.cacheWrite);
  return values;
}

const isAt = (values, at, value) => Object.is(values[at], value);

/**
 * True if a message changed in place since `valuesOf` read `values`, in the same order. Compares by Object.is, because a host
 * may compute NaN. Makes no list: every call checks hundreds of messages.
 */
function isStale(values, message) {
  const { role, content, excludeFromContext } = message;
  let at = 3;
  let isSame = isAt(values, 0, role) && isAt(values, 1, content) && isAt(values, 2, excludeFromContext);
  for (const block of Array.isArray(content) ? content : []) {
    isSame &&=
      isAt(values, at++, block) && isAt(values, at++, block?.text ?? block?.thinking ?? block?.arguments);
    if (block?.type === "toolCall") isSame &&= isAt(values, at++, block.id) && isAt(values, at++, block.name);
  }
  for (const field of FIELDS[role] ?? []) isSame &&= isAt(values, at++, message[field]);
  if (role === "assistant") {
    const { input, cacheRead, cacheWrite } = message.usage ?? {};
    isSame &&= isAt(values, at++, input) && isAt(values, at++, cacheRead) && isAt(values, at++, cacheWrite);
  }
  return !isSame || at !== values.length;
}

/** Greatest depth that is compared. Deeper values count as different. */
const DEEPEST = 32;

function isSame(one, other, depth) {
  if (one === other || Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth > DEEPEST) return false;
  return Array.isArray(one) ? isSameList(one, other, depth + 1) : isSameRecord(one, other, depth + 1);
}

function isSameList(one, other, depth) {
  if (!Array.isArray(other) || one.length !== other.length) return false;
  for (let i = 0; i < one.length; i += 1) if (!isSame(one[i], other[i], depth)) return false;
  return true;
}

/** Compares all keys but `late`, which may be missing or differ. */
function isSameRecord(one, other, depth, late) {
  if (!isPlain(one) || !isPlain(other)) return false;
  let keys = 0;
  for (const key in one) {
    // JSON leaves such a field out.
    if (key === late || one[key] === undefined) continue;
    if (!isSame(one[key], other[key], depth)) return false;
    keys += 1;
  }
  for (const key in other) if (key !== late && other[key] !== undefined) keys -= 1;
  return keys === 0;
}

/** False for objects such as a Date, whose keys do not show their value. */
function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const isAnswer = (message) => message?.role === "assistant";

/**
 * True if two messages are the same object or hold the same plain data: all of it, since the host's `protect` may read any
 * of it. An answer may gain its usage late. Node's `isDeepStrictEqual` takes more than twice as long: 1.8 against 0.8 ms for
 * 1 000 messages.
 */
function isSameMessage(known, message) {
  // `===` would load each message from memory.
  if (Object.is(known, message)) return known !== undefined;
  if (known === undefined || known?.role !== message?.role) return false;
  return isAnswer(known) ? isSameRecord(known, message, 0, "usage") : isSame(known, message, 0);
}

/** The number of same objects with which two lists begin after their opening system messages. */
function ownBeginning(known, list) {
  const [from, first] = [openingSystems(known), openingSystems(list)];
  const most = Math.min(known.length - from, list.length - first);
  let own = 0;
  while (own < most && Object.is(known[from + own], list[first + own])) own += 1;
  return own;
}

/**
 * The beginning that two lists share after their opening system messages, which agents share and hosts renew. The first `own` are
 * the same objects; `count` includes copies, and `knownEnd` is their end in the known list. `kept` counts from the
 * first message on, system ones too; `isOwn` is true if all these are the same objects. Counts no copies if the beginning has
 * fewer than `least` messages.
 */
function sharedBeginning(known, list, own = ownBeginning(known, list), least = 0) {
  const [from, first] = [openingSystems(known), openingSystems(list)];
  let count = own;
  const isLess = least > own && !isSameMessage(known[from + least - 1], list[first + least - 1]);
  while (!isLess && isSameMessage(known[from + count], list[first + count])) count += 1;
  let kept = 0;
  while (kept < Math.min(from, first) && isSameMessage(known[kept], list[kept])) kept += 1;
  if (kept === from && kept === first) kept += count;
  const isOwn = count === own && areSame(known.slice(0, from), list.slice(0, first));
  return { count, knownEnd: from + count, kept, isOwn };
}

/** Most messages of a list compared by value with all known ones: a list may begin with a few new ones. */
const MOST_COMPARED = 8;

/** The position in `known` of each message of `list` from `kept` on: the same object, else a copy; -1 for a new one. */
function positionsIn(known, list, kept) {
  let [next, comparisons, places] = [kept, MOST_COMPARED * (known.length - kept), undefined];
  const placeOf = (message) => {
    if (message === undefined) return -1;
    if (known[next] === message) return next;
    places ??= new Map(known.slice(kept).map((of, i) => [of, kept + i]));
    const own = places.get(message);
    if (own !== undefined) return own;
    for (let place = next; place < known.length && comparisons > 0; place += 1) {
      if (isSameMessage(known[place], message)) return place;
      comparisons -= 1;
    }
    return -1;
  };
  return Int32Array.from(list.slice(kept), (message) => {
    const place = placeOf(message);
    if (place >= 0) next = place + 1;
    return place;
  });
}

function openingSystems(list) {
  const first = list.findIndex((message) => message?.role !== "system");
  return first < 0 ? list.length : first;
}

module.exports = {
  isAnswer,
  isSameMessage,
  isStale,
  ownBeginning,
  positionsIn,
  sharedBeginning,
  valuesOf,
};
