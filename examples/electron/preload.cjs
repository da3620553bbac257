// The bridge between page and main process: three functions, nothing else of Electron or Node.
const { contextBridge, ipcRenderer } = require("electron");

contextBridge.exposeInMainWorld("chat", {
  ask: (question) => ipcRenderer.invoke("ask", question),
  stop: () => ipcRenderer.invoke("stop"),
  onEvent: (listener) => ipcRenderer.on("chat", (_event, event) => listener(event)),
});
