// A progress line on standard error, if that is a terminal. It is shown only while nothing else is printed, and erased before.

/** `total` steps of `what`, nothing if there are none; `advance` counts one, `stop` erases the line. */
export function progressLine(what, total) {
  const { stderr } = process;
  if (!stderr.isTTY || total === 0) return { advance() {}, stop() {} };
  let done = 0;
  const show = () => stderr.write(`\r\u001b[K${what} ${done}/${total}`);
  show();
  return {
    advance() {
      done += 1;
      show();
    },
    stop: () => stderr.write("\r\u001b[K"),
  };
}
