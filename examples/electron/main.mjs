// The Electron main process: one window, and the conversation behind it. All counting and editing happens here, off the
// main thread; the page only shows. The model is made up, so it runs without a key: put your own
// into `initialState` and leave `streamFn` out.
import { fileURLToPath } from "node:url";
import { app, BrowserWindow, ipcMain, Menu, shell } from "electron";
import { createInspector } from "pi-strata/inspector";
import { createChat } from "./chat.mjs";
import { answers, model } from "./model.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

function openWindow() {
  const window = new BrowserWindow({
    width: 900,
    height: 760,
    webPreferences: { preload: here("preload.cjs"), contextIsolation: true, sandbox: true },
  });
  const inspector = createInspector({ title: "Talkative" });
  Menu.setApplicationMenu(menuWith(inspector));
  const chat = createChat({
    inspector,
    initialState: { systemPrompt: "You are a helpful assistant.", model, tools: [] },
    streamFn: answers(),
    emit: (event) => window.isDestroyed() || window.webContents.send("chat", event),
  });
  ipcMain.handle("ask", (_event, question) => chat.ask(String(question)));
  ipcMain.handle("stop", () => chat.stop());
  window.loadFile(here("page/index.html"));
}

/** The usual menus, and a look at what the model sees, in the user's browser. Nothing listens until it is chosen. */
function menuWith(inspector) {
  const look = {
    label: "What the model sees",
    accelerator: "CmdOrCtrl+Shift+M",
    click: async () => shell.openExternal(await inspector.open()),
  };
  const usual = ["fileMenu", "editMenu", "viewMenu", "windowMenu"].map((role) => ({ role }));
  return Menu.buildFromTemplate([...usual, { label: "Context", submenu: [look] }]);
}

app.whenReady().then(openWindow);
app.on("window-all-closed", () => app.quit());
