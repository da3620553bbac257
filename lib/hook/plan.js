// Reads the native side's answer by the names of the wire, and applies it: a new array in which unedited messages are
// the very objects that came in, and edited ones are copies.
"use strict";

const { cutMarker, gapMarkers, keptLines } = require("./markers.js");
const { joinedText, string: textOf } = require("./snapshot.js");
const {
  REASONS,
  VERDICTS,
  actions: ACTIONS,
  arithmetic: ARITHMETIC,
  edit: EDIT,
  markers: MARKERS,
  positions,
  sizes: SIZES,
} = require("../contract.js");

const AT = positions(EDIT);
/** Numbers before the first edit. */
const HEAD = SIZES.length + ARITHMETIC.length;
/** Numbers of a range: a text block with head and tail of a cut, lines from and to with why they stay, or a message and zeros. */
const RANGE_NUMBERS = 3;

/** A plan: its sizes and the schedule's arithmetic by the names of the wire, and its edits, oldest message first. */
class Plan {
  #order;

  constructor({ numbers, texts, order, forms, kept }) {
    Object.assign(this, named(SIZES, numbers, 0));
    const { verdict, cacheCold, ...rest } = named(ARITHMETIC, numbers, SIZES.length);
    /** Undefined where the sticky schedule did not decide. */
    this.arithmetic =
      verdict === undefined ? undefined : { verdict: VERDICTS[verdict], cacheCold: cacheCold === 1, ...rest };
    /** Of a dry run, the results that stay whole as the newest state of something: `{ index, name }`. */
    this.kept = kept;
    this.edits = readEdits(numbers, texts, forms, this.editCount);
    /** Positions of the messages that `apply` brought in edited. */
    this.edited = [];
    this.#order = order;
  }

  /**
   * The edited transcript; `messages` itself where nothing is edited. `made` holds what the last answers put in, by position,
   * as `{ of, copy, text }`, and takes in what is new. `writer` is how the hook writes markers. A message that is new here and not
   * `isAsRead(index)` stays, for its edit is about other content.
   */
  apply(messages, made, writer, isAsRead) {
    const isMade = (edit) => isWhole(edit) || isMadeOf(messages[edit.index], edit, made, writer, isAsRead);
    this.edits = this.edits.filter(isMade);
    this.edited = this.edits.filter((edit) => !isWhole(edit)).map(({ index }) => index);
    if (this.edits.length === 0) return messages;
    const sent = messages.slice();
    for (const { index, action, count } of this.edits) {
      if (action === "drop") sent.fill(DROPPED, index, index + count);
    }
    for (const index of this.edited) sent[index] = made[index].copy;
    const ordered = this.#order.length === 0 ? sent : this.#order.map((index) => sent[index]);
    return ordered.filter((message) => message !== DROPPED);
  }
}

/** Stands in a request where a message is left out. */
const DROPPED = Symbol("dropped");

/** True of an edit that changes no message itself: it leaves messages out, or moves one. */
const isWhole = ({ action }) => action === "drop" || action === "moveAfter";

/** Numbers from `from` on, by their names; undefined where there is none. */
function named(names, numbers, from) {
  const numberAt = (at) => (Number.isNaN(numbers[at]) ? undefined : numbers[at]);
  return Object.fromEntries(names.map((name, i) => [name, numberAt(from + i)]));
}

function readEdits(numbers, texts, forms, length) {
  const told = texts.values();
  const edits = [];
  for (let at = HEAD; edits.length < length; ) {
    // As V8 likes an index: one that came as a float is looked up several times slower.
    const number = (name) => numbers[at + AT[name]] | 0;
    const first = at + EDIT.length;
    const end = first + number("ranges") * RANGE_NUMBERS;
    const ranges = [];
    for (let from = first; from < end; from += RANGE_NUMBERS)
      ranges.push(Array.from(numbers.subarray(from, from + RANGE_NUMBERS)));
    edits.push({
      index: number("index"),
      action: ACTIONS[number("action")],
      layer: number("layer"),
      reason: REASONS[number("reason")],
      tokensSaved: number("tokensSaved"),
      /** Messages from `index` on that are dropped by one rule; 1 for every other edit. */
      count: number("count"),
      images: number("images"),
      isNew: number("isNew") === 1,
      /** What a new edit puts in: a whole text, or the handle that a cut names. */
      text: number("texts") > 0 ? told.next().value : undefined,
      ranges,
      form: forms[edits.length],
    });
    at = end;
  }
  return edits;
}

/** Makes the edited message, unless that was made before; whether there is one. */
function isMadeOf(message, edit, made, writer, isAsRead) {
  const known = edit.isNew ? undefined : made[edit.index];
  if (known?.of === message) return true;
  if (!isAsRead(edit.index)) return false;
  const text = known?.text ?? textPutIn(message, edit, writer);
  const content = contentOf(message, edit, text, writer.language);
  const copy = content === message.content ? message : withContent(message, content);
  made[edit.index] = { of: message, copy, text };
  edit.isNew = false;
  return true;
}

function textPutIn({ content }, { action, ranges, text }, writer) {
  if (action !== "keepLines") return text;
  const markers = (gaps, chars) => gapMarkers(gaps, chars, { ...writer, handle: text });
  return keptLines(joinedText(content), ranges, markers);
}

function contentOf({ role, content }, { action, ranges, images }, text, language) {
  const marker = (omitted) => cutMarker(omitted, language, text);
  let left = content;
  if (action === "summarize" || action === "keepLines") left = withText(content, text);
  if (action === "stripThinking") left = content.filter((block) => !isThinking(block));
  if (action === "truncate") left = withCuts(content, ranges, marker);
  if (role === "assistant") left = withoutRepeatedCalls(left);
  return images > 0 ? withoutImages(left, images, MARKERS[language].image.join("")) : left;
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
  const isText = (block) => block?.type === "text";
  const first = content.findIndex(isText);
  const kept = content.filter((block, at) => at === first || !isText(block));
  return kept.map((block) => (isText(block) ? { ...block, text } : block));
}

/** Of two calls with one id the first. */
function withoutRepeatedCalls(content) {
  if (!Array.isArray(content)) return content;
  const ids = new Set();
  const stays = (block) => block?.type !== "toolCall" || ids.size < ids.add(textOf(block.id)).size;
  const left = content.filter(stays);
  return left.length === content.length ? content : left;
}

/** `marker` in place of each of the first `count` images. */
function withoutImages(content, count, marker) {
  let left = count;
  return content.map((block) => {
    if (block?.type !== "image" || left === 0) return block;
    left -= 1;
    return { type: "text", text: marker };
  });
}

function withCuts(content, cuts, markerOf) {
  if (typeof content === "string") return cuts.length > 0 ? cutText(content, cuts[0], markerOf) : content;
  let textBlock = -1;
  return content.map((block) => {
    if (block?.type !== "text") return block;
    textBlock += 1;
    const cut = cuts.find(([of]) => of === textBlock);
    return cut === undefined ? block : { ...block, text: cutText(block.text, cut, markerOf) };
  });
}

/** Head and tail around the marker for what is left out. */
function cutText(text, [, head, tail], markerOf) {
  return text.slice(0, head) + markerOf(text.length - head - tail) + text.slice(text.length - tail);
}

function isThinking(block) {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

module.exports = { Plan, isThinking, withContent, withText };
