// Recognises messages of another agent's shape by their marks. The hook would damage such a list.
"use strict";

const { attempt } = require("../helpers.js");
const { foreign } = require("../contract.js");

const ROLES = new Set(foreign.roles);
const BLOCKS = new Set(foreign.blocks);

/** The first mark of another shape on a message, such as `role "tool"`; undefined for pi's and for an unreadable one. */
function foreignMark(message) {
  return attempt(() => {
    const { role, content } = message ?? {};
    if (ROLES.has(role)) return `role "${role}"`;
    const field = foreign.fields.find((name) => message?.[name] !== undefined);
    if (field !== undefined) return `field "${field}"`;
    const block = Array.isArray(content) ? content.find((one) => BLOCKS.has(kindOf(one))) : undefined;
    return block && `block "${kindOf(block)}"`;
  });
}

/** Gemini names the kind of a block by its key. */
const kindOf = (block) => (block?.functionCall === undefined ? block?.type : "functionCall");

/** Throws for a message of another shape. */
function refuseForeign(message) {
  const mark = foreignMark(message);
  if (mark === undefined) return;
  throw Object.assign(new TypeError(`a message has ${mark}: the list is not pi's`), {
    code: "ERR_UNKNOWN_SHAPE",
    mark,
  });
}

module.exports = { foreignMark, refuseForeign };
