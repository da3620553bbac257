// The page that shows a replay beside other settings. Its data holds sizes, names of roles and tools, and dollars; never text of the
// conversation.

import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, constants, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createTransformContext } from "../../hook/hook.js";
import { pageWith } from "../../inspector/page.js";
import { onFile } from "../terminal.mjs";
import { billOf } from "./play.mjs";
import { cacheOptionsOf } from "./prices.mjs";

/** Content security policy of the page as a file: it runs its own script and uses its own styles. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
/** The first characters of a page, in lower case. */
const DOCTYPE = "<!doctype html";
/** The policy that edits nothing. */
const NONE = "no compression";
/** Names a hook whose options are none of `SETTINGS`. */
const OWN = "these options";
/** Options of the hook by the name of their policy. */
export const SETTINGS = {
  everyCall: { schedule: "everyCall" },
  "sticky, faithful": { economy: "faithful" },
  "sticky, balanced": {},
  "sticky, thrifty": { economy: "thrifty" },
};

/** Makes our hook with these options a policy, `(messages) => Promise<messages>`. It gets the prices that its bill uses. */
export const hookPolicy =
  (options) =>
  ({ contextWindow, prices }) =>
    createTransformContext({ contextWindow, cache: cacheOptionsOf(prices), ...options });

/** Names of the policies that a report compares. */
export const POLICIES = [NONE, ...Object.keys(SETTINGS)];

/** The name of the policy with these options of the hook. */
export function policyName({ contextWindow, cache, schedule, economy = "balanced", ...others }) {
  const name = schedule === "everyCall" ? schedule : `sticky, ${economy}`;
  return name in SETTINGS && Object.keys(others).length === 0 ? name : OWN;
}

/**
 * The data of the page: the record of a run, and the bills of other settings. `name` names the policy of the run.
 */
export async function reportData(session, { none, ours, record }, { title, name, ...setting }) {
  const { contextWindow, prices, cache, oddCalls } = setting;
  const policies = [];
  const known = { [NONE]: none, [name]: ours };
  for (const policy of new Set([...POLICIES, name])) {
    const bill = known[policy] ?? (await billOf(session, hookPolicy(SETTINGS[policy])(setting), setting));
    policies.push({ name: policy, ...bill });
  }
  const { format, all, unplayed } = session;
  const told = { title, format, length: all.length, unplayed, contextWindow, prices, cache, ours: name };
  return { ...told, oddCalls: oddCalls.length, policies, ...record };
}

/** The finished page. */
export const reportHtml = (data) =>
  pageWith(data).replace("<title>", `<meta http-equiv="Content-Security-Policy" content="${POLICY}">\n$&`);

/** Refuses a place that no report can be written to, before the work for it. */
export const checkPlace = (path) => onFile("write", path, checkFile(path));

/** Rejects for anything but a new file, an empty one or an HTML page in a folder that can be written. */
async function checkFile(path) {
  if (path === "") throw { code: "ENOENT" };
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw { code: "EISDIR" };
  await access(dirname(path), constants.W_OK);
  if (found === undefined) return;
  const start = found.isFile() && (await createReadStream(path, { end: DOCTYPE.length - 1 }).toArray());
  if (!["", DOCTYPE].includes(String(start).toLowerCase()))
    throw { message: "that file is no HTML page; name another one" };
}

/** Writes a report and puts it in the place of an earlier one, which a failure leaves as it was. */
export const writeReport = (path, text) => onFile("write", path, replaceFile(path, text));

/** Keeps the link at `path` and the mode of its file. Nobody can guess the name of the new file and lay a link there. */
async function replaceFile(path, text) {
  const file = await realpath(path).catch(() => path);
  const { mode } = await stat(file).catch(() => ({}));
  const beside = join(dirname(file), `.${randomUUID()}.tmp`);
  const written = writeFile(beside, text, { flag: "wx", mode }).then(() => rename(beside, file));
  await written.finally(() => rm(beside, { force: true }));
}
