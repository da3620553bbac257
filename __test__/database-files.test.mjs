// Files that another program locks, owns or has filled the disk of, for both doors that keep one: a clear error, and
// nothing that was acknowledged is lost.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { doors } from "./support/file-doors.mjs";
import { nodeBinary } from "./support/nodes.mjs";

const support = (name) => fileURLToPath(new URL(`./support/${name}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pi-strata-files-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.db`);

/** Another program with the file open; ends when told so. */
async function otherProgram(t, file, sql) {
  const child = spawn(nodeBinary("node24"), ["--no-warnings", support("other-program.mjs"), file, sql], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill());
  await once(child.stdout, "data");
  return async () => {
    child.stdin.end();
    await once(child, "exit");
  };
}

/** Runs a trial in a process of its own, `under` a command if need be, and hands back what it printed. */
function trial(under, door, name) {
  const place = mkdtempSync(join(folder, "trial-"));
  for (const path of [folder, place]) chmodSync(path, 0o755);
  const [command, ...args] = [
    ...under(place),
    process.execPath,
    support("file-doors.mjs"),
    door,
    name,
    place,
  ];
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  chmodSync(place, 0o755);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

/** A disk of 2 MB in `place` that only the command after it sees. */
const smallDisk = (place) => [
  ..."unshare --user --map-root-user --mount sh -c".split(" "),
  'mount -t tmpfs -o size=2m none "$0" && exec "$@"',
  place,
];
const hasDisks = spawnSync(smallDisk(folder)[0], [...smallDisk(folder).slice(1), "true"]).status === 0;
const needsDisks = { skip: !hasDisks && "this user may not mount a disk of its own" };

for (const [name, open] of Object.entries(doors)) {
  describe(name, { timeout: 120_000 }, () => {
    test("a locked file refuses to be written, is still read, and goes on afterwards", async (t) => {
      const file = newFile();
      const door = open(file);
      await door.append("before");
      const release = await otherProgram(t, file, "BEGIN IMMEDIATE");
      await assert.rejects(door.append("lost"), {
        name: "DatabaseError",
        code: "ERR_DATABASE_LOCKED",
        message: /locked by another process; try again/,
      });
      assert.deepEqual(await door.read(), ["before"]);
      await release();
      await door.append("after");
      assert.deepEqual(await door.read(), ["before", "after"]);
      await door.close();
    });

    test("a file that another program has for itself is no damaged one", async (t) => {
      const file = newFile();
      const first = open(file);
      await first.append("before");
      await first.close();
      const release = await otherProgram(t, file, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
      await assert.rejects(async () => await open(file).read(), { code: "ERR_DATABASE_LOCKED" });
      await release();
      const again = open(file);
      assert.deepEqual(await again.read(), ["before"]);
      await again.close();
    });

    test("a database of another program is refused and left as it is", async (t) => {
      const file = newFile();
      await (
        await otherProgram(t, file, "CREATE TABLE history(id, author); INSERT INTO history VALUES (1, 2)")
      )();
      const before = readFileSync(file);
      await assert.rejects(
        async () => {
          const door = open(file);
          await door.append("a").finally(() => door.close());
        },
        { code: "ERR_DATABASE_FOREIGN", message: /choose another path \(.*\.db: / },
      );
      assert.ok(readFileSync(file).equals(before));
      assert.deepEqual(
        readdirSync(folder).filter((other) => other.startsWith(`${file.slice(folder.length + 1)}.corrupt`)),
        [],
      );
    });

    test(
      "a full disk refuses one message, keeps the others, and takes new ones when there is room",
      needsDisks,
      () => {
        const { stored, failed, ...rest } = trial(smallDisk, name, "full");
        assert.ok(stored > 10, `${stored} messages`);
        assert.equal(failed.code, "ERR_DATABASE_FULL");
        assert.match(failed.message, /no space left/);
        assert.deepEqual(rest, { whileFull: true, kept: true, events: [] });
      },
    );

    test("a read-only disk is read, and called that", needsDisks, () => {
      const { read, written } = trial(smallDisk, name, "readOnlyDisk");
      assert.deepEqual(read, ["before"]);
      assert.equal(written.code, "ERR_DATABASE_READ_ONLY");
      assert.match(written.message, /make the file and its folder writable/);
    });

    test("a read-only file is read, and called that", { skip: process.platform === "win32" }, () => {
      const { read, written } = trial(() => [], name, "readOnlyFile");
      assert.deepEqual(read, ["before"]);
      assert.equal(written.code, "ERR_DATABASE_READ_ONLY");
    });
  });
}
