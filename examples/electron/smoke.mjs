// Started by Electron (`npm run smoke`), without a window: the addon loads in the main process, counts, and edits a
// conversation. Ends with exit code 1 if not.
import { app } from "electron";
import { countTokens, createTransformContext, status } from "pi-strata";

const long = Array.from({ length: 99 }, (_, i) => `line ${i} of a result`).join("\n");
const messages = [{ role: "user", content: "go", timestamp: 1 }];
for (let i = 0; i < 8; i += 1) {
  messages.push({
    role: "assistant",
    content: [{ type: "toolCall", id: `c${i}`, name: "read", arguments: {} }],
  });
  const content = [{ type: "text", text: long }];
  messages.push({ role: "toolResult", toolCallId: `c${i}`, toolName: "read", content });
}

app.whenReady().then(async () => {
  const sent = await createTransformContext({ schedule: "everyCall" })(messages);
  const edited = sent.filter((message, i) => message !== messages[i]).length;
  const works = status().native && countTokens("hello world") === 2 && edited === 2;
  console.log(works ? "works" : "does not work", process.versions.electron, status());
  app.exit(works ? 0 : 1);
});
