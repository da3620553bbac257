// Compiles the hook, the guard, the recall tool and sessions against pi's types of many versions: `npm run test:types:pi
// [-- VERSION…]`, by default the newest patch of every minor version from 0.73 on. Fetches each version's types alone,
// so those are checked too that cannot be installed because a package they depend on was never published.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FIRST = [0, 73];
const NAMES = ["pi-agent-core", "pi-ai"];

const SOURCE = (scope) => `
import type { Agent, AgentMessage, AgentOptions, AgentTool } from "${scope}/pi-agent-core";
import { createRecallTool, createTransformContext, transformContext } from "pi-strata";
import { createContextGuard } from "pi-strata/guard";
import { ContextManager } from "pi-strata/sessions";
type Hook = NonNullable<AgentOptions["transformContext"]>;
export const hooks: Hook[] = [transformContext, createTransformContext(), createContextGuard({ contextWindow: 9000 })];
export const tool: AgentTool = createRecallTool(() => []);
export const attach = (agent: Agent) => new ContextManager().attach(agent, "s");
export async function keepsTheMessageType(own: AgentMessage[]): Promise<AgentMessage[]> {
  return transformContext(own);
}
// @ts-expect-error: were pi's types not really there, this would be any
export const unknown: AgentMessage = { role: "nonsense" };
// @ts-expect-error
export const noHook: Hook = 7;
// @ts-expect-error
export const noTool: AgentTool = 7;
`;

const npm = (args, cwd = ROOT) =>
  execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
const versionsOf = (scope) => JSON.parse(npm(["view", `${scope}/pi-agent-core`, "versions", "--json"]));
const scopeOf = (version) =>
  /^0\.(\d|[1-6]\d|7[0-3])\./.test(version) ? "@mariozechner" : "@earendil-works";

/** The newest patch of each minor version. */
function newestOfEach(versions) {
  const newest = new Map();
  for (const version of versions) {
    const [major, minor] = version.split(".").map(Number);
    if (major > FIRST[0] || minor >= FIRST[1]) newest.set(`${major}.${minor}`, version);
  }
  return [...newest.values()];
}

function check(version, folder) {
  const scope = scopeOf(version);
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, scope), { recursive: true });
  for (const name of NAMES) {
    npm(["pack", "--silent", `${scope}/${name}@${version}`], folder);
    const tarball = readdirSync(folder).find((file) => file.includes(`${name}-${version}`));
    mkdirSync(join(modules, scope, name));
    execFileSync("tar", [
      "-xzf",
      join(folder, tarball),
      "-C",
      join(modules, scope, name),
      "--strip-components=1",
    ]);
  }
  symlinkSync(ROOT, join(modules, "pi-strata"), "junction");
  symlinkSync(join(ROOT, "node_modules/@types"), join(modules, "@types"), "junction");
  writeFileSync(join(folder, "check.ts"), SOURCE(scope));
  const options = ["--strict", "--noEmit", "--skipLibCheck", "--module", "NodeNext", "--target", "ES2022"];
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(ROOT, "node_modules/typescript/bin/tsc"), ...options, "check.ts"],
    { cwd: folder, encoding: "utf8" },
  );
  return status === 0 ? undefined : stdout;
}

const versions =
  process.argv.length > 2
    ? process.argv.slice(2)
    : ["@mariozechner", "@earendil-works"].flatMap((scope) => newestOfEach(versionsOf(scope)));
for (const version of versions) {
  const folder = mkdtempSync(join(tmpdir(), "pi-strata-types-"));
  try {
    const problem = check(version, folder);
    console.log(
      `${version.padEnd(8)} ${problem === undefined ? "compiles" : `does not compile\n${problem}`}`,
    );
    if (problem !== undefined) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
