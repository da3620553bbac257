// The first call of a hook over a list nobody has seen, in a process of its own: prints its milliseconds. The addon is
// loaded before, by a call over one message. Arguments: the shape of the list and how many messages.

import { performance } from "node:perf_hooks";
import { createTransformContext } from "../../index.js";
import { SHAPES } from "./lists.mjs";

const [shape, size] = process.argv.slice(2);
const [make, options] = SHAPES[shape];
const messages = make(Number(size));
await createTransformContext(options)(messages.slice(0, 1));
const start = performance.now();
await createTransformContext(options)(messages);
console.log(performance.now() - start);
