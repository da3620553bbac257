// The Electron example: its page in a real browser with a stand-in for the main process, the layout of its archive, and
// what would break the addon in Electron's memory cage. Electron itself is not started here.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createPackageWithOptions, listPackage, statFile } from "@electron/asar";
import { platforms } from "../release/platforms.mjs";
import { pageTest } from "./support/browser.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const example = fileURLToPath(new URL("../examples/electron/", import.meta.url));
const folder = temporaryFolder("electron");

/** Stands in for the main process: keeps what it is asked, and lets the test tell the page what happened. */
const STAND_IN = () => {
  window.asked = [];
  window.chat = {
    ask: (question) => window.asked.push(question),
    stop: () => window.asked.push("(stop)"),
    onEvent: (listener) => {
      window.tell = listener;
    },
  };
};

pageTest(
  "an old conversation stays to be read, the new one opens with what is remembered",
  {},
  async (page) => {
    await page.addInitScript(STAND_IN);
    await page.goto(pathToFileURL(join(example, "page/index.html")).href);
    const tell = (event) => page.evaluate((told) => window.tell(told), event);
    const ask = async (text) => {
      await page.fill("#question", text);
      await page.keyboard.press("Enter");
    };
    await ask("第一个问题");
    assert.deepEqual(await page.evaluate(() => window.asked), ["第一个问题"]);
    assert.equal(await page.isDisabled("[type=submit]"), true);
    await tell({ type: "message", role: "user", text: "第一个问题" });
    await tell({ type: "message", role: "assistant", text: "<b>答案</b>" });
    await tell({ type: "tokens", tokensBefore: 900.4, tokensAfter: 300 });
    await tell({ type: "idle" });
    assert.equal(await page.isDisabled("[type=submit]"), false);
    assert.equal(await page.textContent("#tokens"), "900 → 300 tokens");

    await ask("第二个问题");
    await tell({
      type: "newConversation",
      pairs: [{ q: "第一个问题", a: "<i>答案</i>" }],
      isOverflow: false,
    });
    await tell({ type: "message", role: "user", text: "第二个问题" });
    const [old, current] = await page.locator(".conversation").all();
    assert.match(await old.getAttribute("class"), /\bold\b/);
    assert.equal(await old.getAttribute("aria-readonly"), "true");
    assert.deepEqual(await old.locator("> *").allTextContents(), [
      "第一个问题",
      "<b>答案</b>",
      "🆕 已开启新对话",
    ]);
    assert.deepEqual(await current.locator("> :not(details)").allTextContents(), [
      "✨ 新对话已开始",
      "第二个问题",
    ]);
    assert.equal(await current.locator("summary").textContent(), "📋 上一轮对话记忆");
    assert.equal(await current.locator("dd").isVisible(), false);
    await current.locator("summary").click();
    assert.equal(await current.locator("dd").textContent(), "<i>答案</i>");
    assert.equal(await page.getByText("历史记录过长").count(), 0);

    await tell({ type: "newConversation", pairs: [], isOverflow: true });
    assert.equal(await page.locator(".conversation").count(), 3);
    assert.deepEqual(await page.locator(".conversation:not(.old) > *").allTextContents(), [
      "✨ 新对话已开始",
      "⚠️ 历史记录过长",
    ]);
    await page.click("#stop");
    assert.equal(await page.evaluate(() => window.asked.at(-1)), "(stop)");
  },
);

test("in the archive everything is packed but the native file", async () => {
  const app = join(folder, "app");
  const { name, file } = platforms()[0];
  cpSync(example, app, { recursive: true, filter: (path) => !path.includes("node_modules") });
  mkdirSync(join(app, "node_modules", name), { recursive: true });
  writeFileSync(join(app, "node_modules", name, file), "native");
  const archive = join(folder, "app.asar");
  const require = createRequire(join(example, "package.json"));
  const { unpack } = require("./forge.config.cjs").packagerConfig.asar;
  await createPackageWithOptions(app, archive, { unpack });
  const unpacked = listPackage(archive).filter((path) => statFile(archive, path.slice(1)).unpacked);
  assert.deepEqual(unpacked, [`/node_modules/${name}/${file}`]);
  assert.equal(readFileSync(join(`${archive}.unpacked`, "node_modules", name, file), "utf8"), "native");
  const builder = readFileSync(join(example, "electron-builder.yml"), "utf8");
  assert.match(builder, /^asarUnpack:\n {2}- "\*\*\/\*\.node"$/m);
});

/** Types of napi-rs that hand memory of Rust's to JavaScript; their `…Slice` twins, made with `copy_from`, copy it. */
const EXTERNAL =
  /\b(Buffer|BufferSlice|ArrayBuffer|External(Ref)?|(Big)?(Ui|I)nt\d+Array|Float\d+Array)\b|from_external|from_data/;

test("no external buffer crosses into JavaScript: Electron's memory cage forbids them", () => {
  const root = fileURLToPath(new URL("../src/node/", import.meta.url));
  const files = readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".rs"));
  assert.ok(files.length > 0);
  for (const name of files) {
    const lines = readFileSync(join(root, name), "utf8").split("\n");
    const code = lines.filter((line) => !/^\s*(\/\/|#!?\[)/.test(line)).join("\n");
    assert.doesNotMatch(code, EXTERNAL, name);
  }
});
