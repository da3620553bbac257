// The text of a tool result of which only some lines stay: word for word and in order, a marker line for each gap.
"use strict";

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

/** What follows the last line break is a line only if there is something. */
function lineCount(text, lines) {
  return text.endsWith("\n") ? lines.length - 1 : lines.length;
}

module.exports = { keptLines };
