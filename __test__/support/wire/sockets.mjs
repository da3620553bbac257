// Counts the sockets this process opens, so that a test can say it opened none.

import { subscribe } from "node:diagnostics_channel";

export function countSockets() {
  const counter = { opened: 0 };
  const count = () => {
    counter.opened += 1;
  };
  subscribe("net.client.socket", count);
  return counter;
}
