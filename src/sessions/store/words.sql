-- The index of words in a file. What is deleted leaves no word behind.

CREATE VIRTUAL TABLE IF NOT EXISTS strata_words USING fts5(
    words, content='', tokenize='unicode61 remove_diacritics 0');
INSERT INTO strata_words(strata_words, rank) VALUES('secure-delete', 1);

CREATE TRIGGER IF NOT EXISTS strata_message_added AFTER INSERT ON strata_message WHEN new.is_summary = 0 BEGIN
    INSERT INTO strata_words(rowid, words) VALUES (new.number, words_of(new.body));
END;
CREATE TRIGGER IF NOT EXISTS strata_message_deleted AFTER DELETE ON strata_message WHEN old.is_summary = 0 BEGIN
    INSERT INTO strata_words(strata_words, rowid, words) VALUES ('delete', old.number, words_of(old.body));
END;
