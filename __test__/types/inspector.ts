// The inspector's types: its hook fits wherever the package's own does.

import type { MessageLike, TransformContext } from "../../index";
import { createInspector, type Inspector } from "../../lib/inspector/index";

const inspector: Inspector = createInspector({ title: "t", prices: { input: 5 } });
const hook: TransformContext = inspector.createTransformContext({ schedule: "sticky" });
const sent: Promise<MessageLike[]> = hook([{ role: "user" }]);
const address: Promise<string> = inspector.open({ port: 0 });
inspector.answered({ type: "message_end" });
void [sent, address, inspector.close()];

// @ts-expect-error an option that is none
createInspector({ host: "0.0.0.0" });
