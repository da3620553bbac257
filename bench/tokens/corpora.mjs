// The texts the counters are measured on: a session's, this repository's own sources, and generated ones that are the
// same in every process. A corpus is a name, its texts and their bytes in UTF-8.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { dice } from "../../__test__/support/transcripts.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
/** Characters a generated corpus grows to: js-tiktoken takes a fifth of a second for it. */
const SIZE = 150_000;
const SHORT = 34;

function grow(add) {
  let text = "";
  while (text.length < SIZE) text += add();
  return text;
}

/** Every text, thinking and tool argument of a session file. */
function sessionTexts(path) {
  const texts = [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const content = line ? JSON.parse(line).message?.content : undefined;
    if (typeof content === "string") texts.push(content);
    for (const block of Array.isArray(content) ? content : []) {
      const text =
        block.text ?? block.thinking ?? (block.name && block.name + JSON.stringify(block.arguments));
      if (text) texts.push(text);
    }
  }
  return texts;
}

function sources() {
  return ["src", "lib"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(rs|mjs|js|ts)$/.test(name))
      .toSorted()
      .map((name) => readFileSync(join(ROOT, folder, name), "utf8")),
  );
}

function generated() {
  const random = dice(0x2545f491);
  const pick = (from) => from[random(from.length)];
  const lines = (name) =>
    readFileSync(join(ROOT, "bench/texts", name), "utf8")
      .trim()
      .split("\n");
  const sentences = lines("english.txt");
  const english = sentences.join(" ");
  const words = (name) => lines(name).flatMap((line) => line.split("|"));
  const [chinese, japanese] = [words("chinese.txt"), words("japanese.txt")];
  const syllables = ["ka", "lo", "mer", "ti", "sun", "dor", "vex", "pla", "qui", "nor", "ash", "bel", "str"];
  const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const emoji = "😀|🎉|👍🏽|❤️|👩‍💻|🏳️‍🌈|🇯🇵|🔥|✅|🚀|🤷‍♂️|👨‍👩‍👧| ok |\n".split("|");
  const jsonLine = () =>
    `${JSON.stringify({
      ts: new Date(1.7e12 + random(3e10)).toISOString(),
      level: pick(["info", "warn", "error"]),
      req: { id: random(2 ** 31).toString(16), path: pick(["/api/v1/users", "/health", "/assets/app.js"]) },
      ms: random(90_000) / 100,
      bytes: random(200_000),
    })}\n`;
  return [
    ["json", [grow(jsonLine)]],
    ["english", [grow(() => `${pick(sentences)} `)]],
    ["chinese", [grow(() => pick(chinese))]],
    ["japanese", [grow(() => pick(japanese))]],
    ["emoji", [grow(() => pick(emoji))]],
    [
      "short",
      Array.from({ length: SIZE / SHORT }, () => english.substr(random(english.length - SHORT), SHORT)),
    ],
    ["new words", [grow(() => `${Array.from({ length: 2 + random(4) }, () => pick(syllables)).join("")} `)]],
    ["base64 lines", [grow(() => `${Array.from({ length: 76 }, () => pick(base64)).join("")}\n`)]],
  ];
}

/** All corpora. */
export function corpora(session) {
  return [["session", sessionTexts(session)], ["code", sources()], ...generated()].map(([name, texts]) => ({
    name,
    texts,
    bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
  }));
}
