// Puts the figures of the tarballs into docs/electron.md: `npm run release:figures [ARTIFACTS]` packs what was built here
// (or lies in ARTIFACTS) and writes the table between the two marks. What was not built here has no size.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { budgetOf, inspect } from "./inspect.mjs";
import { pack } from "./pack.mjs";
import { GLIBC_FLOOR, platforms, ROOT } from "./platforms.mjs";

const PAGE = join(ROOT, "docs/electron.md");
const MARKS = /(<!-- figures -->\n).*?(<!-- \/figures -->)/s;

/** Megabytes to a tenth; kilobytes to ten, so that a line of documentation does not change them. */
const size = (bytes) =>
  bytes < 1e6 ? `${Math.round(bytes / 1e4) * 10} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/** The demands of a platform's file on the system. */
function asks({ os: [os], libc }) {
  if (os === "linux") return String(libc) === "musl" ? "musl" : `glibc ${GLIBC_FLOOR.join(".")}`;
  return os === "darwin" ? "macOS 11" : "Windows 10";
}

/** Lines of the table, from what `inspect` found. */
export function figures(tarballs) {
  const sizes = new Map(tarballs.map(({ manifest, bytes }) => [manifest.name, bytes]));
  const row = (name, needs, manifest) => {
    const bytes = sizes.get(name);
    return `| \`${name}\` | ${needs} | ${bytes === undefined ? "not built here" : size(bytes)} | ${size(budgetOf(manifest))} |`;
  };
  return [
    "| package | asks for | tarball | at most |",
    "|---|---|---|---|",
    row("pi-strata", "Node 20", { name: "pi-strata" }),
    ...platforms().map(({ name, manifest }) => row(name, asks(manifest), manifest)),
  ];
}

/** The page with this table in it. */
export function withTable(page, lines) {
  return page.replace(MARKS, (_, start, end) => `${start}${lines.join("\n")}\n${end}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const folder = mkdtempSync(join(tmpdir(), "pi-strata-figures-"));
  try {
    pack(folder, process.argv[2]);
    const lines = figures(inspect(folder, { isPartial: true }).tarballs);
    writeFileSync(PAGE, withTable(readFileSync(PAGE, "utf8"), lines));
    console.log(lines.join("\n"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
