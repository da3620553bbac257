// The guard before publishing: looks into every tarball of a folder and says what is wrong with it.
// `node release/inspect.mjs DIR [--partial]`; `--partial` is for what one machine packed: platforms may be missing, and what
// only a build for release does better (an older glibc, no symbols) is named as skipped. Exit code 1 if anything is wrong.

import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describeBinary } from "./binary.mjs";
import { TERMS } from "./pack.mjs";
import { GLIBC_FLOOR, platforms, ROOT, readJson } from "./platforms.mjs";

/**
 * Largest tarballs in bytes. `root`: the 315 kB it had, and a little room. Of a native file the vocabularies' tables come to
 * 1.4 MB however they are packed, the code to 1.3 MB on Linux. Code was a tenth larger on Windows when it was measured there;
 * macOS was not measured. Both are for each processor that is in it.
 */
const BUDGET = { root: 330_000, linux: 3_100_000, elsewhere: 3_500_000 };

/** The budget of the package with this manifest, in bytes. */
export function budgetOf({ name, os, cpu = [] }) {
  if (name === "pi-strata") return BUDGET.root;
  return cpu.length * (String(os) === "linux" ? BUDGET.linux : BUDGET.elsewhere);
}

/** The files that the root package may hold. */
const ROOT_FILES = [
  /^(package\.json|README(\.zh-CN)?\.md|THIRD-PARTY-NOTICES\.md|LICENSE|CHANGELOG\.md|contract\.json|openclaw\.plugin\.json|lib\/(native|sessions|tokens|tools)\/\w+\.json|lib\/cli\/help\.txt|pi-extension\/settings\.schema\.json|index\.js|index\.d\.ts)$/,
  /^bin\/[\w-]+\.m?js$/,
  /^lib\/[\w./-]+\.(js|mjs|d\.ts|sql)$/,
  /^lib\/inspector\/page\.html$/,
  /^pi-extension\/[\w.-]+\.(mjs|d\.mts)$/,
];
/** The files that it must hold. */
const ROOT_NEEDS = ["index.js", "index.d.ts", "lib/inspector/page.html", ...TERMS, "README.md"];

/** The faults of a file that was built where it was packed, and of no other. */
const LOCAL_ONLY = /: (asks for glibc \d|with its symbols)/;

/** `{ tarballs, problems, skipped }` of a folder of tarballs. */
export function inspect(folder, { isPartial = false } = {}) {
  const version = readJson(join(ROOT, "package.json")).version;
  const tarballs = readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => open(join(folder, name)));
  const problems = tarballs.flatMap((tarball) => {
    const own = tarball.manifest.name === "pi-strata" ? rootProblems(tarball) : platformProblems(tarball);
    return [...own, ...commonProblems(tarball, version)].map((text) => `${tarball.manifest.name}: ${text}`);
  });
  const packed = new Set(tarballs.map(({ manifest }) => manifest.name));
  const wanted = ["pi-strata", ...(isPartial ? [] : platforms().map(({ name }) => name))];
  for (const name of wanted) if (!packed.has(name)) problems.push(`${name}: there is no tarball`);
  const isSkipped = (problem) => isPartial && LOCAL_ONLY.test(problem);
  return {
    tarballs,
    problems: problems.filter((problem) => !isSkipped(problem)),
    skipped: problems.filter(isSkipped),
  };
}

function open(path) {
  const read = (file) => execFileSync("tar", ["-xzOf", path, `package/${file}`], { maxBuffer: 2 ** 28 });
  const listing = execFileSync("tar", ["-tzf", path], { encoding: "utf8" });
  const files = listing.split("\n").flatMap((line) => (line.startsWith("package/") ? [line.slice(8)] : []));
  return { path, files, read, bytes: statSync(path).size, manifest: JSON.parse(read("package.json")) };
}

function commonProblems({ manifest }, version) {
  const { engines } = readJson(join(ROOT, "package.json"));
  const problems = [];
  if (manifest.version !== version) problems.push(`version ${manifest.version}, not ${version}`);
  if (manifest.engines?.node !== engines.node)
    problems.push(`engines ${manifest.engines?.node}, not ${engines.node}`);
  if (manifest.license !== "MIT") problems.push(`licence ${manifest.license}, not MIT`);
  return problems;
}

function budgetProblems({ manifest, bytes }, hasSymbols = false) {
  const budget = budgetOf(manifest);
  if (bytes <= budget) return [];
  return [`${hasSymbols ? "with its symbols " : ""}${bytes} bytes, over the budget of ${budget}`];
}

function rootProblems(tarball) {
  const { files, manifest } = tarball;
  const problems = files
    .filter((file) => !ROOT_FILES.some((pattern) => pattern.test(file)))
    .map((file) => `${file} does not belong in it`);
  for (const file of ROOT_NEEDS) if (!files.includes(file)) problems.push(`${file} is missing`);
  const expected = platforms().flatMap(({ name, isOptional }) => (isOptional ? [name] : []));
  const given = manifest.optionalDependencies ?? {};
  if (String(Object.keys(given).sort()) !== String(expected.sort()))
    problems.push("its optional dependencies are not the platform packages");
  for (const [name, range] of Object.entries(given))
    if (range !== manifest.version) problems.push(`depends on ${name} ${range}`);
  if (manifest.scripts !== undefined) problems.push("it runs scripts");
  return [...problems, ...budgetProblems(tarball)];
}

function platformProblems(tarball) {
  const { files, manifest, read } = tarball;
  const expected = ["README.md", "package.json", manifest.main, ...TERMS];
  const problems = [];
  if (String(files.toSorted()) !== String(expected.toSorted()))
    problems.push(`holds ${files.join(", ")} instead of ${expected.join(", ")}`);
  const binary = files.includes(manifest.main) ? describeBinary(read(manifest.main)) : undefined;
  if (binary !== undefined) problems.push(...binaryProblems(binary, manifest));
  return [...problems, ...budgetProblems(tarball, binary?.hasSymbols)];
}

function binaryProblems({ os, cpus, glibc, runtime }, manifest) {
  const problems = [];
  if (String(manifest.os) !== String(os)) problems.push(`its native file is for ${os}`);
  if (String(manifest.cpu.toSorted()) !== String(cpus.toSorted()))
    problems.push(`its native file is for ${cpus}`);
  if (runtime !== undefined) problems.push(`asks for ${runtime}, which not every Windows has`);
  if (os !== "linux") return problems;
  const isGlibc = String(manifest.libc) === "glibc";
  if (isGlibc !== (glibc !== undefined))
    problems.push(`its native file ${isGlibc ? "asks for no" : "asks for"} glibc`);
  if (isGlibc && glibc?.[0] * 1000 + glibc?.[1] > GLIBC_FLOOR[0] * 1000 + GLIBC_FLOOR[1])
    problems.push(`asks for glibc ${glibc.join(".")}, over the floor of ${GLIBC_FLOOR.join(".")}`);
  return problems;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [folder] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
  const { tarballs, problems, skipped } = inspect(folder, { isPartial: process.argv.includes("--partial") });
  for (const { manifest, files, bytes } of tarballs)
    console.log(`${manifest.name} ${manifest.version}: ${files.length} files, ${Math.ceil(bytes / 1000)} kB`);
  for (const problem of skipped) console.log(`skipped, as the release is built otherwise: ${problem}`);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
