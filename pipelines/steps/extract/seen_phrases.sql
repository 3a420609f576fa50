-- Phrases of passages, with the keys of their texts: those with one key at one place of a document count once.
CREATE TEMP VIEW placed AS
    SELECT nth, key, text, kind, language, document, passages.begins + phrases.begins AS begins
    FROM phrases JOIN key_of_texts USING (text) JOIN passages USING (passage);
CREATE TEMP TABLE said AS
    SELECT nth, key, text, kind, language FROM placed
    WHERE nth IN (SELECT min(nth) FROM placed GROUP BY key, document, begins);

-- The most frequent form, language and type of each key; ties in alphabetical order.
CREATE TEMP VIEW surfaces AS
    SELECT key, arg_min(text, {'less': -times, 'word': word}) AS surface
    FROM (SELECT key, text, count(*) AS times FROM said GROUP BY ALL) JOIN words ON number = text
    GROUP BY key;
CREATE TEMP VIEW languages AS
    SELECT key, arg_min(language, {'less': -times, 'language': language}) AS language
    FROM (SELECT key, language, count(*) AS times FROM said GROUP BY ALL)
    GROUP BY key;
CREATE TEMP VIEW kinds AS  -- that of a name, unless it is a concept more often
    SELECT key, sum(times)::BIGINT AS said, coalesce(sum(times) FILTER (word <> 'CONCEPT'), 0) AS named,
        min({'less': -times, 'kind': word}) FILTER (word <> 'CONCEPT') AS best
    FROM (SELECT key, kind, count(*) AS times FROM said GROUP BY ALL) JOIN words ON number = kind
    GROUP BY key;
CREATE TEMP VIEW known AS
    SELECT said, surface, language, CASE WHEN named * 2 < said THEN 'CONCEPT' ELSE best.kind END AS kind,
        (CASE WHEN named * 2 < said THEN said - named ELSE -best.less END)::BIGINT AS agreeing
    FROM kinds JOIN surfaces USING (key) JOIN languages USING (key)
    ORDER BY key;
