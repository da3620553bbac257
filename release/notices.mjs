// Writes THIRD-PARTY-NOTICES.md: what is built into the packages that others wrote, and under which terms. `npm run
// notices`; .ci/run fails where the file is not what this writes. Packages that npm installs beside ours bring their own.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, readJson } from "./platforms.mjs";

const LICENSE_FILE = /^(un)?licen[sc]e|^copying|^notice|^copyright/i;
/** Taken where a crate may be had under several terms: the shortest to meet. */
const PREFERRED = /mit/i;
/** Their tables are made at build time of those that tiktoken-rs carries, which is in no package itself. */
const VOCABULARIES = {
  name: "OpenAI's vocabularies cl100k_base, o200k_base, p50k_base and r50k_base",
  source: "https://github.com/openai/tiktoken",
  terms: "MIT",
  text: `MIT License

Copyright (c) 2022 OpenAI, Shantanu Jain

${mitBody()}`,
};

const metadata = JSON.parse(
  execFileSync("cargo", ["metadata", "--locked", "--format-version", "1"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  }),
);

/** The permission of the MIT licence, as our own file has it. */
function mitBody() {
  const own = readFileSync(join(ROOT, "LICENSE"), "utf8");
  return own.slice(own.indexOf("Permission is hereby granted")).trimEnd();
}

/** Crates that are linked into the addon on any platform. */
function linked() {
  const { packages, resolve } = metadata;
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const found = new Set([resolve.root]);
  for (const id of found) {
    if (isMacro(id)) continue;
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      if (kinds.some(({ kind }) => kind === null)) found.add(pkg);
    }
  }
  return packages
    .filter(({ id, source }) => found.has(id) && source !== null && !isMacro(id))
    .map(({ name, version, license, repository, manifest_path: manifest, authors }) => ({
      name: `${name} ${version}`,
      source: repository,
      terms: license,
      text: licenseIn(dirname(manifest)) ?? `Copyright (c) ${authors.join(", ")}\n\n${mitBody()}`,
      folder: dirname(manifest),
    }));
}

/** A procedural macro runs in the compiler and leaves nothing of itself in the addon. */
function isMacro(id) {
  const { targets } = metadata.packages.find((crate) => crate.id === id);
  return targets.every(({ kind }) => kind.includes("proc-macro") || kind.includes("custom-build"));
}

function licenseIn(folder) {
  const files = readdirSync(folder)
    .filter((name) => LICENSE_FILE.test(name))
    .sort();
  const texts = files.filter((name) => PREFERRED.test(name));
  const chosen = texts.length > 0 ? texts.slice(0, 1) : files.slice(0, 1);
  if (chosen.length === 0) return undefined;
  return readFileSync(join(folder, chosen[0]), "utf8").replaceAll("\r", "").trim();
}

/** Character tables are under the terms of Unicode, whatever those of the code around them are. */
function unicodeTables(crates) {
  const { manifest_path: manifest } = metadata.packages.find(({ name }) => name === "regex-syntax");
  const syntax = join(dirname(manifest), "src/unicode_tables");
  const folders = [syntax, ...crates.map(({ folder }) => folder)];
  const texts = folders.flatMap((folder) => {
    const files = readdirSync(folder).filter((name) => /^license-unicode/i.test(name));
    return files.map((name) => readFileSync(join(folder, name), "utf8").replaceAll("\r", "").trim());
  });
  const source = "https://www.unicode.org/copyright.html";
  return Array.from(new Set(texts), (text) => ({
    name: "Unicode's character data",
    source,
    terms: "Unicode",
    text,
  }));
}

/** Linked into every Rust library. */
const STANDARD_LIBRARY = {
  name: "The Rust standard library",
  source: "https://www.rust-lang.org/policies/licenses",
  terms: "MIT OR Apache-2.0",
  text: `Copyright (c) The Rust Project Contributors\n\n${mitBody()}`,
};

function uplot() {
  const folder = join(ROOT, "node_modules/uplot");
  const { version, license, homepage } = readJson(join(folder, "package.json"));
  return { name: `uPlot ${version}`, source: homepage, terms: license, text: licenseIn(folder) };
}

/** One section for all that share a text. */
function sections(parts) {
  const byText = grouped(parts);
  return Array.from(byText, ([text, sharing]) => {
    const heads = sharing.map(
      ({ name, source, terms }) => `- ${name}, ${terms}${source ? `, <${source}>` : ""}`,
    );
    return `${heads.join("\n")}\n\n${fenced(text)}`;
  });
}

function grouped(parts) {
  const byText = new Map();
  for (const part of parts) byText.set(part.text, [...(byText.get(part.text) ?? []), part]);
  return byText;
}

function fenced(text) {
  return `\`\`\`text\n${text.replace(/[ \t]+$/gm, "")}\n\`\`\``;
}

const pages = sections([uplot()]);
const crates = linked();
const native = sections([VOCABULARIES, ...unicodeTables(crates), STANDARD_LIBRARY, ...crates]);
const text = `# Third-party notices

What others wrote and pi-strata's packages contain. Written by \`npm run notices\`.

## In the report's and the inspector's page

${pages.join("\n\n")}

## In the native file

Of a crate that may be had under several terms, the MIT licence is the one taken.

${native.join("\n\n")}
`;
writeFileSync(join(ROOT, "THIRD-PARTY-NOTICES.md"), text);
