// The packed package, installed without scripts into an empty folder, where its native file is missing, cut short,
// made for another machine or blocked: importing works, the hook passes its input through and says so once, counting
// says what to do.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { before, describe, test } from "node:test";
import { fieldsOf } from "./support/fields.mjs";
import { ROOT } from "./support/root.mjs";
import { needingMissingLibrary, needingNewerGlibc } from "./support/spoiled-addon.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const { status } = createRequire(import.meta.url)("../index.js");
const { napi } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));

/** What a host sees, as one line of JSON. */
const PROBE = `
const { getReport } = process.report;
let reports = 0;
process.report.getReport = (...args) => { reports += 1; return getReport.apply(process.report, args); };
const strata = require("pi-strata");
const events = [];
const warnings = [];
process.on("warning", ({ name, code }) => name === "PiStrataWarning" && warnings.push(code));
const hook = strata.createTransformContext({ onEvent: (event) => events.push(event) });
const code = (run) => { try { return run(); } catch (error) { return [error.code, error.message]; } };
(async () => {
  const messages = [{ role: "user", content: "hello world" }, { role: "toolResult", toolCallId: "x", content: "orphan" }];
  const first = await hook(messages);
  const second = await hook(messages);
  const plain = await strata.transformContext(messages);
  await strata.transformContext(messages);
  await strata.createTransformContext()(messages);
  const rejected = await strata.countTokensAsync("x").catch((error) => [error.code]);
  await new Promise(setImmediate);
  console.log(JSON.stringify({
    isInput: [first, second, plain].map((sent) => sent === messages),
    events, warnings, rejected, reports,
    count: code(() => strata.countTokens("hello world")),
    encode: code(() => require("pi-strata/tokens").getEncoding("cl100k_base").encode("hello world")),
    valid: code(() => strata.validate(messages).length),
    status: strata.status(),
  }));
})();`;

describe("the packed package", () => {
  const folder = temporaryFolder("unavailable");
  const installed = path.join(folder, "node_modules", "pi-strata");
  const native = path.join(installed, nativeName());

  before(() => {
    // A list, or from npm 12 on an object.
    const packed = JSON.parse(
      execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
        cwd: ROOT,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      }),
    );
    const [{ filename }] = Object.values(packed);
    writeFileSync(path.join(folder, "package.json"), '{"private":true}');
    const flags = ["--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--prefer-offline"];
    execFileSync("npm", ["install", ...flags, `./${filename}`], { cwd: folder, stdio: "ignore" });
    // As release/pack.mjs writes it.
    const manifest = path.join(installed, "package.json");
    const { size } = statSync(path.join(ROOT, nativeName()));
    const nativeBytes = { [nativeName().split(".")[1]]: size };
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), nativeBytes }));
  });

  const cutTo = (bytes) =>
    writeFileSync(native, readFileSync(path.join(ROOT, nativeName())).subarray(0, bytes));
  const probe = (flags = [], env = {}) => {
    const options = { cwd: folder, encoding: "utf8", env: { ...process.env, ...env } };
    return JSON.parse(execFileSync(process.execPath, [...flags, "-e", PROBE], options));
  };

  test("works where one file was cut short and another is whole", () => {
    const key = nativeName().split(".")[1];
    const home = path.join(folder, "node_modules", `pi-strata-${key}`);
    const packaged = path.join(home, nativeName());
    mkdirSync(home);
    writeFileSync(path.join(home, "package.json"), JSON.stringify({ main: nativeName() }));
    for (const [cut, whole] of [
      [native, packaged],
      [packaged, native],
    ]) {
      copyFileSync(path.join(ROOT, nativeName()), whole);
      writeFileSync(cut, readFileSync(whole).subarray(0, 4096));
      const { isInput, count, status } = probe();
      assert.deepEqual([isInput, count, status.native], [[false, false, false], 2, true], status.error);
    }
    rmSync(home, { recursive: true });
    rmSync(native);
  });

  /** What was done to the file; what the status then says went wrong; what it advises. */
  const broken = {
    missing: [() => {}, /^Cannot find module '/, /npm left pi-strata-\S+ out.*npm install pi-strata-\S+@\d/s],
    "cut to a page": [() => cutTo(4096), /is incomplete/, /cut short.*Delete node_modules/s],
    "cut in half": [(size) => cutTo(size / 2), /is incomplete/, /cut short/],
    "cut by a byte": [(size) => cutTo(size - 1), /is incomplete/, /cut short/],
    empty: [() => writeFileSync(native, ""), /is incomplete/, /cut short/],
    "for another platform": [
      (size) => writeFileSync(native, Buffer.alloc(size, Buffer.from("cffaedfe0c00000100000000", "hex"))),
      /invalid ELF header|file too short/,
      /for another machine, or damaged/,
    ],
    "a folder": [() => mkdirSync(native), /Cannot (read|find)|cannot read|Is a directory/i, /install again/],
    "for a newer glibc": [
      () => writeFileSync(native, needingNewerGlibc(readFileSync(path.join(ROOT, nativeName())))),
      /version `GLIBC_2\.99' not found/,
      /C library is older than the file asks for/,
      "glibc",
    ],
    "in need of a library": [
      () => writeFileSync(native, needingMissingLibrary(readFileSync(path.join(ROOT, nativeName())))),
      /libgcc_s\.so\.9/,
      /lacks a library.*apk add libgcc/,
      "glibc",
    ],
  };
  for (const [name, [arrange, error, hint, libc]] of Object.entries(broken)) {
    const skip = libc !== undefined && process.platform !== "linux" ? "made from a Linux file" : false;
    test(`passes through where it is ${name}`, { skip }, () => {
      rmSync(native, { recursive: true, force: true });
      arrange(statSync(path.join(ROOT, nativeName())).size);
      assertUnavailable(probe(), { error, hint });
      rmSync(native, { recursive: true, force: true });
    });
  }

  test("passes through where loading native code is forbidden", () => {
    copyFileSync(path.join(ROOT, nativeName()), native);
    assertUnavailable(probe(["--no-addons"]), { error: /disabled/, hint: /--no-addons/ });
    rmSync(native);
  });

  test("a platform without a package is told so, and not to reinstall", () => {
    writeFileSync(
      path.join(folder, "elsewhere.cjs"),
      'Object.defineProperty(process, "arch", { value: "s390x" });',
    );
    const seen = probe(["--require", "./elsewhere.cjs"]);
    assertUnavailable(seen, { error: /^there is no native file for \S+-s390x/, hint: /does not help.*Rust/ });
    assert.equal(seen.status.package, undefined);
    assert.doesNotMatch(seen.status.hint, /Delete node_modules/);
  });

  test("a Windows that lacks a library is told what it lacks, in sentences that end once", () => {
    const thrower = path.join(folder, "windows.cjs");
    const said = String.raw`The specified module could not be found.\n\\\\?\\C:\\app\\pi-strata.win32-x64-msvc.node`;
    writeFileSync(thrower, `throw Object.assign(new Error("${said}"), { code: "ERR_DLOPEN_FAILED" });`);
    const seen = probe([], { NAPI_RS_NATIVE_LIBRARY_PATH: thrower });
    assertUnavailable(seen, {
      error: /^The specified module could not be found$/,
      hint: /Windows needs to be 10/,
    });
    assert.doesNotMatch(seen.count[1], /\.\./);
  });
});

function assertUnavailable(seen, expected) {
  const { isInput, events, warnings, rejected, reports, count, encode, valid, status } = seen;
  assert.deepEqual(isInput, [true, true, true]);
  assert.deepEqual(fieldsOf(events, "type", "code"), [["failed", "ERR_NATIVE_UNAVAILABLE"]], "reported once");
  assert.deepEqual(warnings, ["ERR_NATIVE_UNAVAILABLE"], "warned once where nobody listens");
  assert.deepEqual(rejected, ["ERR_NATIVE_UNAVAILABLE"]);
  assert.ok(reports <= 2, `the cause is looked for once: ${reports} process reports`);
  for (const [code, message] of [count, encode, valid]) {
    assert.equal(code, "ERR_NATIVE_UNAVAILABLE");
    assert.ok(message.includes(status.error) && message.includes(status.hint), message);
  }
  assert.equal(status.native, false);
  assert.match(status.error, expected.error);
  assert.match(status.hint, expected.hint);
  assert.doesNotMatch(status.error, /\n|Cannot find native binding/);
  if (status.package !== undefined)
    assert.match(nativeName(), new RegExp(status.package.slice("pi-strata-".length)));
}

/** The file this machine loads, by what the running package says of itself. */
function nativeName() {
  const { platform } = status();
  const libc = process.platform === "linux" ? "-gnu" : "";
  return `${napi.binaryName}.${platform}${libc}.node`;
}
