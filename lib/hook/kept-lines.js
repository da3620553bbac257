// The text of a tool result of which only some lines stay: word for word and in order, a marker line for each gap.
"use strict";

const { markers: MARKERS } = require("../contract.js");

/**
 * `ranges` are `[first, after the last]` in order; `markersFor(gaps, chars)` makes the marker lines for gaps of so many
 * lines in a text of this length.
 */
function keptLines(text, ranges, markersFor) {
  const lines = text.split("\n");
  const starts = [0, ...ranges.map(([, end]) => end)];
  const ends = [...ranges.map(([start]) => start), lineCount(text, lines)];
  const omitted = starts.map((start, i) => ends[i] - start);
  const markers = markersFor(
    omitted.filter((count) => count > 0),
    text.length,
  );
  const kept = omitted.flatMap((count, i) => [
    ...(count > 0 ? [markers.shift()] : []),
    ...(i < ranges.length ? lines.slice(...ranges[i]) : []),
  ]);
  return kept.join("\n");
}

/**
 * The marker lines for gaps of `gaps` lines in a text of `chars` characters: the host's `own`, unless it fails, else those of
 * `language`, the first saying more. The last ends with the handle, if there is one.
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

/** The parts of a marker around what it says. */
function filled(parts, ...said) {
  return parts.map((part, i) => part + (said[i] ?? "")).join("");
}

/** The rest after the last line break is a line only if it is not empty. */
function lineCount(text, lines) {
  return text.endsWith("\n") ? lines.length - 1 : lines.length;
}

module.exports = { gapMarkers, keptLines };
