// Finds the marks by which a message of another agent's shape is told from pi's. The hook would damage such a list.
"use strict";

const { foreign } = require("../contract.js");

const ROLES = new Set(foreign.roles);
const BLOCKS = new Set(foreign.blocks);

/** The first mark of another shape on a message, such as `role "tool"`; undefined for pi's and for what cannot be read. */
function foreignMark(message) {
  if (typeof message !== "object" || message === null) return undefined;
  try {
    if (ROLES.has(message.role)) return `role "${message.role}"`;
    const field = foreign.fields.find((name) => message[name] !== undefined);
    if (field !== undefined) return `field "${field}"`;
    const block = Array.isArray(message.content) ? message.content.find(isForeignBlock) : undefined;
    return block && `block "${BLOCKS.has(block.type) ? block.type : "functionCall"}"`;
  } catch {
    return undefined;
  }
}

/** Gemini names the kind of a block by its key. */
function isForeignBlock(block) {
  return BLOCKS.has(block?.type) || (typeof block === "object" && block?.functionCall !== undefined);
}

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
