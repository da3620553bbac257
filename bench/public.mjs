// Public recordings of agents at pinned commits, for figures that anybody can make again. They are fetched once and
// kept in bench/.cache, which git ignores; nothing of them is part of the package.

import { access, mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const CACHE = new URL(".cache/", import.meta.url);
const PI = "badlogic/pi-mono/83378aad7e74a0e2bb8f37c007a9685fb4609d8a/packages/coding-agent/test/fixtures";
const SPOTTER = "marot/spotter/8cc42b0bd39d04e71e509d7d58e6782ab435329f/test/fixtures/transcripts";

const RECORDINGS = [
  `${PI}/large-session.jsonl`,
  `${PI}/before-compaction.jsonl`,
  `${SPOTTER}/258c7280-ae70-4798-800f-63464d01a85d.jsonl`,
  `${SPOTTER}/4d5611e5-241a-462a-8d15-5122611a9569.jsonl`,
  `${SPOTTER}/8463c716-a2ea-4c14-9efa-87158ebd9f20.jsonl`,
  `${SPOTTER}/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl`,
  `${SPOTTER}/fa812bfe-b295-4cca-9c2f-fdf01028cb46.jsonl`,
];

/** Paths of the recordings on this disk; those that are not there yet are fetched. */
export async function publicRecordings() {
  return Promise.all(RECORDINGS.map((path) => cached(path)));
}

/** The file on this disk, under `name`, of `path`: owner, repository, commit and where it stands there. */
export async function cached(path, name = path.slice(path.lastIndexOf("/") + 1)) {
  await mkdir(CACHE, { recursive: true });
  const file = new URL(encodeURIComponent(name), CACHE);
  try {
    await access(file);
  } catch {
    const url = `https://raw.githubusercontent.com/${path.split("/").map(encodeURIComponent).join("/")}`;
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    await writeFile(file, Buffer.from(await answer.arrayBuffer()));
  }
  return fileURLToPath(file);
}
