-- The tables of a pipeline in SQLite, under names a host may choose. Each line `-- @name` begins a part. Tables that a host
-- made stay as they are.

-- @history
CREATE TABLE IF NOT EXISTS "history" (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Without a type, so that a number and a text are two chats.
  chat_id NOT NULL,
  role TEXT NOT NULL,
  text TEXT NOT NULL,
  -- Tool calls, results and images as JSON; NULL where a message is text alone.
  extra TEXT,
  created_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS "history_by_chat" ON "history" (chat_id, id);

-- @events
CREATE TABLE IF NOT EXISTS "events" (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  chat_id,
  event_type TEXT NOT NULL,
  payload TEXT NOT NULL,
  created_at TEXT NOT NULL
);
