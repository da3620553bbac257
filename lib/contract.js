// The table that both languages read (contract.json; the crate's build writes it as Rust), in the forms JavaScript needs.
"use strict";

const contract = require("../contract.json");

/** Words by number: a plan names reasons and the like by their positions. */
const wordsOf = (table) => Object.values(table).map(({ en }) => en);

/** Position by name. */
const positions = (names) => Object.fromEntries(names.map((name, position) => [name, position]));

module.exports = {
  ...contract,
  LAYERS: Object.keys(contract.layers),
  REASONS: wordsOf(contract.reasons),
  VERDICTS: wordsOf(contract.verdicts),
  KEEPS: wordsOf(contract.keeps),
  /** Stop reasons after which pi does not send an assistant message again. */
  UNSENT_STOP_REASONS: new Set(contract.unsentStopReasons),
  positions,
};
