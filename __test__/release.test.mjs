// The release rehearsed with stand-ins for the native files of every platform: packed, looked into, and handed to npm in
// order, up to the upload.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "../release/inspect.mjs";
import { pack } from "../release/pack.mjs";
import { platforms } from "../release/platforms.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const folder = temporaryFolder("release");
const artifacts = join(folder, "native");
const packed = join(folder, "packed");
const names = platforms().map(({ name }) => name);

const MACHINES = {
  elf: { x64: 62, arm64: 183 },
  mach: { x64: 0x01000007, arm64: 0x0100000c },
  pe: { x64: 0x8664, arm64: 0xaa64 },
};

/** A file with nothing in it but what tells its platform. */
function standIn({ os: [os], cpu, libc }) {
  const bytes = Buffer.alloc(256);
  if (os === "linux") {
    bytes.write("\x7fELF", 0, "latin1");
    bytes.writeUInt16LE(MACHINES.elf[cpu[0]], 18);
    if (String(libc) === "glibc") bytes.write("GLIBC_2.17", 64);
  } else if (os === "darwin" && cpu.length > 1) {
    bytes.writeUInt32BE(0xcafebabe, 0);
    bytes.writeUInt32BE(cpu.length, 4);
    for (const [i, name] of cpu.entries()) bytes.writeUInt32BE(MACHINES.mach[name], 8 + 20 * i);
  } else if (os === "darwin") {
    bytes.writeUInt32LE(0xfeedfacf, 0);
    bytes.writeUInt32LE(MACHINES.mach[cpu[0]], 4);
  } else {
    bytes.write("MZ", 0);
    bytes.writeUInt32LE(128, 0x3c);
    bytes.writeUInt16LE(MACHINES.pe[cpu[0]], 132);
  }
  return bytes;
}

before(() => {
  mkdirSync(artifacts);
  for (const { file, manifest } of platforms()) writeFileSync(join(artifacts, file), standIn(manifest));
  assert.deepEqual(pack(packed, artifacts), names);
});

/** A registry that knows no package and remembers what was uploaded. */
const uploads = [];
const registry = createServer((request, response) => {
  if (request.method !== "GET") uploads.push(request.url);
  response.writeHead(404, { "content-type": "application/json" }).end("{}");
});
before(() => once(registry.listen(0, "127.0.0.1"), "listening"));
after(() => registry.close());

/** The publishing script as the workflow starts it. */
function publish(...flags) {
  const script = fileURLToPath(new URL("../release/publish.mjs", import.meta.url));
  const npm_config_registry = `http://127.0.0.1:${registry.address().port}`;
  const env = { ...process.env, npm_config_registry, GITHUB_REF_NAME: "v0.0.0" };
  const options = { cwd: folder, env, timeout: 120_000 };
  return new Promise((resolve) =>
    execFile(process.execPath, [script, "packed", ...flags], options, (error, stdout, stderr) =>
      resolve({ status: error?.code ?? 0, stdout, stderr }),
    ),
  );
}

test("the guard has nothing against the packages of all platforms", () => {
  const { problems, tarballs } = inspect(packed);
  assert.deepEqual(problems, []);
  assert.equal(tarballs.length, names.length + 1);
});

test("a Windows file that asks for Visual C++'s own library, which not every Windows has, is refused", () => {
  const { file, manifest, name } = platforms().find(({ key }) => key === "win32-x64-msvc");
  const spoiled = join(folder, "spoiled");
  mkdirSync(spoiled);
  writeFileSync(join(spoiled, file), Buffer.concat([standIn(manifest), Buffer.from("\0VCRUNTIME140.dll\0")]));
  pack(join(folder, "refused"), spoiled);
  const { problems } = inspect(join(folder, "refused"), { isPartial: true });
  assert.deepEqual(problems, [`${name}: asks for VCRUNTIME140.dll, which not every Windows has`]);
});

test("a rehearsal hands every tarball to npm, the root package last, and uploads nothing", async () => {
  const { status, stdout, stderr } = await publish();
  assert.equal(status, 0, stderr);
  const handed = Array.from(stdout.matchAll(/^\+ (\S+)@\d/gm), ([, name]) => name);
  assert.deepEqual(handed, [...names, "pi-strata"]);
  assert.deepEqual(uploads, []);
});

test("a tag that is not the version is not published", async () => {
  const { status, stderr } = await publish("--publish");
  assert.notEqual(status, 0);
  assert.match(stderr, /the tag is v0\.0\.0, the version \d/);
});

test("nothing is published when the guard objects", async () => {
  rmSync(join(packed, `pi-strata-darwin-x64-${inspect(packed).tarballs[0].manifest.version}.tgz`));
  const { status, stderr } = await publish();
  assert.notEqual(status, 0);
  assert.match(stderr, /the guard refuses:\npi-strata-darwin-x64: there is no tarball/);
});

test("the loader knows every platform package", () => {
  const text = readFileSync(new URL("../lib/native/addon.js", import.meta.url), "utf8");
  // Written out, so that bundlers follow them.
  for (const { name, file } of platforms())
    for (const request of [name, `../../${file}`]) assert.ok(text.includes(`require("${request}")`), request);
});

test("one version everywhere, and the changelog has a dated section for it", () => {
  const text = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
  const { version } = JSON.parse(text("package.json"));
  for (const { manifest } of platforms()) assert.equal(manifest.version, version, manifest.name);
  const lock = JSON.parse(text("package-lock.json"));
  assert.deepEqual([lock.version, lock.packages[""].version], [version, version]);
  const crates = ["Cargo.toml", "Cargo.lock"].flatMap((name) =>
    Array.from(
      text(name).matchAll(/(?:^\[workspace\.package\]|^name = "pi-strata(?:-tokens)?")\nversion = "(.*)"/gm),
      ([, found]) => `${name} ${found}`,
    ),
  );
  assert.deepEqual(crates, [`Cargo.toml ${version}`, `Cargo.lock ${version}`, `Cargo.lock ${version}`]);
  const section = new RegExp(`^## ${version.replaceAll(".", "\\.")} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, "m");
  assert.match(text("CHANGELOG.md"), section);
});
