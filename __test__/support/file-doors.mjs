// The door that keeps a file: what is appended is a text, what is read are all of them. And a
// trial of a file system that runs in a process of its own: `node file-doors.mjs DOOR TRIAL FOLDER` prints what came
// of it as JSON.
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SqliteProvider } from "pi-strata/pipeline";

/** Messages read at once: more than any test stores. */
const ALL = 1_000_000;
/** A user that owns nothing, where the tests run as root. */
const NOBODY = 65_534;

export const doors = {
  history(file, onEvent) {
    const provider = new SqliteProvider(file, { onEvent });
    return {
      append: (content) => provider.append(1, { role: "user", content }),
      read: async () => (await provider.getHistory(1, ALL)).map(({ content }) => content),
      close: () => provider.close(),
    };
  },
};

const failure = (error) => ({ code: error.code, name: error.name, message: error.message });

const trials = {
  /** The disk fills up while messages come in; then somebody makes room. */
  async full(open, folder) {
    const ballast = join(folder, "ballast");
    writeFileSync(ballast, Buffer.alloc(256 * 1024));
    const events = [];
    const door = open(join(folder, "a.db"), (event) => events.push(event));
    const stored = [];
    let failed;
    for (let n = 0; failed === undefined && n < 10_000; n += 1) {
      const text = `${n} ${"x".repeat(2000)}`;
      await door.append(text).then(
        () => stored.push(text),
        (error) => (failed = failure(error)),
      );
    }
    const whileFull = (await door.read()).join() === stored.join();
    rmSync(ballast);
    await door.append("room again");
    await door.close();
    const again = open(join(folder, "a.db"), (event) => events.push(event));
    const kept = (await again.read()).join() === [...stored, "room again"].join();
    await again.close();
    return { stored: stored.length, failed, whileFull, kept, events };
  },

  /** The whole file system becomes read-only, as an installed app's folder or a snapshot is. */
  async readOnlyDisk(open, folder) {
    const file = join(folder, "a.db");
    const door = open(file);
    await door.append("before");
    await door.close();
    execFileSync("mount", ["-o", "remount,ro", folder]);
    return outcomes(open, file);
  },

  /** Somebody else's file, which this user may read and no more. */
  async readOnlyFile(open, folder) {
    const file = join(folder, "a.db");
    const door = open(file);
    await door.append("before");
    await door.close();
    chmodSync(file, 0o444);
    chmodSync(folder, 0o555);
    if (process.getuid() === 0) process.setuid(NOBODY);
    return outcomes(open, file);
  },
};

/** What reading and writing come to. */
async function outcomes(open, file) {
  let read;
  try {
    const door = open(file);
    read = await door.read().catch(failure);
    const written = await door.append("after").then(() => "stored", failure);
    await door.close();
    return { read, written };
  } catch (error) {
    return { read, written: failure(error) };
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [door, trial, folder] = process.argv.slice(2);
  const outcome = await trials[trial](doors[door], folder);
  console.log(JSON.stringify(outcome));
}
