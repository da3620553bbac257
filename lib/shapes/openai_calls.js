// Converts tool calls between OpenAI's shape and a session's. OpenAI's arguments are the model's own text, so they are parsed
// only if nothing is lost.
"use strict";

const { json } = require("../hook/snapshot.js");
const { readCall } = require("./calls.js");

/** Digits that a JavaScript number always keeps (IEEE 754; Number.MAX_SAFE_INTEGER has 16). */
const SAFE_DIGITS = 15;
const STRING = /"(?:[^"\\]|\\.)*"/gs;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function toOpenAICall(call) {
  if (isForeign(call)) return call;
  const { id, name, arguments: text } = readCall(call);
  return { id, type: "function", function: { name, arguments: text } };
}

/** Returns a call in a session's shape. A call of another kind stays as it is. */
function fromOpenAICall(call) {
  if (call?.function === undefined) return call;
  const { name, arguments: args } = call.function;
  return { id: call.id, name, arguments: parsed(args) };
}

/** True for calls such as those of OpenAI's custom tools, whose input is free text. */
function isForeign(call) {
  return typeof call?.type === "string" && !["function", "toolCall"].includes(call.type);
}

/**
 * Parses arguments. Returns the text itself for broken JSON, for a bare string (whose quotes would be lost) and for numbers
 * longer than JavaScript's.
 */
function parsed(text) {
  if (typeof text !== "string") return text;
  try {
    const value = JSON.parse(text);
    const isSayable = typeof value !== "string" && json(value) !== "";
    return isSayable && keepsNumbers(text) ? value : text;
  } catch {
    return text;
  }
}

function keepsNumbers(text) {
  return (text.replace(STRING, "").match(NUMBER) ?? []).every((literal) => {
    const value = Number(literal);
    const digits = literal.replace(/\D/g, "");
    if (digits.length > SAFE_DIGITS) return String(value) === literal;
    return Number.isFinite(value) && (value !== 0 || !/^[^eE]*[1-9]/.test(literal));
  });
}

module.exports = { fromOpenAICall, toOpenAICall };
