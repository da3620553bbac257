// The marker lines for omitted content: their language, the host's own function, and a marker for each gap in a text.
"use strict";

const { attempt } = require("../helpers.js");
const { markers: MARKERS } = require("../contract.js");
const { valueNow } = require("./options.js");
const { joinedText } = require("./snapshot.js");

/** Providers refuse a blank text, and a marker may be all that is left of a result. */
const VISIBLE = { accepts: (answer) => typeof answer === "string" && answer.trim() !== "" };

/** UTF-16 code units of the opening message that decide the language. */
const LOOKED_AT_CHARS = 4000;

/**
 * The language of the built-in markers, "zh" or "en". For "auto", and for a host that writes its own, the first user message or a
 * summary before it decides, so that it stays the same while the conversation grows.
 */
function languageOf(marker, messages) {
  if (marker === "zh" || marker === "en") return marker;
  return isChinese(openingText(messages)) ? "zh" : "en";
}

/** True if more than a tenth of the letters is Chinese: names and code are Latin everywhere. */
function isChinese(text) {
  const letters = text.replace(/\P{L}+/gu, "");
  return 10 * letters.replace(/\P{Script=Han}+/gu, "").length > letters.length;
}

/** Empty if a getter of the host throws: reading the messages will report it. */
function openingText(messages) {
  return attempt(() => {
    const { content, summary } = messages.find((message) => OPENINGS.has(message?.role)) ?? {};
    return (typeof summary === "string" ? summary : joinedText(content)).slice(0, LOOKED_AT_CHARS);
  }, "");
}

const OPENINGS = new Set(["user", "compactionSummary", "branchSummary"]);

/**
 * The host's marker function, checked to return a text that is not blank. If it does not, or throws, it calls
 * `failed(cause)` and returns undefined: the built-in marker is used.
 */
function checkedMarker(marker, failed) {
  if (typeof marker !== "function") return undefined;
  return (...gap) => valueNow(marker, VISIBLE, failed, ...gap);
}

/** The marker function for `Batch.add`, called only for texts that may be summarised. */
function markerLine(marker, { minSummaryChars, summaryHeadLines, summaryTailLines }) {
  if (marker === undefined) return undefined;
  return (text) => {
    if (text.length <= minSummaryChars) return undefined;
    const lines = text.split("\n").length;
    return marker(Math.max(0, lines - summaryHeadLines - summaryTailLines), text.length);
  };
}

/** Cuts a text to the lines in `ranges`, `[first, end]` in order, with a marker line for each gap. */
function keptLines(text, ranges, writer) {
  const lines = text.split("\n");
  // The rest after the last line break is a line only if it is not empty.
  if (text.endsWith("\n")) lines.pop();
  const all = [...ranges, [lines.length, lines.length]];
  const gaps = all.map(([start], i) => start - (i === 0 ? 0 : all[i - 1][1]));
  const omitted = gaps.filter((count) => count > 0);
  const markers = gapMarkers(omitted, text.length, writer);
  const kept = all.flatMap(([from, to], i) => [
    ...(gaps[i] > 0 ? [markers.shift()] : []),
    ...lines.slice(from, to),
  ]);
  return kept.join("\n");
}

/**
 * The marker lines for gaps of `gaps` lines in a text of `chars` characters. The host's function `own` writes them. If it is missing
 * or fails, they are built in, in `language`; the first also states `chars`. The last one ends with the handle, if there is one.
 */
function gapMarkers(gaps, chars, { own, language, handle }) {
  const { first, gap, handle: ending } = MARKERS[language];
  const theirs = own && gaps.map((omitted) => own(omitted, chars));
  const isTheirs = theirs !== undefined && !theirs.includes(undefined);
  const built = (omitted, i) => (i === 0 ? filled(first, omitted, chars) : filled(gap, omitted));
  const markers = isTheirs ? theirs : gaps.map(built);
  if (handle !== undefined && markers.length > 0) markers.push(markers.pop() + filled(ending) + handle);
  return markers;
}

/** The marker between head and tail of a text for `omitted` characters, as src/context/facts/shorten counts it. */
function cutMarker(omitted, language, handle) {
  const { cut, handle: ending } = MARKERS[language];
  return `\n${filled(cut, omitted)}${handle === undefined ? "" : filled(ending) + handle}\n`;
}

/** Joins the parts of a marker with the values between them. */
function filled(parts, ...values) {
  return parts.map((part, i) => part + (values[i] ?? "")).join("");
}

module.exports = { checkedMarker, cutMarker, filled, isChinese, keptLines, languageOf, markerLine };
