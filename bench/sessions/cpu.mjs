// CPU time of a server with all its processes, from Linux' /proc: on a busy machine it means more than the clock.
import { readdirSync, readFileSync } from "node:fs";

/** ms of one tick of /proc (sysconf CLK_TCK, 100 a second on every Linux). */
const TICK_MS = 10;

/** Times of a process and of those of its children that have ended, in ms. */
function statOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [, parent, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    parent: Number(parent),
    ms: fields.slice(9, 13).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS,
  };
}

/** CPU time that `pid` and its children have taken, in ms; undefined where there is no /proc. */
export function cpuMsOf(pid) {
  if (process.platform !== "linux") return undefined;
  let sum = statOf(pid).ms;
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const { parent, ms } = statOf(name);
      if (parent === pid) sum += ms;
    } catch {
      // It ended meanwhile.
    }
  }
  return sum;
}
