// The arms of the experiment: what is in pi's settings, and which extension it loads. All else is the same.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8"));

/** The package's own extension, as pi finds it. */
const STRATA = fileURLToPath(new URL(manifest.pi.extensions[0], ROOT));
const MASK = fileURLToPath(new URL("extensions/mask.mjs", import.meta.url));

/** Where one arm does the summaries no other arm does, so that what differs is what is measured. */
const uncompacted = { compaction: { enabled: false } };

/** By name: `{ says, settings, extensions }`. */
export const ARMS = {
  none: { says: "nothing is compressed", settings: uncompacted, extensions: [] },
  compaction: {
    says: "pi's own compaction, with its defaults",
    settings: { compaction: { enabled: true } },
    extensions: [],
  },
  balanced: {
    says: "pi-strata with its defaults",
    settings: { ...uncompacted, strata: { marker: "en" } },
    extensions: [STRATA],
  },
  thrifty: {
    says: 'pi-strata with economy: "thrifty"',
    settings: { ...uncompacted, strata: { marker: "en", economy: "thrifty" } },
    extensions: [STRATA],
  },
  mask: {
    says: "all tool results but the newest 10 masked, in batches of 20",
    settings: uncompacted,
    extensions: [MASK],
  },
};

/**
 * Arms in the order they run for a session. Each arm is as often at each place over as many sessions as there are arms,
 * and every second round of them goes backwards, so that no arm always follows the same one.
 */
export function orderOf(arms, session) {
  const turn = session % arms.length;
  const rotated = [...arms.slice(turn), ...arms.slice(0, turn)];
  return Math.floor(session / arms.length) % 2 === 0 ? rotated : rotated.reverse();
}
