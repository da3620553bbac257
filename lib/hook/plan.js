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

const DROP = ACTIONS.indexOf("drop");
const MOVE_AFTER = ACTIONS.indexOf("moveAfter");
const AT = positions(EDIT);
/** Numbers before the first edit. */
const HEAD = SIZES.length + ARITHMETIC.length;
/** Numbers of a range: a text block with head and tail of a cut, lines from and to with why they stay, or a message and zeros. */
const RANGE_NUMBERS = 3;

/**
 * A plan. Its edits stay numbers until somebody asks for them: a long transcript has as many as messages, and a call that
 * nobody listens to makes no object of any.
 */
class Plan {
  #numbers;
  /** Of each edit of a dry run, the form of the call behind it. */
  #forms;
  #edits;
  /** Messages that `apply` left as they are. */
  #undone = new Set();
  /** Positions of those that it brought in edited. */
  edited = [];

  constructor({ numbers, texts, forms = [], kept = [] }) {
    this.#numbers = numbers;
    this.texts = texts;
    this.#forms = forms;
    /** Of a dry run, the results that stay whole as the newest state of something: `{ index, name }`. */
    this.kept = kept;
    Object.assign(this, this.#named(SIZES, 0));
  }

  /** The arithmetic of the sticky schedule, if that decided. */
  get arithmetic() {
    const { verdict, cacheCold, ...rest } = this.#named(ARITHMETIC, SIZES.length);
    return verdict === undefined
      ? undefined
      : { verdict: VERDICTS[verdict], cacheCold: cacheCold === 1, ...rest };
  }

  /** Numbers from `from` on, by their names; undefined where there is none. */
  #named(names, from) {
    const numberAt = (at) => (Number.isNaN(this.#numbers[at]) ? undefined : this.#numbers[at]);
    return Object.fromEntries(names.map((name, i) => [name, numberAt(from + i)]));
  }

  /** The edits that were carried out, by message. */
  get edits() {
    this.#edits ??= Array.from(this.#places(), (at, i) => this.#readEdit(at, this.#forms[i]));
    return this.#undone.size === 0
      ? this.#edits
      : this.#edits.filter(({ index }) => !this.#undone.has(index));
  }

  /**
   * The sums of all edits, without making an object of each: tokens saved by layer, and how many messages are dropped.
   * Counts what is planned, also where `apply` left a message as it is.
   */
  totals(layerCount) {
    const numbers = this.#numbers;
    const saved = new Array(layerCount).fill(0);
    let dropped = 0;
    for (const at of this.#places()) {
      saved[numbers[at + AT.layer]] += numbers[at + AT.tokensSaved];
      if (numbers[at + AT.action] === DROP) dropped += numbers[at + AT.count];
    }
    return { saved, dropped };
  }

  /** The first of `length` messages that is sent otherwise than by the plan `last`; undefined if there is none. */
  firstChange(last, length) {
    const [ours, theirs] = [this, last].map((plan) => Array.from(plan.#places(), (at) => plan.#formAt(at)));
    let from = 0;
    for (let i = 0, j = 0; i < ours.length || j < theirs.length; ) {
      const [one, other] = [ours[i], theirs[j]];
      const first = (form) => Math.max(from, form?.index ?? Infinity);
      const at = Math.min(first(one), first(other));
      if (at >= length) return undefined;
      if (first(one) !== first(other) || one.form !== other.form) return at;
      from = Math.min(one.end, other.end);
      if (one.end === from) i += 1;
      if (other.end === from) j += 1;
    }
    return undefined;
  }

  /** The messages of the edit at `at`, and how they are sent. Dropped neighbours may be one edit or several. */
  #formAt(at) {
    const numbers = this.#numbers;
    const index = numbers[at + AT.index];
    const action = this.#actionAt(at);
    const form =
      action === "drop" ? action : [action, numbers[at + AT.images], rangesOf(numbers, at)].join(" ");
    return { index, end: index + numbers[at + AT.count], form };
  }

  #actionAt(at) {
    return ACTIONS[whole(this.#numbers[at + AT.action])];
  }

  *#places() {
    for (let i = 0, at = HEAD; i < this.editCount; i += 1, at = endOf(this.#numbers, at)) yield at;
  }

  #readEdit(at, form) {
    const numbers = this.#numbers;
    const action = this.#actionAt(at);
    const images = numbers[at + AT.images];
    const ranges = action === "keepLines" ? rangesOf(numbers, at) : undefined;
    return {
      index: numbers[at + AT.index],
      action,
      layer: numbers[at + AT.layer],
      reason: REASONS[numbers[at + AT.reason]],
      tokensSaved: numbers[at + AT.tokensSaved],
      /** Messages from `index` on that are dropped by one rule; 1 for every other edit. */
      count: numbers[at + AT.count],
      ...(ranges && {
        ranges: ranges.map(([from, to]) => [from, to]),
        keeps: ranges.map(([, , why]) => why),
      }),
      ...(images > 0 && { images }),
      ...(form && { form }),
      ...(action === "moveAfter" && { after: numbers[at + EDIT.length] }),
    };
  }

  /**
   * The edited transcript; `messages` itself where nothing is edited. `made` holds what the last answers put in, by position,
   * as `{ of, copy, text }`, and takes in what is new. `writer` is how the host's hook writes markers. A message that is new
   * here and not `isAsRead(index)` stays: its edit is about other content.
   */
  apply(messages, made, writer, isAsRead) {
    const numbers = this.#numbers;
    const edited = [];
    const places = [];
    const afters = new Map();
    const texts = this.texts.values();
    this.edited = [];
    let from = 0;
    const keepTo = (index) => {
      for (; from < index; from += 1) {
        edited.push(messages[from]);
        places.push(from);
      }
    };
    for (let i = 0, at = HEAD; i < this.editCount; i += 1, at = endOf(numbers, at)) {
      const index = whole(numbers[at + AT.index]);
      const own = numbers[at + AT.texts] > 0 ? texts.next().value : undefined;
      if (numbers[at + AT.action] === MOVE_AFTER) {
        afters.set(index, numbers[at + EDIT.length]);
      } else if (numbers[at + AT.action] === DROP) {
        keepTo(index);
        from += whole(numbers[at + AT.count]);
      } else if (this.#isMade(messages[index], index, at, { made, own, writer, isAsRead })) {
        keepTo(index);
        edited.push(made[index].copy);
        places.push(index);
        this.edited.push(index);
        from += 1;
      } else {
        this.#undone.add(index);
      }
    }
    if (from === 0 && afters.size === 0) return messages;
    keepTo(messages.length);
    return afters.size === 0 ? edited : moved(edited, places, afters);
  }

  /** Makes the edited message at `index`, unless that was made before; whether there is one. */
  #isMade(message, index, at, { made, own, writer, isAsRead }) {
    const known = this.#numbers[at + AT.isNew] === 0 ? made[index] : undefined;
    if (known?.of === message) return true;
    if (!isAsRead(index)) return false;
    made[index] = this.#make(message, at, known?.text, own, writer);
    return true;
  }

  /** The message as the edit at `at` leaves it, with the text that was put in. */
  #make(message, at, known, own, writer) {
    const text = known ?? this.#textOf(message, at, own, writer);
    const images = whole(this.#numbers[at + AT.images]);
    const content = this.#contentOf(message, at, text, writer);
    const sent = message.role === "assistant" ? withoutRepeatedCalls(content) : content;
    const left = images > 0 ? withoutImages(sent, images, MARKERS[writer.language].image.join("")) : sent;
    return { of: message, copy: left === message.content ? message : withContent(message, left), text };
  }

  #textOf({ content }, at, own, writer) {
    const action = this.#actionAt(at);
    if (action === "summarize" || action === "truncate") return own;
    if (action !== "keepLines") return undefined;
    const text = joinedText(content);
    const ranges = rangesOf(this.#numbers, at);
    return keptLines(text, ranges, (gaps, chars) => gapMarkers(gaps, chars, { ...writer, handle: own }));
  }

  /** `text` is what is put in: a whole text, or the handle that a cut names. */
  #contentOf({ content }, at, text, { language }) {
    switch (this.#actionAt(at)) {
      case "summarize":
      case "keepLines":
        return withText(content, text);
      case "stripThinking":
        return withoutThinking(content);
      case "truncate":
        return withCuts(content, rangesOf(this.#numbers, at), (omitted) =>
          cutMarker(omitted, language, text),
        );
      default:
        return content;
    }
  }
}

/** The beginning of the edit after the one at `at`. */
function endOf(numbers, at) {
  return at + EDIT.length + whole(numbers[at + AT.ranges]) * RANGE_NUMBERS;
}

/** As V8 likes an index: one that came as a float is looked up several times slower. */
function whole(number) {
  return number | 0;
}

function rangesOf(numbers, at) {
  return Array.from({ length: numbers[at + AT.ranges] }, (_, i) => {
    const range = at + EDIT.length + i * RANGE_NUMBERS;
    return [numbers[range], numbers[range + 1], numbers[range + 2]];
  });
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

function withoutThinking(content) {
  return content.filter((block) => !isThinking(block));
}

/** Of two calls with one id the first. */
function withoutRepeatedCalls(content) {
  if (!Array.isArray(content)) return content;
  const ids = new Set();
  const stays = (block) => block?.type !== "toolCall" || ids.size < ids.add(textOf(block.id)).size;
  const left = content.filter(stays);
  return left.length === content.length ? content : left;
}

/**
 * `messages`, which stood at `places`, with each one of `afters` behind the one it names. Where that is missing, a message
 * stays in place.
 */
function moved(messages, places, afters) {
  const left = new Set(places);
  const behind = new Map();
  const order = [];
  const put = (at) => {
    order.push(messages[at]);
    for (const next of behind.get(places[at]) ?? []) put(next);
  };
  const isMoved = (index) => left.has(afters.get(index));
  for (const [at, index] of places.entries()) {
    if (!isMoved(index)) continue;
    const after = afters.get(index);
    behind.set(after, [...(behind.get(after) ?? []), at]);
  }
  for (const [at, index] of places.entries()) if (!isMoved(index)) put(at);
  return order;
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

module.exports = { Plan, isThinking, withContent, withText, withoutRepeatedCalls };
