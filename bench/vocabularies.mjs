// Measures how fast vocabularies from files are loaded and counted by, beside the other libraries that read the same files:
// `npm run bench:vocabularies [-- --session FILE --rounds N]` prints one Markdown table; `--save` writes its rows to
// `bench/results/vocabularies.json`. Needs `npm run install:nested`, which brings the files and the npm packages; Python's
// `tokenizers` is installed by pip. Each library is measured alone in a process.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { installOracles, PYTHON, VOCABULARIES } from "../__test__/support/vocabularies/index.mjs";
import { EXAMPLE, quantile, save } from "./shared.mjs";
import { corpora } from "./tokens/corpora.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
/** Least time of one round, in ms; a slow library's single pass takes longer. Times are the process's on a processor, its
 * helping threads included: what else runs on the machine is not in them. */
const ROUND_MS = 200;
const COLUMNS = ["pi-strata", "tokenizers", "@huggingface/tokenizers", "@lenml/tokenizers"];

const { values: options } = parseArgs({
  options: {
    session: { type: "string", default: EXAMPLE },
    rounds: { type: "string", default: "5" },
    save: { type: "boolean" },
    of: { type: "string" },
    by: { type: "string" },
  },
});

const modules = createRequire(join(HERE, "../__test__/vocabularies/package.json"));

/** By library: loads a vocabulary and gives what counts by it. */
const LIBRARIES = {
  "pi-strata": async ({ file, pattern, special }, name) => {
    const { loadEncoding } = await import("../lib/tokens/index.js");
    const encoding = await loadEncoding(file, { name, pattern, specialTokens: special });
    return (text) => encoding.countTokens(text);
  },
  "@huggingface/tokenizers": async ({ file }) => {
    const { Tokenizer } = modules("@huggingface/tokenizers");
    const tokenizer = new Tokenizer(JSON.parse(readFileSync(file, "utf8")), configOf(file));
    return (text) => tokenizer.encode(text, { add_special_tokens: false }).ids.length;
  },
  "@lenml/tokenizers": async ({ file }) => {
    const { TokenizerLoader } = modules("@lenml/tokenizers");
    const tokenizer = TokenizerLoader.fromPreTrained({
      tokenizerJSON: JSON.parse(readFileSync(file, "utf8")),
      tokenizerConfig: configOf(file),
    });
    return (text) => tokenizer.encode(text, { add_special_tokens: false }).length;
  },
};

function processorMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}

function configOf(file) {
  const config = join(dirname(file), "tokenizer_config.json");
  return existsSync(config) ? JSON.parse(readFileSync(config, "utf8")) : {};
}

function texts() {
  const session = corpora(options.session).find(({ name }) => name.startsWith("session"));
  return session.texts;
}

/** One library on one vocabulary, in a process of its own: milliseconds, megabytes kept, megabytes a second. */
async function measure(library, name) {
  const resident = () => {
    globalThis.gc?.();
    return process.memoryUsage.rss() / 1e6;
  };
  const corpus = texts();
  const bytes = corpus.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const before = resident();
  const start = processorMs();
  const count = await LIBRARIES[library](VOCABULARIES[name], name);
  const loadMs = processorMs() - start;
  const megabytes = resident() - before;
  const tokens = corpus.reduce((sum, text) => sum + count(text), 0);
  const figures = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const from = processorMs();
    let passes = 0;
    do {
      for (const text of corpus) count(text);
      passes += 1;
    } while (processorMs() - from < ROUND_MS);
    figures.push((bytes * passes) / 1e3 / (processorMs() - from));
  }
  return { loadMs, megabytes, tokens, speed: quantile(figures) };
}

function measured(library, name) {
  const { kind } = VOCABULARIES[name];
  if (library !== "pi-strata" && kind !== "tokenizer.json") return undefined;
  const [program, ...args] =
    library === "tokenizers"
      ? ["python3", join(HERE, "vocabularies.py"), VOCABULARIES[name].file, options.rounds, String(ROUND_MS)]
      : [process.execPath, "--expose-gc", fileURLToPath(import.meta.url), "--of", name, "--by", library];
  if (library !== "tokenizers") args.push("--session", options.session, "--rounds", options.rounds);
  const input = library === "tokenizers" ? JSON.stringify(texts()) : undefined;
  const env = { ...process.env, PYTHONPATH: PYTHON, TOKENIZERS_PARALLELISM: "false" };
  const { status, stdout, stderr } = spawnSync(program, args, {
    input,
    env,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (status !== 0) {
    console.error(`${library} on ${name}: ${stderr.trim().split("\n").at(-1)}`);
    return undefined;
  }
  return JSON.parse(stdout);
}

function cell(figures, wanted) {
  if (figures === undefined) return "–";
  const mark = figures.tokens === wanted ? "" : " (other count)";
  const speed = figures.speed >= 100 ? Math.round(figures.speed) : figures.speed.toPrecision(3);
  return `${speed} MB/s, ${Math.round(figures.loadMs)} ms, ${Math.round(figures.megabytes)} MB${mark}`;
}

if (options.of !== undefined) {
  console.log(JSON.stringify(await measure(options.by, options.of)));
} else {
  installOracles();
  console.log(`| vocabulary | ${COLUMNS.join(" | ")} |\n|---|${"---|".repeat(COLUMNS.length)}`);
  const rows = [];
  for (const name of Object.keys(VOCABULARIES)) {
    const figures = COLUMNS.map((library) => measured(library, name));
    rows.push([name, ...figures.map((figure) => cell(figure, figures[0]?.tokens))]);
    console.log(`| ${rows.at(-1).join(" | ")} |`);
  }
  const report = { node: process.version, cpu: cpus()[0].model, rows };
  if (options.save) save("vocabularies.json", report);
}
