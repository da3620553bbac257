// A server in front of another that breaks connections at the worst moment: while a transaction is being committed.
import { connect, createServer } from "node:net";

/**
 * `mode`: "pass" lets all through; "afterCommit" hands on the COMMIT and breaks the connection before the answer;
 * "beforeCommit" breaks it instead of handing the COMMIT on. Each breaks one connection, then passes again.
 */
export async function breakingProxy(port) {
  const proxy = { mode: "pass", broken: 0, port: 0 };
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    let isBreaking = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    client.on("data", (data) => {
      const isCommit = data.includes("COMMIT\0");
      if (proxy.mode === "pass" || !isCommit) return upstream.write(data);
      const { mode } = proxy;
      proxy.mode = "pass";
      proxy.broken += 1;
      if (mode === "beforeCommit") return end();
      isBreaking = true;
      upstream.write(data);
    });
    upstream.on("data", (data) => (isBreaking ? end() : client.write(data)));
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.port = server.address().port;
  proxy.close = () => server.close();
  return proxy;
}
