// The Electron main process: one window, and the conversation behind it. All counting and editing happens here, off the
// main thread; the page only shows. The model is made up, so it runs without a key: put your own
// into `initialState` and leave `streamFn` out.
import { fileURLToPath } from "node:url";
import { app, BrowserWindow, ipcMain } from "electron";
import { createChat } from "./chat.mjs";
import { answers, model } from "./model.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

function openWindow() {
  const window = new BrowserWindow({
    width: 900,
    height: 760,
    webPreferences: { preload: here("preload.cjs"), contextIsolation: true, sandbox: true },
  });
  const chat = createChat({
    initialState: { systemPrompt: "You are a helpful assistant.", model, tools: [] },
    streamFn: answers(),
    emit: (event) => window.isDestroyed() || window.webContents.send("chat", event),
  });
  ipcMain.handle("ask", (_event, question) => chat.ask(String(question)));
  ipcMain.handle("stop", () => chat.stop());
  window.loadFile(here("page/index.html"));
}

app.whenReady().then(openWindow);
app.on("window-all-closed", () => app.quit());
