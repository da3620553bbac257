// Writes the list of what models cost, from the catalogue that pi-ai publishes: `npm run build:prices -- 1.5.2`. A line
// is a model's name, dollars for a million tokens of input, cache reads, cache writes and output, then each price step:
// tokens above which it holds, and what it multiplies prompt and answer by.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = "@earendil-works/pi-ai";
const OUT = new URL("../src/context/schedule/catalogue.tsv", import.meta.url);
/** Whose price a name has where several providers sell it: its maker's, else that of a large market place. */
const FIRST = [
  ..."anthropic openai google deepseek xai zai moonshotai mistral minimax xiaomi meta".split(" "),
  ..."openrouter vercel-ai-gateway".split(" "),
];

/** The name alone, of an id that begins with a market place's or a region's: as `bare_name` in tariff.rs. */
function bareName(id) {
  const name = id
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/(-v\d+)?(:.*)?$/, "")
    .replace(/^.*\.(?=[a-z])/, "");
  return name.startsWith("claude") ? name.replaceAll(".", "-") : name;
}

function rowOf({ input, cacheRead, cacheWrite, output, tiers = [] }) {
  const steps = tiers
    .map((tier) => [tier.inputTokensAbove, tier.input / input, output > 0 ? tier.output / output : 1])
    .filter(([, ...factors]) => factors.some((factor) => factor > 1.001))
    .sort(([above], [other]) => above - other);
  const short = (number) => String(Number(number.toPrecision(6)));
  return [
    ...[input, cacheRead, cacheWrite, output].map(short),
    ...steps.map((step) => step.map(short).join(":")),
  ];
}

function modelsOf(folder) {
  const data = join(folder, "package/dist/providers/data");
  const files = readdirSync(data).filter((file) => /^\w.*\.json$/.test(file));
  const catalogues = files.map((file) => JSON.parse(readFileSync(join(data, file), "utf8")));
  const models = catalogues.flatMap((groups) => Object.values(groups).flatMap(Object.values));
  return models.filter(({ type = "chat", cost }) => type === "chat" && cost?.input > 0);
}

function tableOf(models) {
  const rank = ({ provider }) => (FIRST.indexOf(provider) + FIRST.length + 1) % (FIRST.length + 1);
  const rows = new Map();
  for (const model of models.sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1))) {
    const name = bareName(model.id);
    const row = rowOf(model.cost).join("\t");
    if (!rows.has(name)) rows.set(name, row);
    const own = `${name}@${model.provider}`;
    if (rows.get(name) !== row && !rows.has(own)) rows.set(own, row);
  }
  const keys = Array.from(rows.keys()).sort();
  return keys.map((key) => `${key}\t${rows.get(key)}`);
}

const version = process.argv[2];
if (version === undefined) throw new Error("say which version: npm run build:prices -- 1.5.2");
const folder = mkdtempSync(join(tmpdir(), "pi-strata-prices-"));
try {
  const npm = (...args) => execFileSync("npm", args, { encoding: "utf8" });
  const file = npm("pack", `${PACKAGE}@${version}`, "--silent", "--pack-destination", folder).trim();
  execFileSync("tar", ["xzf", join(folder, file), "-C", folder]);
  const published = JSON.parse(npm("view", `${PACKAGE}@${version}`, "time", "--json"))[version];
  const rows = tableOf(modelsOf(folder));
  const head = `# ${PACKAGE} ${version}, published ${published.slice(0, 10)}`;
  writeFileSync(OUT, `${[head, ...rows].join("\n")}\n`);
  console.log(`${rows.length} prices in ${fileURLToPath(OUT)}`);
} finally {
  rmSync(folder, { recursive: true });
}
