// The providers' rules for a host that wants to look before it sends: what is wrong with a transcript, and the same
// transcript mended by leaving out as little as can be. Never changes what it is given.
"use strict";

const { native } = require("../native/native.js");
const { withContent } = require("../hook/plan.js");
const { Batch } = require("../hook/snapshot.js");

function validate(messages, api) {
  return ask("validate", messages, api, "problems");
}

function repair(messages, api) {
  return apply(messages, ask("repair", messages, api, "mends"));
}

function apply(messages, mends) {
  if (mends.length === 0) return messages;
  const byIndex = new Map(mends.map((mend) => [mend.index, mend]));
  return messages.flatMap((message, index) => {
    const mend = byIndex.get(index);
    if (mend === undefined) return [message];
    return mend.isDropped ? [] : [mended(message, mend)];
  });
}

function ask(name, messages, api, question) {
  if (!Array.isArray(messages)) throw new TypeError(`${name}: messages must be an array`);
  if (api !== undefined && typeof api !== "string") throw new TypeError(`${name}: api must be a string`);
  const batch = new Batch();
  for (let index = 0; index < messages.length; index += 1) batch.addReadable(messages[index]);
  return native()[question](batch.numbers, batch.strings, api);
}

function mended(message, { blocks, isRewritten }) {
  const { content } = message;
  if (!isRewritten) return withContent(message, without(content, blocks));
  const copy = withContent(
    message,
    Array.isArray(content) ? without(content, blocks).map(wellFormed) : content,
  );
  for (const field of ["content", "summary", "command", "output"]) {
    if (typeof copy[field] === "string") copy[field] = copy[field].toWellFormed();
  }
  return copy;
}

function without(content, blocks) {
  const left = new Set(blocks);
  return content.filter((_, at) => !left.has(at));
}

function wellFormed(block) {
  if (block?.type !== "text" || typeof block.text !== "string" || block.text.isWellFormed()) return block;
  return { ...block, text: block.text.toWellFormed() };
}

module.exports = { validate, repair };
