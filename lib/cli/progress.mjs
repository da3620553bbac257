// A progress bar on a terminal; in a pipe only what is printed.

import { Presets, SingleBar } from "cli-progress";

/** `print` writes a line to standard output above the bar, which stands on standard error. */
export function progressBar(total) {
  if (!process.stdout.isTTY || !process.stderr.isTTY) {
    return { print: (line) => console.log(line), advance() {}, stop() {} };
  }
  const bar = new SingleBar({ stream: process.stderr, clearOnComplete: true }, Presets.shades_classic);
  bar.start(total, 0);
  return {
    print(line) {
      process.stderr.write("\r\x1b[K");
      console.log(line);
      bar.render();
    },
    advance: () => bar.increment(),
    stop: () => bar.stop(),
  };
}
