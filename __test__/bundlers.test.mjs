// An app that uses the hook, bundled by each bundler as docs/electron.md says, then run: where the native file is
// copied beside the bundle, in a folder without any node_modules; where the package stays outside, beside them.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { pack } from "../release/pack.mjs";
import { ROOT } from "../release/platforms.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

/** The paths that any bundler takes. The others are loaded by pi and OpenClaw, or have a page beside them. */
const PATHS = "sessions pipeline guard tokens ledger ai-sdk js-tiktoken js-tiktoken/lite".split(" ");

/** An app that imports every path, and edits, counts and encodes. */
const APP = `
${PATHS.map((path, i) => `import * as path${i} from "pi-strata/${path}";`).join("\n")}
import { countTokens, createTransformContext, status } from "pi-strata";
const long = Array.from({ length: 90 }, (_, i) => "line " + i + " of a result").join("\\n");
const messages = [{ role: "user", content: "go", timestamp: 1 }];
for (let i = 0; i < 8; i += 1) {
  messages.push({ role: "assistant", content: [{ type: "toolCall", id: "c" + i, name: "read", arguments: {} }] });
  messages.push({ role: "toolResult", toolCallId: "c" + i, toolName: "read", content: [{ type: "text", text: long }] });
}
createTransformContext({ schedule: "everyCall" })(messages).then((sent) => {
  const edited = sent.filter((message, i) => message !== messages[i]).length;
  const done = [edited, countTokens("hello world"), path6.getEncoding("cl100k_base").encode("hello world")];
  console.log(JSON.stringify({ done, names: [${PATHS.map((_, i) => `Object.keys(path${i}).length`)}], status: status() }));
});
`;

/** A dependency's own imports of js-tiktoken, as @langchain/core has them. */
const DEPENDENCY = `
import { getEncodingNameForModel } from "js-tiktoken/lite";
import { getEncoding } from "js-tiktoken";
console.log(JSON.stringify([getEncodingNameForModel("gpt-4o"), getEncoding("cl100k_base").encode("hello world")]));
`;

const bundlers = fileURLToPath(new URL("./bundlers/", import.meta.url));
const installed = (file) => join(bundlers, "node_modules", file);
const folder = temporaryFolder("bundlers");
const app = join(folder, "app");

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

/** Where a bundle runs: in a folder of its own if `isWhole`, else beside the app's packages. */
function homeOf(bundle, isWhole) {
  if (!isWhole) return app;
  const [name] = bundle.split("/");
  const home = join(folder, `alone-${name}`);
  cpSync(join(app, name), join(home, name), { recursive: true });
  return home;
}

const HELLO = [15339, 1917];

/** The bundle does what the app does. */
async function assertWorks(bundle, { isWhole = false, runtime = process.execPath } = {}) {
  const home = homeOf(bundle, isWhole);
  const args = runtime === null ? [] : [join(home, bundle)];
  const said = JSON.parse(await run(runtime ?? join(home, bundle), args, { cwd: home }));
  assert.equal(said.status.native, true, said.status.error);
  assert.deepEqual(said.done, [2, 2, HELLO]);
  assert.ok(!said.names.includes(0), "every path exports something");
}

/** The app of a bundle without its native file: the hook gives back what it got, and the error says what to do. */
async function assertPassesThrough(bundle, start = "") {
  const code = `${start}
    process.on("uncaughtException", (error) => console.log(JSON.stringify({ code: error.code, told: error.message })));
    process.on("unhandledRejection", (error) => { throw error; });
    await import(${JSON.stringify(pathToFileURL(bundle).href)});`;
  writeFileSync(`${bundle}.start.mjs`, code);
  const { code: found, told } = JSON.parse(await run(process.execPath, [`${bundle}.start.mjs`]));
  // The hook has resolved by then: it is the count behind it that throws.
  assert.equal(found, "ERR_NATIVE_UNAVAILABLE");
  assert.match(told, /leave pi-strata outside the bundle/);
}

async function assertPrints(bundle, wanted, isWhole = false) {
  const home = homeOf(bundle, isWhole);
  assert.deepEqual(JSON.parse(await run(process.execPath, [join(home, bundle)], { cwd: home })), wanted);
}

const load = createRequire(import.meta.url);
const OURS = [/^pi-strata(\/|$)/];
const plugin = (name, options) => {
  const made = load(installed(`@rollup/plugin-${name}`));
  return (made.default ?? made)(options);
};

const esbuild = (entry, file, ...more) =>
  run(load.resolve("esbuild/bin/esbuild"), [
    `${entry}.mjs`,
    "--bundle",
    "--platform=node",
    "--loader:.node=copy",
    "--log-level=warning",
    `--outfile=${file}`,
    ...more,
  ]);

async function webpack(entry, folderName, externals, more = {}) {
  const compiler = load(installed("webpack"))({
    mode: "production",
    target: "node",
    context: app,
    entry: `./${entry}.mjs`,
    output: { path: join(app, folderName), filename: "main.cjs" },
    externals,
    externalsType: "commonjs",
    ...more,
  });
  const { compilation } = await promisify(compiler.run.bind(compiler))();
  assert.deepEqual([...compilation.errors, ...compilation.warnings], []);
}

async function rollup(entry, file, options) {
  const bundle = await load(installed("rollup")).rollup({
    input: join(app, `${entry}.mjs`),
    onwarn() {},
    ...options,
  });
  await bundle.write({ file, format: "es", inlineDynamicImports: true });
}

test("esbuild: the file is copied, with one loader named", async () => {
  await esbuild("main", "esbuild/main.cjs");
  await assertWorks("esbuild/main.cjs", { isWhole: true });
});

test("esbuild: an ES module finds the file beside it, and passes everything through without", async () => {
  await esbuild("main", "esbuild-module/main.mjs", "--format=esm");
  await assertWorks("esbuild-module/main.mjs", { isWhole: true });
  const alone = join(folder, "module-alone");
  mkdirSync(alone);
  cpSync(join(app, "esbuild-module/main.mjs"), join(alone, "main.mjs"));
  await assertPassesThrough(join(alone, "main.mjs"));
});

test("esbuild: an ES module finds the file beside it from a link, and none beside what it is asked to open", async () => {
  const [link, home] = [join(folder, "command"), join(folder, "opened/app/dist")];
  symlinkSync(join(folder, "alone-esbuild-module/esbuild-module/main.mjs"), link);
  assert.equal(JSON.parse(await script(link, [])).status.native, true);
  cpSync(join(app, "esbuild-module/main.mjs"), join(home, "main.mjs"));
  const native = readdirSync(join(app, "esbuild-module")).find((name) => name.endsWith(".node"));
  for (const foreign of ["opened", "opened/documents"])
    cpSync(join(app, "esbuild-module", native), join(folder, foreign, native));
  // As a packaged Electron app, whose first argument is the document.
  const document = join(folder, "opened/documents/letter.txt");
  await assertPassesThrough(join(home, "main.mjs"), `process.argv = ["app", ${JSON.stringify(document)}];`);
});

test("esbuild: the inspector, which cannot be bundled, says so when it opens", async () => {
  const code = `
    import { createInspector } from "pi-strata/inspector";
    createInspector().open().then(console.log, (error) => console.log(error.message));`;
  writeFileSync(join(app, "inspector.mjs"), code);
  await esbuild("inspector", "esbuild-inspector/main.cjs");
  assert.match(await script("esbuild-inspector/main.cjs", []), /^the page .* outside the bundle\n$/);
});

test("a dependency's js-tiktoken: npm's folder, esbuild's and Rollup's alias, webpack's externals", async () => {
  const wanted = ["o200k_base", HELLO];
  await esbuild("dependency", "dependency-esbuild/main.cjs", "--alias:js-tiktoken=pi-strata/js-tiktoken");
  await assertPrints("dependency-esbuild/main.cjs", wanted, true);
  await webpack("dependency", "dependency-webpack", {
    "js-tiktoken": "commonjs pi-strata/js-tiktoken",
    "js-tiktoken/lite": "commonjs pi-strata/js-tiktoken/lite",
  });
  await assertPrints("dependency-webpack/main.cjs", wanted);
  await rollup("dependency", join(app, "dependency-rollup/main.mjs"), {
    external: OURS,
    plugins: [plugin("alias", { entries: { "js-tiktoken": "pi-strata/js-tiktoken" } })],
  });
  await assertPrints("dependency-rollup/main.mjs", wanted);
  const home = join(app, "node_modules/js-tiktoken");
  mkdirSync(home, { recursive: true });
  const exports = { ".": "./index.js", "./lite": "./lite.js" };
  writeFileSync(
    join(home, "package.json"),
    JSON.stringify({ name: "js-tiktoken", version: "1.0.21", exports }),
  );
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
  await assertWorks("main.mjs", { runtime: binary });
});

test("a native file built from source goes along with esbuild's and Bun's bundle", async () => {
  const built = join(folder, "built");
  const home = join(built, "node_modules/pi-strata");
  cpSync(join(app, "node_modules/pi-strata"), home, { recursive: true });
  cpSync(join(app, "main.mjs"), join(built, "main.mjs"));
  for (const file of readdirSync(ROOT).filter((name) => name.endsWith(".node")))
    cpSync(join(ROOT, file), join(home, file));
  await esbuild("../built/main", "esbuild-built/main.cjs");
  const binary = installed(".bin/bun");
  await run(binary, ["build", "../built/main.mjs", "--target=node", "--outdir=bun-built"]);
  await run(binary, ["build", "../built/main.mjs", "--compile", "--outfile=bun-built-program/app"]);
  // A bundle may hold the path of the sources.
  rmSync(built, { recursive: true });
  await assertWorks("esbuild-built/main.cjs", { isWhole: true });
  await assertWorks("bun-built/main.js", { isWhole: true });
  await assertWorks("bun-built-program/app", { isWhole: true, runtime: null });
});

test("webpack and Rollup: the package stays outside", async () => {
  await webpack("main", "webpack", OURS);
  await assertWorks("webpack/main.cjs");
  const plugins = [plugin("node-resolve", { preferBuiltins: true }), plugin("commonjs")];
  await rollup("main", join(app, "rollup/main.mjs"), { external: OURS, plugins });
  await assertWorks("rollup/main.mjs");
});

test("Rollup: an ES module with all of it passes everything through, and says so", async () => {
  const ignore = (id) => id.endsWith(".node") || id.startsWith("pi-strata-");
  const plugins = [
    plugin("node-resolve", { preferBuiltins: true }),
    plugin("commonjs", { ignore }),
    plugin("json"),
  ];
  const file = join(folder, "rollup-alone", "main.mjs");
  await rollup("main", file, { plugins });
  await assertPassesThrough(file);
});

test("webpack: the JavaScript of the package in a bundle whose __dirname is relative", async () => {
  await webpack("main", "webpack-relative", [/\.node$|^pi-strata-/], { node: { __dirname: true } });
  await assertWorks("webpack-relative/main.cjs");
});

test("vite: a server build needs no line, as it leaves packages outside", async () => {
  await script(installed("vite/bin/vite.js"), ["build", "--ssr", "main.mjs", "--outDir", "vite"]);
  await assertWorks("vite/main.js");
});

test("electron-vite: nor does the main process, whose dependencies stay outside", async () => {
  const config = { main: { build: { outDir: "electron", rollupOptions: { input: "main.mjs" } } } };
  writeFileSync(join(app, "electron.vite.config.mjs"), `export default ${JSON.stringify(config)};\n`);
  // It asks Electron for its version; the bundle is the same for every one of today's.
  await script(installed("electron-vite/bin/electron-vite.js"), ["build"], { ELECTRON_MAJOR_VER: "40" });
  await assertWorks("electron/main.js");
});
