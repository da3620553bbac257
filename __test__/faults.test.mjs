// A panic at every step of every task, in an addon built for that alone: the process lives, the hook resolves with its
// input, counting fails with a plain error, and the next call works again.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FAULTY = path.join(ROOT, "target", "pi-strata-faults.node");
const LIBRARY = { linux: "libpi_strata.so", darwin: "libpi_strata.dylib", win32: "pi_strata.dll" };
const PANICS = 1000;

before(() => {
  const flags = [
    "build",
    "--quiet",
    "--lib",
    "--features",
    "fault-injection",
    "--target-dir",
    "target/faults",
  ];
  execFileSync("cargo", flags, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  copyFileSync(path.join(ROOT, "target", "faults", "debug", LIBRARY[process.platform]), FAULTY);
});

const SCRIPT = `
import assert from "node:assert/strict";
import { createRequire } from "node:module";
const require = createRequire(${JSON.stringify(path.join(ROOT, "index.js"))});
const strata = require("./index.js");
const { armFault } = require("./binding.js");
const { conversation } = await import(${JSON.stringify(path.join(ROOT, "__test__/support/transcripts.mjs"))});

let injected = 0;
const fired = () => armFault(-1) < 0;
const scenarios = [
  { options: {}, length: 6 },
  { options: { contextWindow: 3000, reserveTokens: 100, keepRecentMessages: 4 }, length: 40 },
  { options: { contextWindow: 300, reserveTokens: 0, keepRecentMessages: 0 }, length: 24 },
];
for (let seed = 0; injected < ${PANICS}; seed += 1) {
  for (const { options, length } of scenarios) {
    const failures = [];
    const onEvent = (event) => event.type === "failed" && failures.push(event);
    for (let step = 0; ; step += 1) {
      const hook = strata.createTransformContext({ schedule: "everyCall", ...options, onEvent });
      const messages = conversation(seed, { length });
      armFault(step);
      const sent = await hook(messages);
      if (!fired()) break;
      injected += 1;
      assert.equal(sent, messages);
      assert.equal(failures.length, 1);
      assert.ok(!JSON.stringify(failures.pop()).includes("canary"));
      const again = await hook(messages);
      assert.deepEqual(failures, []);
      assert.deepEqual(strata.validate(again), strata.validate(await strata.createTransformContext({ schedule: "everyCall", ...options })(messages)));
    }
  }
  const counts = [
    () => strata.countTokens("text"),
    () => strata.countTokens([{ role: "user", content: "text" }]),
    () => strata.countTokensAsync("text"),
    () => strata.countTokensAsync([{ role: "user", content: "text" }]),
    () => strata.fitsTokens("text", 9),
    () => strata.getEncoding("cl100k_base").encode("text"),
    () => strata.getEncoding("cl100k_base").decode([9]),
    () => strata.validate(conversation(seed, { length: 9 })),
    () => strata.repair(conversation(seed, { length: 9, noise: 2 })),
    () => require("./binding.js").parseSession(Buffer.from("{}")),
    () => require("./binding.js").reasons(),
  ];
  for (const count of counts) {
    for (let step = 0; ; step += 1) {
      armFault(step);
      const error = await (async () => count())().then(() => undefined, (reason) => reason);
      if (!fired()) {
        assert.equal(error, undefined);
        break;
      }
      injected += 1;
      assert.ok(error instanceof Error && !error.message.includes("canary"));
    }
  }
}
console.log(JSON.stringify({ injected }));
`;

test(`${PANICS} injected panics, one at every step of every task`, (t) => {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", SCRIPT],
    { encoding: "utf8", env: { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: FAULTY } },
  );
  assert.deepEqual([status, signal, stderr], [0, null, ""]);
  const { injected } = JSON.parse(stdout);
  t.diagnostic(`${injected} panics injected, 0 processes died`);
  assert.ok(injected >= PANICS);
});

test("the shipped addon cannot be made to panic", () => {
  const binding = createRequire(import.meta.url)("../binding.js");
  assert.equal(binding.armFault, undefined);
  assert.ok(!readFileSync(path.join(ROOT, "binding.d.ts"), "utf8").includes("armFault"));
});
