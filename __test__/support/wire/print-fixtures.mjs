// Prints the fixtures, one body a line, in the form crosscheck.py reads.
import { fixturesOf } from "./fixtures/index.mjs";

for (const [api, { valid, invalid }] of Object.entries(fixturesOf)) {
  print(api, valid, true);
  print(
    api,
    invalid.map(({ payload }) => payload),
    false,
  );
}

function print(api, payloads, isValid) {
  for (const { model, messages, tools } of payloads) {
    console.log(JSON.stringify({ api, model, messages, tools, isValid }));
  }
}
