// An app that uses the hook, bundled by each bundler as docs/electron.md says, then run: where the native file is
// copied beside the bundle, in a folder without any node_modules; where the package stays outside, beside them.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { pack } from "../release/pack.mjs";

const APP = `
import { countTokens, createTransformContext, status } from "pi-strata";
const long = Array.from({ length: 90 }, (_, i) => "line " + i + " of a result").join("\\n");
const messages = [{ role: "user", content: "go", timestamp: 1 }];
for (let i = 0; i < 8; i += 1) {
  messages.push({ role: "assistant", content: [{ type: "toolCall", id: "c" + i, name: "read", arguments: {} }] });
  messages.push({ role: "toolResult", toolCallId: "c" + i, toolName: "read", content: [{ type: "text", text: long }] });
}
createTransformContext({ schedule: "everyCall" })(messages).then((sent) => {
  const edited = sent.filter((message, i) => message !== messages[i]).length;
  console.log(JSON.stringify({ edited, tokens: countTokens("hello world"), status: status() }));
});
`;

/** The paths that any bundler takes. The others are loaded by pi and OpenClaw, or have a page beside them. */
const PATHS = [
  "sessions",
  "pipeline",
  "guard",
  "tokens",
  "ledger",
  "ai-sdk",
  "js-tiktoken",
  "js-tiktoken/lite",
];

/** An app that imports every path, and what a dependency makes of js-tiktoken. */
const PATHS_APP = `
${PATHS.map((path, i) => `import * as path${i} from "pi-strata/${path}";`).join("\n")}
console.log(JSON.stringify([${PATHS.map((_, i) => `Object.keys(path${i}).length`)}, path6.getEncoding("cl100k_base").encode("hello world")]));
`;

/** A dependency's own imports of js-tiktoken, as @langchain/core has them. */
const DEPENDENCY = `
import { getEncodingNameForModel } from "js-tiktoken/lite";
import { getEncoding } from "js-tiktoken";
console.log(JSON.stringify([getEncodingNameForModel("gpt-4o"), getEncoding("cl100k_base").encode("hello world")]));
`;

const bundlers = fileURLToPath(new URL("./bundlers/", import.meta.url));
const installed = (file) => join(bundlers, "node_modules", file);
const folder = mkdtempSync(join(tmpdir(), "pi-strata-bundlers-"));
const app = join(folder, "app");
after(() => rmSync(folder, { recursive: true }));

/** The app with the packed packages in its node_modules. */
before(() => {
  const packed = join(folder, "packed");
  const names = ["pi-strata", ...pack(packed)];
  for (const name of names) {
    const tarball = readdirSync(packed).find((file) => new RegExp(`^${name}-\\d`).test(file));
    const home = join(app, "node_modules", name);
    mkdirSync(home, { recursive: true });
    execFileSync("tar", ["-xzf", join(packed, tarball), "-C", home, "--strip-components", "1"]);
  }
  writeFileSync(join(app, "main.mjs"), APP);
  writeFileSync(join(app, "paths.mjs"), PATHS_APP);
  writeFileSync(join(app, "dependency.mjs"), DEPENDENCY);
  const manifest = {
    private: true,
    type: "module",
    main: "electron/main.js",
    dependencies: { "pi-strata": "*" },
  };
  writeFileSync(join(app, "package.json"), JSON.stringify(manifest));
});

const run = async (file, args, options) =>
  (await promisify(execFile)(file, args, { cwd: app, ...options })).stdout;
const script = (file, args, env = {}) =>
  run(process.execPath, [file, ...args], { env: { ...process.env, ...env } });

/** The bundle does what the app does, in a folder of its own if `isWhole`. */
async function assertWorks(bundle, { isWhole, runtime = process.execPath }) {
  const home = isWhole ? join(folder, `alone-${bundle.split("/")[0]}`) : app;
  if (isWhole) cpSync(join(app, bundle.split("/")[0]), join(home, bundle.split("/")[0]), { recursive: true });
  const args = runtime === null ? [] : [join(home, bundle)];
  const said = JSON.parse(await run(runtime ?? join(home, bundle), args, { cwd: home }));
  assert.equal(said.status.native, true, said.status.error);
  assert.deepEqual([said.edited, said.tokens], [2, 2]);
}

test("esbuild: the file is copied, with one loader named", async () => {
  const esbuild = createRequire(import.meta.url).resolve("esbuild/bin/esbuild");
  const args = [
    "main.mjs",
    "--bundle",
    "--platform=node",
    "--loader:.node=copy",
    "--outfile=esbuild/main.cjs",
  ];
  await run(esbuild, [...args, "--log-level=warning"]);
  await assertWorks("esbuild/main.cjs", { isWhole: true });
});

test("esbuild: an ES module finds the file beside it, and passes everything through without", async () => {
  const esbuild = createRequire(import.meta.url).resolve("esbuild/bin/esbuild");
  const args = ["main.mjs", "--bundle", "--platform=node", "--format=esm", "--loader:.node=copy"];
  await run(esbuild, [...args, "--outfile=esbuild-module/main.mjs", "--log-level=warning"]);
  await assertWorks("esbuild-module/main.mjs", { isWhole: true });
  const alone = join(folder, "module-alone");
  mkdirSync(alone);
  cpSync(join(app, "esbuild-module/main.mjs"), join(alone, "main.mjs"));
  await assertPassesThrough(join(alone, "main.mjs"));
});

/** The app of a bundle without its native file: the hook gives back what it got, and the error says what to do. */
async function assertPassesThrough(bundle) {
  const code = `
    process.on("uncaughtException", (error) => console.log(JSON.stringify({ code: error.code, told: error.message })));
    process.on("unhandledRejection", (error) => { throw error; });
    await import(${JSON.stringify(pathToFileURL(bundle).href)});`;
  writeFileSync(`${bundle}.start.mjs`, code);
  const { code: found, told } = JSON.parse(await run(process.execPath, [`${bundle}.start.mjs`]));
  // The hook has resolved by then: it is the count behind it that throws.
  assert.equal(found, "ERR_NATIVE_UNAVAILABLE");
  assert.match(told, /leave pi-strata outside the bundle/);
}

/** What a bundle prints, in a folder of its own if `isWhole`. */
async function assertPrints(bundle, wanted, isWhole = false) {
  const home = isWhole ? join(folder, `alone-${bundle.split("/")[0]}`) : app;
  if (isWhole) cpSync(join(app, bundle.split("/")[0]), join(home, bundle.split("/")[0]), { recursive: true });
  const said = JSON.parse(await run(process.execPath, [join(home, bundle)], { cwd: home }));
  assert.deepEqual(said.slice(-wanted.length), wanted);
  assert.ok(
    said.every((part) => part !== 0),
    "every path exports something",
  );
}

const HELLO = [15339, 1917];

test("every path: esbuild as CommonJS and as an ES module, webpack, Rollup", async () => {
  const esbuild = createRequire(import.meta.url).resolve("esbuild/bin/esbuild");
  for (const [format, file] of [
    ["cjs", "paths-cjs/main.cjs"],
    ["esm", "paths-esm/main.mjs"],
  ]) {
    const args = ["paths.mjs", "--bundle", "--platform=node", `--format=${format}`, "--loader:.node=copy"];
    await run(esbuild, [...args, `--outfile=${file}`, "--log-level=warning"]);
    await assertPrints(file, [HELLO], true);
  }
  const load = createRequire(import.meta.url);
  const external = [/^pi-strata(\/|$)/];
  const compiler = load(installed("webpack"))({
    mode: "production",
    target: "node",
    context: app,
    entry: "./paths.mjs",
    output: { path: join(app, "paths-webpack"), filename: "main.cjs" },
    externals: external,
    externalsType: "commonjs",
  });
  const { compilation } = await promisify(compiler.run.bind(compiler))();
  assert.deepEqual([...compilation.errors, ...compilation.warnings], []);
  await assertPrints("paths-webpack/main.cjs", [HELLO]);
  const bundle = await load(installed("rollup")).rollup({ input: join(app, "paths.mjs"), external });
  await bundle.write({ file: join(app, "paths-rollup/main.mjs"), format: "es" });
  await assertPrints("paths-rollup/main.mjs", [HELLO]);
});

test("a dependency's js-tiktoken: npm's folder, esbuild's and Rollup's alias, webpack's externals", async () => {
  const load = createRequire(import.meta.url);
  const wanted = ["o200k_base", HELLO];
  await run(load.resolve("esbuild/bin/esbuild"), [
    "dependency.mjs",
    "--bundle",
    "--platform=node",
    "--loader:.node=copy",
    "--alias:js-tiktoken=pi-strata/js-tiktoken",
    "--outfile=dependency-esbuild/main.cjs",
  ]);
  await assertPrints("dependency-esbuild/main.cjs", wanted, true);
  const compiler = load(installed("webpack"))({
    mode: "production",
    target: "node",
    context: app,
    entry: "./dependency.mjs",
    output: { path: join(app, "dependency-webpack"), filename: "main.cjs" },
    externals: {
      "js-tiktoken": "commonjs pi-strata/js-tiktoken",
      "js-tiktoken/lite": "commonjs pi-strata/js-tiktoken/lite",
    },
  });
  const { compilation } = await promisify(compiler.run.bind(compiler))();
  assert.deepEqual([...compilation.errors, ...compilation.warnings], []);
  await assertPrints("dependency-webpack/main.cjs", wanted);
  const alias = load(installed("@rollup/plugin-alias"));
  const bundle = await load(installed("rollup")).rollup({
    input: join(app, "dependency.mjs"),
    external: [/^pi-strata(\/|$)/],
    plugins: [(alias.default ?? alias)({ entries: { "js-tiktoken": "pi-strata/js-tiktoken" } })],
  });
  await bundle.write({ file: join(app, "dependency-rollup/main.mjs"), format: "es" });
  await assertPrints("dependency-rollup/main.mjs", wanted);
  const home = join(app, "node_modules/js-tiktoken");
  mkdirSync(home, { recursive: true });
  const manifest = {
    name: "js-tiktoken",
    version: "1.0.21",
    exports: { ".": "./index.js", "./lite": "./lite.js" },
  };
  writeFileSync(join(home, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(home, "index.js"), 'module.exports = require("pi-strata/js-tiktoken");');
  writeFileSync(join(home, "lite.js"), 'module.exports = require("pi-strata/js-tiktoken/lite");');
  await assertPrints("dependency.mjs", wanted);
  rmSync(home, { recursive: true });
});

test("esbuild: a copied file that was cut short is refused, and does not kill the process", async () => {
  const home = join(folder, "cut");
  cpSync(join(app, "esbuild"), home, { recursive: true });
  const file = join(
    home,
    readdirSync(home).find((name) => name.endsWith(".node")),
  );
  writeFileSync(file, readFileSync(file).subarray(0, 4096));
  const code = `process.on("uncaughtException", (error) => console.log(error.code)); require("./main.cjs")`;
  assert.equal(await run(process.execPath, ["-e", code], { cwd: home }), "ERR_NATIVE_UNAVAILABLE\n");
});

test("bun: bundled, compiled into one program, and run as it stands", async (t) => {
  const binary = installed(".bin/bun");
  t.diagnostic(`bun ${(await run(binary, ["--version"])).trim()}`);
  await run(binary, ["build", "main.mjs", "--target=node", "--outdir=bun"]);
  await assertWorks("bun/main.js", { isWhole: true });
  await run(binary, ["build", "main.mjs", "--compile", "--outfile=bun-program/app"]);
  await assertWorks("bun-program/app", { isWhole: true, runtime: null });
  await assertWorks("main.mjs", { isWhole: false, runtime: binary });
});

test("webpack: the package stays outside", async () => {
  const webpack = createRequire(import.meta.url)(installed("webpack"));
  const compiler = webpack({
    mode: "production",
    target: "node",
    context: app,
    entry: "./main.mjs",
    output: { path: join(app, "webpack"), filename: "main.cjs" },
    externals: [/^pi-strata(\/|$)/],
    externalsType: "commonjs",
  });
  const stats = await promisify(compiler.run.bind(compiler))();
  assert.deepEqual([...stats.compilation.errors, ...stats.compilation.warnings], []);
  await assertWorks("webpack/main.cjs", { isWhole: false });
});

test("rollup: the package stays outside", async () => {
  const load = createRequire(import.meta.url);
  const { rollup } = load(installed("rollup"));
  const { nodeResolve } = load(installed("@rollup/plugin-node-resolve"));
  const commonjs = load(installed("@rollup/plugin-commonjs"));
  const bundle = await rollup({
    input: join(app, "main.mjs"),
    external: [/^pi-strata(\/|$)/],
    plugins: [nodeResolve({ preferBuiltins: true }), (commonjs.default ?? commonjs)()],
  });
  await bundle.write({ file: join(app, "rollup/main.mjs"), format: "es" });
  await assertWorks("rollup/main.mjs", { isWhole: false });
});

test("rollup: an ES module with all of it passes everything through, and says so", async () => {
  const load = createRequire(import.meta.url);
  const { rollup } = load(installed("rollup"));
  const { nodeResolve } = load(installed("@rollup/plugin-node-resolve"));
  const commonjs = load(installed("@rollup/plugin-commonjs"));
  const json = load(installed("@rollup/plugin-json"));
  const ignore = (id) => id.endsWith(".node") || id.startsWith("pi-strata-");
  const plugins = [nodeResolve({ preferBuiltins: true }), (commonjs.default ?? commonjs)({ ignore })];
  const bundle = await rollup({
    input: join(app, "main.mjs"),
    plugins: [...plugins, (json.default ?? json)()],
    onwarn() {},
  });
  const home = join(folder, "rollup-alone");
  await bundle.write({ file: join(home, "main.mjs"), format: "es", inlineDynamicImports: true });
  await assertPassesThrough(join(home, "main.mjs"));
});

test("vite: a server build needs no line, as it leaves packages outside", async () => {
  await script(installed("vite/bin/vite.js"), ["build", "--ssr", "main.mjs", "--outDir", "vite"]);
  await assertWorks("vite/main.js", { isWhole: false });
});

test("electron-vite: nor does the main process, whose dependencies stay outside", async () => {
  const config = { main: { build: { outDir: "electron", rollupOptions: { input: "main.mjs" } } } };
  writeFileSync(join(app, "electron.vite.config.mjs"), `export default ${JSON.stringify(config)};\n`);
  // It asks Electron for its version; the bundle is the same for every one of today's.
  await script(installed("electron-vite/bin/electron-vite.js"), ["build"], { ELECTRON_MAJOR_VER: "40" });
  await assertWorks("electron/main.js", { isWhole: false });
});
