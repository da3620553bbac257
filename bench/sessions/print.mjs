// Prints the figures of the session benches.

export const print = (name, value) => console.log(`${name.padEnd(62)} ${value}`);
export const rate = (count, ms) => Math.round(count / (ms / 1000)).toLocaleString("en");
export const megabytes = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MB`;
