// Chooses the language of marker lines where the host leaves that to the conversation.
"use strict";

const { native } = require("../native/native.js");

/** Beginning of the message that is looked at, in UTF-16 code units: more would not change what it is written in. */
const LOOKED_AT_CHARS = 4000;

/**
 * "zh" or "en" for "auto", else what was asked for. It is told by what the conversation begins with, so that it stays the
 * same while the conversation grows: by the first message of the user's, or a summary that stands before it; "zh" without a
 * letter.
 */
function markerOfTranscript(wanted, messages) {
  if (wanted !== "auto") return wanted;
  const text = openingText(messages);
  return (native().chinese(text) ?? true) ? "zh" : "en";
}

function openingText(messages) {
  try {
    const opening = messages.find((message) => OPENINGS.has(message?.role));
    const { content, summary } = opening ?? {};
    if (typeof summary === "string") return summary.slice(0, LOOKED_AT_CHARS);
    if (typeof content === "string") return content.slice(0, LOOKED_AT_CHARS);
    const texts = Array.isArray(content) ? content.filter((block) => typeof block?.text === "string") : [];
    return texts
      .map(({ text }) => text.slice(0, LOOKED_AT_CHARS))
      .join("\n")
      .slice(0, LOOKED_AT_CHARS);
  } catch {
    // A getter of the host's that throws: reading the messages will say so.
    return "";
  }
}

const OPENINGS = new Set(["user", "compactionSummary", "branchSummary"]);

module.exports = { markerOfTranscript };
