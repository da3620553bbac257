// By which encoding a transcript is counted.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");
const { encodingOf, nameOfEncoding } = require("./models.js");

/**
 * The encoding asked for; for "auto" that of the model which answered first: what was counted stays so when another one
 * goes on, and what that one counts otherwise is learned. Undefined is cl100k_base: for models that are not OpenAI's, before
 * the first answer, and where no one asks.
 */
function encodingOfTranscript(wanted, messages) {
  if (wanted !== "auto") return nameOfEncoding(wanted);
  for (const message of messages) {
    const model = modelOf(message);
    if (model !== undefined) return encodingOf(model);
  }
  return undefined;
}

/** The model of an answer; nothing of one that failed, or of what cannot be looked at. */
function modelOf(message) {
  try {
    if (message?.role !== "assistant" || UNSENT_STOP_REASONS.has(message.stopReason)) return undefined;
    return typeof message.model === "string" ? message.model : undefined;
  } catch {
    return undefined;
  }
}

module.exports = { encodingOfTranscript };
