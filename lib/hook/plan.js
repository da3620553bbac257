// Reads a plan from the native side (the numbers of src/node/wire.rs) and applies it to the host's own messages:
// copy on write, by reference, never touching what it was given.
"use strict";

const { actions: ACTIONS, cutMarker: CUT_MARKER, positions } = require("../contract.js");

const {
  summarize: SUMMARIZE,
  keepLines: KEEP_LINES,
  stripThinking: STRIP_THINKING,
  drop: DROP,
  truncate: TRUNCATE,
  omitImages: OMIT_IMAGES,
} = positions(ACTIONS);

const HEADER_NUMBERS = 18;
const ARITHMETIC_AT = 7;
const MISS_AT = 15;
const EDIT_NUMBERS = 8;
/** Where in an edit stand the number of its cuts, of the messages it is about, and of the images it leaves out. */
const CUTS_AT = 5;
const COUNT_AT = 6;
const IMAGES_AT = 7;
const CUT_NUMBERS = 3;

/**
 * A plan. Its edits stay numbers until somebody asks for them: a long transcript has as many as messages, and a call
 * that nobody listens to makes no object of any.
 */
class Plan {
  #numbers;
  #edits;
  /** Messages that `apply` left as they are. */
  #undone = new Set();

  /** `id` tells this plan from others; the same plan applied again has the same. */
  constructor(numbers, id) {
    this.#numbers = numbers;
    this.id = id;
    this.tokensBefore = numbers[0];
    this.tokensAfter = numbers[1];
    this.floorTokens = numbers[2];
    this.budget = numbers[3];
    this.threshold = numbers[4];
    this.scale = numbers[5];
  }

  get #editCount() {
    return this.#numbers[6];
  }

  /** The arithmetic of the sticky schedule; undefined where the layers were recomputed. */
  get arithmetic() {
    const [
      verdict,
      isCold,
      removableTokens,
      carriedCost,
      rewriteCost,
      paybackCalls,
      expectedCalls,
      frontier,
    ] = this.#numbers.subarray(ARITHMETIC_AT, MISS_AT);
    if (verdict < 0) return undefined;
    return {
      verdict,
      cacheCold: isCold === 1,
      removableTokens,
      carriedCost,
      rewriteCost,
      paybackCalls,
      expectedCalls,
      frontier,
    };
  }

  /** What the last call missed of the provider's cache, if its report has just come: `{ cause, tokens, dollars }`. */
  get miss() {
    const [cause, tokens, dollars] = this.#numbers.subarray(MISS_AT, HEADER_NUMBERS);
    if (cause < 0) return undefined;
    return { cause, tokens, dollars: Number.isNaN(dollars) ? undefined : dollars };
  }

  /** What is done to which message, without what was left undone. */
  get edits() {
    this.#edits ??= this.#readEdits();
    return this.#edits.filter(({ index }) => !this.#undone.has(index));
  }

  /**
   * What the edits come to, without making an object of each: tokens saved by layer, and how many messages are dropped.
   * Counts what is planned, also where `apply` left a message as it is.
   */
  totals(layerCount) {
    const numbers = this.#numbers;
    const saved = new Array(layerCount).fill(0);
    let dropped = 0;
    let at = HEADER_NUMBERS;
    for (let i = 0; i < this.#editCount; i += 1) {
      saved[numbers[at + 2]] += numbers[at + 4];
      if (numbers[at + 1] === DROP) dropped += numbers[at + COUNT_AT];
      at = endOfEdit(numbers, at);
    }
    return { saved, dropped };
  }

  #readEdits() {
    const numbers = this.#numbers;
    const edits = [];
    let at = HEADER_NUMBERS;
    for (let i = 0; i < this.#editCount; i += 1) {
      edits.push({
        index: numbers[at],
        action: ACTIONS[numbers[at + 1]],
        layer: numbers[at + 2],
        reason: numbers[at + 3],
        tokensSaved: numbers[at + 4],
        /** Messages from `index` on that are dropped by one rule; 1 for every other edit. */
        count: numbers[at + COUNT_AT],
        ...(numbers[at + 1] === KEEP_LINES && {
          ranges: readRanges(numbers, at),
          keeps: readKeeps(numbers, at),
        }),
        ...(numbers[at + IMAGES_AT] > 0 && { images: numbers[at + IMAGES_AT] }),
      });
      at = endOfEdit(numbers, at);
    }
    return edits;
  }

  /**
   * The edited transcript; `messages` itself where nothing is edited. A message is edited only if `isAsRead(index)`,
   * for else its edit is about other content. `texts.shortened(index)` is asked for summaries, `texts.ofLines(index,
   * readRanges)` for results cut by line.
   */
  apply(messages, isAsRead, texts) {
    const numbers = this.#numbers;
    const edited = [];
    let from = 0;
    let at = HEADER_NUMBERS;
    const editCount = this.#editCount;
    for (let i = 0; i < editCount; i += 1) {
      const index = whole(numbers[at]);
      const action = whole(numbers[at + 1]);
      if (action === DROP || isAsRead(index)) {
        for (; from < index; from += 1) edited.push(messages[from]);
        from += whole(numbers[at + COUNT_AT]);
        if (action !== DROP) edited.push(applyEdit(messages[index], numbers, at, texts));
      } else {
        this.#undone.add(index);
      }
      at = endOfEdit(numbers, at);
    }
    if (this.#undone.size === editCount) return messages;
    for (; from < messages.length; from += 1) edited.push(messages[from]);
    return edited;
  }
}

/** Where the edit after the one at `at` begins. */
function endOfEdit(numbers, at) {
  return at + EDIT_NUMBERS + whole(numbers[at + CUTS_AT]) * CUT_NUMBERS;
}

/** As V8 likes an index: one that came as a float is looked up several times slower. */
function whole(number) {
  return number | 0;
}

/** The cuts of the edit at `at`. */
function readCuts(numbers, at) {
  const count = numbers[at + CUTS_AT];
  return Array.from({ length: count }, (_, i) => {
    const cut = at + EDIT_NUMBERS + i * CUT_NUMBERS;
    return { textBlock: numbers[cut], head: numbers[cut + 1], tail: numbers[cut + 2] };
  });
}

/** The ranges of lines that the edit at `at` keeps, as `[first, after the last]`. */
function readRanges(numbers, at) {
  return readCuts(numbers, at).map(({ textBlock, head }) => [textBlock, head]);
}

/** Why each of them stays, by number. */
function readKeeps(numbers, at) {
  return readCuts(numbers, at).map(({ tail }) => tail);
}

/** The message as the edit at `at` leaves it. */
function applyEdit(message, numbers, at, texts) {
  const images = whole(numbers[at + IMAGES_AT]);
  const edited = applyAction(message, numbers, at, texts);
  return images > 0 ? withContent(edited, withoutImages(edited.content, images, texts.image())) : edited;
}

function applyAction(message, numbers, at, texts) {
  const { content } = message;
  switch (whole(numbers[at + 1])) {
    case SUMMARIZE:
      return withContent(message, withText(content, texts.shortened(whole(numbers[at]))));
    case KEEP_LINES:
      return withContent(
        message,
        withText(
          content,
          texts.ofLines(whole(numbers[at]), () => readRanges(numbers, at)),
        ),
      );
    case OMIT_IMAGES:
      return message;
    case STRIP_THINKING:
      return withContent(
        message,
        content.filter((block) => !isThinking(block)),
      );
    case TRUNCATE:
      return withContent(message, withCuts(content, readCuts(numbers, at)));
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

/** `marker` in place of each of the first `count` images. */
function withoutImages(content, count, marker) {
  let left = count;
  return content.map((block) => {
    if (block?.type !== "image" || left === 0) return block;
    left -= 1;
    return { type: "text", text: marker };
  });
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

/** Head and tail around a note of what is missing, as `cut_text` in src/context/cuts.rs counts it. */
function cutText(text, { head, tail }) {
  const omitted = text.length - head - tail;
  return [text.slice(0, head), CUT_MARKER.join(omitted), text.slice(text.length - tail)].join("");
}

function isThinking(block) {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

module.exports = { Plan, isThinking, withContent };
