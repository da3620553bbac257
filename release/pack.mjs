// Packs what would be published, and publishes nothing: `node release/pack.mjs OUT [ARTIFACTS]`. OUT gets the tarball
// of the root package, its optional dependencies filled in, and one of each platform package whose native file lies in
// ARTIFACTS (default: the repository). The working tree stays as it is: everything is put together in a folder of its own.

import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { platforms, ROOT, readJson } from "./platforms.mjs";

/** Fields of package.json that only the repository needs. */
const OWN_FIELDS = ["devDependencies", "scripts", "napi"];

/** Under which terms it all is, in every package. */
export const TERMS = ["LICENSE", "THIRD-PARTY-NOTICES.md"];

/** Entries of `files` for installs from git; in a registry it is in the platform packages. */
const isNativeFile = (name) => name.endsWith(".node");

/** Packs into `out`; the names of the platform packages that were packed. */
export function pack(out, artifacts = ROOT) {
  const work = mkdtempSync(join(tmpdir(), "pi-strata-pack-"));
  try {
    mkdirSync(out, { recursive: true });
    packRoot(work, out, artifacts);
    return packPlatforms(work, out, artifacts);
  } finally {
    rmSync(work, { recursive: true });
  }
}

function packRoot(work, out, artifacts) {
  const raw = join(work, "raw");
  mkdirSync(raw);
  npmPack(ROOT, raw);
  execFileSync("tar", ["-xzf", join(raw, onlyFile(raw)), "-C", work]);
  const manifest = readJson(join(work, "package/package.json"));
  for (const field of OWN_FIELDS) delete manifest[field];
  manifest.files = manifest.files.filter((name) => !isNativeFile(name));
  manifest.optionalDependencies = Object.fromEntries(
    platforms()
      .filter(({ isOptional }) => isOptional)
      .map(({ name }) => [name, manifest.version]),
  );
  // By these the loader tells a file that was cut short (lib/native/addon.js).
  const present = platforms().filter(({ file }) => existsSync(join(artifacts, file)));
  const sizes = present.map(({ key, file }) => [key, statSync(join(artifacts, file)).size]);
  manifest.nativeBytes = Object.fromEntries(sizes);
  const folder = join(work, "package");
  for (const name of readdirSync(folder).filter(isNativeFile)) rmSync(join(folder, name));
  writeManifest(folder, manifest);
  npmPack(folder, out);
}

function packPlatforms(work, out, artifacts) {
  const { repository, homepage, bugs } = readJson(join(ROOT, "package.json"));
  const whereabouts = { repository, homepage, bugs };
  const present = platforms().filter(({ file }) => existsSync(join(artifacts, file)));
  for (const { key, dir, file, manifest } of present) {
    const folder = join(work, key);
    cpSync(dir, folder, { recursive: true, filter: (path) => !isNativeFile(path) });
    cpSync(join(artifacts, file), join(folder, file));
    for (const terms of TERMS) cpSync(join(ROOT, terms), join(folder, terms));
    writeManifest(folder, { ...manifest, ...whereabouts });
    npmPack(folder, out);
  }
  return present.map(({ name }) => name);
}

function npmPack(folder, out) {
  const options = { cwd: folder, stdio: ["ignore", "ignore", "inherit"] };
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", resolve(out)], options);
}

function onlyFile(folder) {
  const [file, ...others] = readdirSync(folder);
  if (file === undefined || others.length > 0) throw new Error(`one tarball was expected in ${folder}`);
  return file;
}

function writeManifest(folder, manifest) {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [out, artifacts] = process.argv.slice(2);
  if (out === undefined) throw new Error("usage: node release/pack.mjs OUT [ARTIFACTS]");
  for (const name of pack(out, artifacts)) console.log(`packed ${name}`);
}
