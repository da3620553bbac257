// Reads a plan from the native side (the numbers of src/node/wire.rs) and applies it to the host's own messages:
// copy on write, by reference, never touching what it was given.
"use strict";

const ACTIONS = ["summarize", "stripThinking", "drop", "truncate"];

const HEADER_NUMBERS = 14;
const ACCOUNT_AT = 8;
const EDIT_NUMBERS = 6;
const CUT_NUMBERS = 3;

const NO_CUTS = [];

function readPlan(numbers) {
  const [tokensBefore, tokensAfter, floorTokens, budget, threshold, scale, editCount, wantedCount] = numbers;
  const edits = [];
  let at = HEADER_NUMBERS;
  for (let i = 0; i < editCount; i += 1) {
    const cutCount = numbers[at + 5];
    edits.push({
      index: numbers[at],
      action: ACTIONS[numbers[at + 1]],
      layer: numbers[at + 2],
      reason: numbers[at + 3],
      tokensSaved: numbers[at + 4],
      cuts: cutCount === 0 ? NO_CUTS : readCuts(numbers, at + EDIT_NUMBERS, cutCount),
    });
    at += EDIT_NUMBERS + cutCount * CUT_NUMBERS;
  }
  const wantedTexts = Array.from(numbers.subarray(at, at + wantedCount));
  return {
    tokensBefore,
    tokensAfter,
    floorTokens,
    budget,
    threshold,
    scale,
    account: readAccount(numbers),
    edits,
    wantedTexts,
  };
}

/** The arithmetic of the sticky schedule; undefined where the layers were recomputed. */
function readAccount(numbers) {
  const [verdict, isCold, removableTokens, carriedCost, rewriteCost, frontier] = numbers.subarray(
    ACCOUNT_AT,
    HEADER_NUMBERS,
  );
  if (verdict < 0) return undefined;
  return { verdict, cacheCold: isCold === 1, removableTokens, carriedCost, rewriteCost, frontier };
}

function readCuts(numbers, from, count) {
  return Array.from({ length: count }, (_, i) => {
    const at = from + i * CUT_NUMBERS;
    return { textBlock: numbers[at], head: numbers[at + 1], tail: numbers[at + 2] };
  });
}

/** The edited transcript; `messages` itself where nothing is edited. `shortenedText(message)` is asked for summaries. */
function applyPlan(messages, edits, shortenedText) {
  if (edits.length === 0) return messages;
  const edited = [];
  let from = 0;
  for (const edit of edits) {
    for (; from < edit.index; from += 1) edited.push(messages[from]);
    from += 1;
    if (edit.action !== "drop") edited.push(applyEdit(messages[edit.index], edit, shortenedText));
  }
  for (; from < messages.length; from += 1) edited.push(messages[from]);
  return edited;
}

function applyEdit(message, edit, shortenedText) {
  switch (edit.action) {
    case "summarize":
      return withContent(message, withText(message.content, shortenedText(message)));
    case "stripThinking":
      return withContent(
        message,
        message.content.filter((block) => !isThinking(block)),
      );
    default:
      return withContent(message, withCuts(message.content, edit.cuts));
  }
}

/** A shallow copy that differs in `content` alone, of the same prototype. */
function withContent(message, content) {
  const copy = { ...message, content };
  const prototype = Object.getPrototypeOf(message);
  return prototype === Object.prototype ? copy : Object.setPrototypeOf(copy, prototype);
}

/** `text` in place of all text blocks, where the first one stood; everything else stays. */
function withText(content, text) {
  if (typeof content === "string") return text;
  const blocks = [];
  let isPlaced = false;
  for (const block of content) {
    if (block?.type !== "text") blocks.push(block);
    else if (!isPlaced) {
      blocks.push({ ...block, text });
      isPlaced = true;
    }
  }
  return blocks;
}

function withCuts(content, cuts) {
  if (typeof content === "string") return cuts.length > 0 ? cutText(content, cuts[0]) : content;
  let textBlock = -1;
  return content.map((block) => {
    if (block?.type !== "text") return block;
    textBlock += 1;
    const cut = cuts.find((candidate) => candidate.textBlock === textBlock);
    return cut === undefined ? block : { ...block, text: cutText(block.text, cut) };
  });
}

/** Head and tail around a note of what is missing, as `cut_text` in src/layers/shrink.rs counts it. */
function cutText(text, { head, tail }) {
  const omitted = text.length - head - tail;
  return `${text.slice(0, head)}\n\n... [${omitted} characters truncated] ...\n\n${text.slice(text.length - tail)}`;
}

function isThinking(block) {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

module.exports = { readPlan, applyPlan, isThinking, withContent };
