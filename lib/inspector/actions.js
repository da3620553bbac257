// The fate of each message between what a hook was given and what it gave back, told by the objects themselves.
"use strict";

const { cutMarker: CUT_MARKER } = require("../contract.js");

/**
 * `{ index, action, sent }` of each message that is not what it was: "drop", or "summarize", "stripThinking" or
 * "truncate" with the copy that was sent instead.
 */
function actionsOf(list, edited) {
  if (list === edited) return [];
  const found = [];
  let at = 0;
  for (const [index, message] of list.entries()) {
    const sent = edited[at];
    if (sent === message) {
      at += 1;
    } else if (isCopyOf(sent, message)) {
      found.push({ index, action: editOf(message, sent), sent });
      at += 1;
    } else {
      found.push({ index, action: "drop" });
    }
  }
  return found;
}

/** An edited message differs from the one it was made of in `content` alone. */
function isCopyOf(sent, message) {
  if (typeof sent !== "object" || sent === null || typeof message !== "object" || message === null)
    return false;
  const { role, timestamp, toolCallId } = message;
  return sent.role === role && sent.timestamp === timestamp && sent.toolCallId === toolCallId;
}

function editOf(message, sent) {
  if (message.role === "assistant" && sent.content?.length < message.content?.length) return "stripThinking";
  return message.role === "toolResult" && !isCut(sent) ? "summarize" : "truncate";
}

/** Layer 4's note of what it cut out. */
const CUT = new RegExp(CUT_MARKER.map((part) => part.replace(/[.[\]]/g, "\\$&")).join("\\d+"));

function isCut({ content }) {
  const texts = typeof content === "string" ? [content] : (content ?? []).map((block) => block?.text);
  return texts.some((text) => typeof text === "string" && CUT.test(text));
}

module.exports = { actionsOf };
