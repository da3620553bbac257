// Numbers that look random and are the same for the same seed, so that a run can be made again.

import { createHash } from "node:crypto";
import { dice } from "../../../__test__/support/transcripts.mjs";

/** A generator for a text: `pick(low, high)` returns a whole number and includes both ends, `of(list)` one of a list. */
export function randomOf(text) {
  const roll = dice(createHash("sha256").update(text).digest().readUInt32LE());
  return { pick: (low, high) => low + roll(high - low + 1), of: (list) => list[roll(list.length)] };
}
