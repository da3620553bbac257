// Reads the native side's answer and applies it. The new array holds unedited messages as the same objects, edited ones as
// copies.
"use strict";

const { cutMarker, keptLines } = require("./markers.js");
const { TEXT_FIELDS, joinedText, json, string: textOf } = require("./snapshot.js");
const { REASONS, VERDICTS, actions: ACTIONS, markers: MARKERS } = require("../contract.js");

/**
 * Reads a plan: its sizes, the schedule's arithmetic, and its edits, oldest message first. The answer may refer to `last`,
 * the edits of the plan before.
 */
function readPlan({ plan, texts }, last) {
  const { verdict, arithmetic, firstChanged, learnedWindow, edits, ...told } = JSON.parse(plan);
  const isSticky = verdict !== null;
  const written = texts.values();
  return {
    ...told,
    firstChanged: firstChanged ?? undefined,
    learnedWindow: learnedWindow ?? undefined,
    schedule: isSticky ? "sticky" : "everyCall",
    /** Why the schedule edits or waits. */
    reason: isSticky ? VERDICTS[verdict] : "recomputed at every call",
    arithmetic: { ...arithmetic, paybackCalls: arithmetic.paybackCalls ?? Number.POSITIVE_INFINITY },
    edits: edits.map((edit) => (typeof edit === "number" ? last[edit] : newEdit(edit, written))),
  };
}

function newEdit({ action, reason, hasText, ...edit }, written) {
  return {
    ...edit,
    action: ACTIONS[action],
    reason: REASONS[reason],
    /** The text to insert, or the handle for a cut's marker. */
    text: hasText ? written.next().value : undefined,
    /** The message that it edits, the edited copy, and the text inserted there. */
    of: undefined,
    copy: undefined,
    written: undefined,
  };
}

/**
 * Makes the edits of a plan for `list`, and the messages to send. `sent` is undefined if nothing is edited. `writer` writes
 * markers. A message stays if `isAsRead(index)` is false: its edit is for other content.
 */
function applied(list, plan, writer, isAsRead) {
  const isMade = (edit) => isWhole(edit) || isMadeOf(list[edit.index], edit, writer, isAsRead);
  const edits = plan.edits.filter(isMade);
  return { edits, sent: edits.length === 0 ? undefined : request(list, edits, plan.order) };
}

/** `order` lists the sent messages; empty for the order of the list. */
function request(list, edits, order) {
  if (order.length > 0) {
    const copies = new Map(edits.map(({ index, copy }) => [index, copy]));
    return order.map((index) => copies.get(index) ?? list[index]);
  }
  // Visits only sent messages: most of a long list is dropped.
  const sent = [];
  let next = 0;
  for (const { index, count, copy } of edits) {
    for (; next < index; next += 1) sent.push(list[next]);
    if (copy !== undefined) sent.push(copy);
    next = index + count;
  }
  for (; next < list.length; next += 1) sent.push(list[next]);
  return sent;
}

/** True for an edit that changes no content: it drops messages or moves one. */
const isWhole = ({ action }) => action === "drop" || action === "moveAfter";

/** Converts saved cl100k tokens to the unit of the plan's sizes. */
const tokensSaved = (saved, { scale }) => Math.round(saved * scale);

/** Makes the edited copy of a message, unless the edit has it. Returns true if it has one now. */
function isMadeOf(message, edit, writer, isAsRead) {
  // A host that passes copies may change the returned ones, so each has an edited copy of its own.
  if (edit.of === message) return true;
  if (!isAsRead(edit.index)) return false;
  edit.written ??= insertedText(message, edit, writer);
  const content = contentOf(message, edit, edit.written, writer.language);
  const fields = edit.action === "truncate" ? cutFields(message, edit, writer.language) : {};
  const isSame = content === message.content && Object.keys(fields).length === 0;
  edit.copy = isSame ? message : withContent(message, content, fields);
  edit.of = message;
  return true;
}

function insertedText({ content }, { action, ranges, text }, writer) {
  return action === "keepLines" ? keptLines(joinedText(content), ranges, { ...writer, handle: text }) : text;
}

function contentOf({ role, content }, { action, ranges, images }, text, language) {
  const marker = (omitted) => cutMarker(omitted, language, text);
  let left = content;
  if (action === "summarize" || action === "keepLines") left = withText(content, text);
  const isAnswer = role === "assistant";
  if (action === "stripThinking" || (action === "truncate" && isAnswer && Array.isArray(content))) {
    left = content.filter((block) => !isThinking(block));
  }
  if (action === "truncate") {
    left = withTexts(left, (whole, at) => {
      const cut = ranges.find(([of]) => of === at);
      return cut === undefined ? whole : cutText(whole, cut, marker);
    });
  }
  if (isAnswer) left = withoutRepeatedCalls(left);
  return images > 0 ? withoutImages(left, images, MARKERS[language].image.join("")) : left;
}

/** Cuts the text fields other than `content`. Their positions follow the text blocks'. */
function cutFields(message, { ranges }, language) {
  let at = 0;
  withTexts(message.content, () => {
    at += 1;
  });
  const cut = {};
  for (const field of TEXT_FIELDS[message.role] ?? []) {
    const range = ranges.find(([of]) => of === at);
    if (message[field] !== undefined) at += 1;
    if (range === undefined) continue;
    const text = typeof message[field] === "string" ? message[field] : json(message[field]);
    cut[field] = cutText(text, range, (omitted) => cutMarker(omitted, language));
  }
  return cut;
}

/** A shallow copy with other `content`, other `fields` and the same prototype. */
function withContent(message, content, fields) {
  const copy = { ...message, ...(content !== undefined && { content }), ...fields };
  const prototype = Object.getPrototypeOf(message);
  return prototype === Object.prototype ? copy : Object.setPrototypeOf(copy, prototype);
}

/** Content with each text replaced by `write(text, position)`; undefined removes the block. */
function withTexts(content, write) {
  if (typeof content === "string") return write(content, 0);
  if (!Array.isArray(content)) return content;
  let at = -1;
  const left = [];
  for (const block of content) {
    if (block?.type !== "text") {
      left.push(block);
      continue;
    }
    at += 1;
    const text = write(block.text, at);
    if (text === block.text) left.push(block);
    else if (text !== undefined) left.push({ ...block, text });
  }
  return left;
}

/** Replaces the first text block with `text` and removes the others. */
const withText = (content, text) => withTexts(content, (_, at) => (at === 0 ? text : undefined));

/** Removes calls that repeat an id. */
function withoutRepeatedCalls(content) {
  if (!Array.isArray(content)) return content;
  const ids = new Set();
  const stays = (block) => block?.type !== "toolCall" || ids.size < ids.add(textOf(block.id)).size;
  const left = content.filter(stays);
  return left.length === content.length ? content : left;
}

/** Replaces each of the first `count` images with `marker`. */
function withoutImages(content, count, marker) {
  let left = count;
  return content.map((block) => {
    if (block?.type !== "image" || left === 0) return block;
    left -= 1;
    return { type: "text", text: marker };
  });
}

/** Cuts a text to head and tail around a marker. */
function cutText(text, [, head, tail], markerOf) {
  return text.slice(0, head) + markerOf(text.length - head - tail) + text.slice(text.length - tail);
}

function isThinking(block) {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

module.exports = { applied, isThinking, readPlan, tokensSaved, withContent, withText };
