// What a local user waits for: the tokens that a server with one prefix cache evaluates, for recorded sessions in small windows.
//
//   npm run bench:local                            counts, without a model, on the session in examples/
//   npm run bench:local -- SESSION… --from 100     other recordings, from this message on
//   npm run bench:local -- --seconds               20 calls with SmolLM2-135M in llama.cpp's server, timed
//   npm run bench:local -- --seconds --server URL  the same on a server of yours
//
// With `--save` the figures and the picture go to bench/results.

import { basename } from "node:path";
import { parseArgs } from "node:util";
import { textTable } from "../lib/cli/terminal.mjs";
import { loadEncoding } from "../lib/tokens/index.js";
import { ARMS } from "./local/arms.mjs";
import { countedRun, vocabularyOf } from "./local/counts.mjs";
import { secondsRun } from "./local/seconds.mjs";
import { stretchOf } from "./local/stretches.mjs";
import { linePlot } from "./plot.mjs";
import { EXAMPLE, save } from "./shared.mjs";

/** The tokens of open models are not OpenAI's: this vocabulary is another one than the hook's, and is built in. */
const VOCABULARY = "r50k_base";
const HEADS = ["arm", "evaluated", "summaries", "reused", "refused", "user", "names"];

const { values: flags, positionals: given } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: "string", default: "0" },
    calls: { type: "string" },
    windows: { type: "string", default: "8192,16384,32768" },
    arms: { type: "string", default: Object.keys(ARMS).join(",") },
    vocabulary: { type: "string" },
    seconds: { type: "boolean", default: false },
    server: { type: "string" },
    out: { type: "string" },
    save: { type: "boolean", default: false },
  },
});

async function main() {
  const names = flags.arms.split(",");
  const unknown = names.find((name) => !Object.hasOwn(ARMS, name));
  if (unknown !== undefined)
    throw new Error(`There is no arm ${unknown}: choose of ${Object.keys(ARMS).join(", ")}.`);
  const files = given.length > 0 ? given : [EXAMPLE];
  if (flags.seconds) {
    await secondsRun(files[0], { from: Number(flags.from), server: flags.server, out: flags.out });
    return;
  }
  const encoding = flags.vocabulary ? await loadEncoding(flags.vocabulary) : VOCABULARY;
  const vocabulary = vocabularyOf(encoding);
  const results = [];
  for (const file of files) {
    const stretch = await stretchOf(file, { from: Number(flags.from), calls: Number(flags.calls ?? 60) });
    console.log(
      `${basename(file)} from message ${flags.from}: ${stretch.calls} calls, results cut to 1,500 characters. Tokens evaluated (of them for summaries) and reused; the user's text and the names from tools in view.`,
    );
    for (const window of flags.windows.split(",").map(Number)) {
      const runs = [];
      for (const name of names) runs.push(await countedRun(name, stretch, { window, vocabulary }));
      console.log(`\n${textTable(HEADS, runs.map(rowOf))}`);
      results.push(
        ...runs.map((run) => ({ file: basename(file), from: Number(flags.from), window, ...run })),
      );
    }
    console.log();
  }
  if (flags.save) saveRuns(results);
}

function rowOf({ arm, evaluated, summaries, reused, refused, userText, toolNames }) {
  const percent = (share) => `${Math.round(100 * share)} %`;
  const spent = summaries === 0 ? "" : thousands(summaries);
  const seen = [percent(userText), percent(toolNames)];
  return [arm, thousands(evaluated), spent, thousands(reused), String(refused), ...seen];
}

function thousands(tokens) {
  return `${(tokens / 1000).toFixed(1)}k`;
}

function saveRuns(results) {
  const [{ window }] = results;
  const lines = results
    .filter((run) => run.window === window)
    .map(({ arm, perCall }) => ({ label: arm, values: perCall }));
  const title = `Tokens evaluated, added up over the calls, window ${window}`;
  save("local.svg", linePlot({ title, xLabel: "calls", yLabel: "tokens", lines }));
  save(
    "local.json",
    results.map(({ perCall, ...run }) => run),
  );
}

try {
  await main();
} catch (error) {
  process.exitCode = 1;
  console.error(error.message);
}
