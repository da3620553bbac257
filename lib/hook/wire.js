// JavaScript's half of what both languages must agree on: the positions by which roles, blocks, actions and layers
// cross the boundary as numbers, and the documented defaults. Needed before the native file is loaded, so it cannot be
// asked for them; a test compares this table with the one in src/node/contract.rs.
"use strict";

const ROLES = ["system", "user", "assistant", "toolResult", "summary", "other"];
const BLOCKS = ["text", "thinking", "toolCall", "image", "counted", "unknown"];
const ACTIONS = ["summarize", "stripThinking", "drop", "truncate", "keepLines", "omitImages"];
/** What saves tokens, by number; `repair` leaves out what a provider would refuse. */
const LAYERS = ["repair", "toolResults", "thinking", "window", "shrink"];

/** By the name of the option; lengths in UTF-16 code units. */
const DEFAULTS = {
  contextWindow: 200_000,
  contextRatio: 0.75,
  reserveTokens: 8192,
  keepRecentToolResults: 6,
  keepRecentThinking: 1,
  keepRecentImages: 8,
  keepRecentMessages: 20,
  summaryHeadLines: 3,
  summaryTailLines: 2,
  minSummaryChars: 500,
  summaryLineChars: 500,
  imageTokens: 1200,
  /** Longest thinking signature that can be the name of a wire field. */
  wireFieldChars: 64,
  cacheRead: 0.1,
  cacheWrite: 1.25,
  cacheTtlSeconds: 300,
  maxToolResultChars: 50_000,
  truncateHeadChars: 2_000,
  truncateTailChars: 2_000,
  recallPageChars: 8_000,
  recallMaxPageChars: 20_000,
};

/** Stop reasons after which pi does not send an assistant message again. */
const UNSENT_STOP_REASONS = new Set(["error", "aborted"]);

/** What stands for the middle of a text that was cut: the number of characters left out, between these two. */
const CUT_MARKER = ["\n\n... [", " characters truncated] ...\n\n"];

/** Position by name. */
function positions(names) {
  return Object.fromEntries(names.map((name, position) => [name, position]));
}

module.exports = { ROLES, BLOCKS, ACTIONS, LAYERS, DEFAULTS, CUT_MARKER, UNSENT_STOP_REASONS, positions };
