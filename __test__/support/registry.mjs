// A registry for one install: serves a folder of tarballs under their own names, with every platform package known by
// its manifest, and sends npm to the machine's usual registry for all else.

import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { inspect } from "../../release/inspect.mjs";
import { platforms } from "../../release/platforms.mjs";

const OWN = /^\/(pi-strata[\w-]*)$/;

/** `{ npm(args, cwd), stop() }`: npm, told to use this registry and a cache of its own. */
export async function startRegistry(folder) {
  const usual = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" })
    .trim()
    .replace(/\/$/, "");
  const manifests = new Map(platforms().map(({ name, manifest }) => [name, { manifest }]));
  for (const { manifest, path } of inspect(folder, { isPartial: true }).tarballs)
    manifests.set(manifest.name, { manifest, path });
  const server = createServer((request, response) => {
    const [, name] = OWN.exec(request.url) ?? [];
    if (manifests.has(name)) return respond(response, JSON.stringify(packument(manifests.get(name), url)));
    const tarball = readdirSync(folder).find((file) => request.url === `/${file}`);
    if (tarball !== undefined) return respond(response, readFileSync(join(folder, tarball)));
    response.writeHead(302, { location: usual + request.url }).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    npm: (args, cwd) => promisify(execFile)("npm", [...args, "--registry", url], { cwd }),
    stop: () => server.close(),
  };
}

function respond(response, body) {
  response.writeHead(200, { "content-type": "application/json" }).end(body);
}

function packument({ manifest, path }, url) {
  const bytes = path === undefined ? undefined : readFileSync(path);
  const dist = {
    tarball: `${url}/${manifest.name}-${manifest.version}.tgz`,
    ...(bytes && { integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}` }),
  };
  return {
    name: manifest.name,
    "dist-tags": { latest: manifest.version },
    versions: { [manifest.version]: { ...manifest, dist } },
  };
}
