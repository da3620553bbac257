// Checks lists by the providers' rules before they are sent: `validate` finds what a provider would refuse, `repair` fixes
// it with the fewest losses. Neither changes its input. A list of another agent's shape has no problems and is returned as
// it is, with one process warning.
"use strict";

const { families, rules } = require("../contract.js");
const { native } = require("../native/native.js");
const { Reporter, unknownShape } = require("../hook/events.js");
const { foreignMark } = require("../hook/foreign.js");
const { withContent } = require("../hook/plan.js");
const { Batch } = require("../hook/snapshot.js");

const RULES = Object.entries(rules);

function validate(messages, api) {
  const { family, broken } = ask("validate", messages, api, "problems") ?? { broken: [] };
  return broken.map(([index, number]) => {
    const [rule, words] = RULES[number];
    return { index, rule, message: words[families[family]] ?? words.any };
  });
}

function repair(messages, api) {
  const answer = ask("repair", messages, api, "mends");
  if (answer === undefined) return messages;
  const { order, mends } = answer;
  if (order === null && Object.keys(mends).length === 0) return messages;
  return (order ?? Array.from(messages.keys())).flatMap((index) => {
    const mend = mends[index];
    if (mend === undefined) return [messages[index]];
    return mend.isDropped ? [] : [mended(messages[index], mend)];
  });
}

/** The answer of the native side; undefined for messages of another shape. */
function ask(name, messages, api, method) {
  if (!Array.isArray(messages)) throw new TypeError(`${name}: messages must be an array`);
  if (api !== undefined && typeof api !== "string") throw new TypeError(`${name}: api must be a string`);
  const found = messages.map(foreignMark).find((mark) => mark !== undefined);
  if (found !== undefined) {
    new Reporter(undefined, name).warn(unknownShape(found));
    return undefined;
  }
  const batch = new Batch();
  for (let index = 0; index < messages.length; index += 1) batch.addReadable(messages[index]);
  return JSON.parse(native()[method](batch, api));
}

function mended(message, { blocks, isRewritten }) {
  const { content } = message;
  if (!isRewritten) return withContent(message, without(content, blocks));
  const left = Array.isArray(content) ? without(content, blocks).map(wellFormed) : content;
  const copy = withContent(message, left);
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
