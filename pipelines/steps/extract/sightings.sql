-- Entities: what is known of each key that is kept. A place of a document counts once, whatever passages overlap there.
CREATE VIEW own AS SELECT rowid AS nth, * FROM sightings WHERE key IN (SELECT key FROM kept);
CREATE VIEW names AS  -- the most frequent form; the short form of a title is none
    SELECT key, arg_min(form, {'less': -places, 'form': form}) AS name
    FROM (
        SELECT key, spaced(surface) AS form, count(*) AS places FROM own
        WHERE nth IN (SELECT min(nth) FROM own WHERE match <> 'alias' GROUP BY key, document, begins, ends)
        GROUP BY ALL)
    GROUP BY key;
CREATE VIEW types AS
    SELECT key, list(type ORDER BY places DESC, type) AS types
    FROM (
        SELECT key, type, count(*) AS places
        FROM (SELECT DISTINCT key, document, begins, ends, type FROM own WHERE type IS NOT NULL)
        GROUP BY ALL)
    GROUP BY key;
CREATE VIEW frequencies AS
    SELECT key, count(*) AS frequency FROM (SELECT DISTINCT key, chunk FROM own) GROUP BY key;
CREATE VIEW degrees AS
    SELECT id, count(*) AS degree
    FROM (SELECT source_id AS id, target_id FROM relations UNION SELECT target_id, source_id FROM relations)
    GROUP BY id;
CREATE VIEW merged_entities AS
    SELECT id, coalesce(name, key), list[1], list, '', frequency, coalesce(degree, 0)
    FROM (
        SELECT key, entity_id(key) AS id, name, frequency, coalesce(types, [untyped(key)]) AS list
        FROM frequencies LEFT JOIN names USING (key) LEFT JOIN types USING (key))
    LEFT JOIN degrees USING (id)
    ORDER BY id;

-- Mentions: the first at each place of a passage.
CREATE VIEW mentions_of_entities AS
    SELECT mention_id(chunk, entity_id(key), begins, ends) AS id, chunk, entity_id(key), NULL, begins, ends,
        match, surface, ''
    FROM own WHERE nth IN (SELECT min(nth) FROM own GROUP BY key, chunk, begins, ends);
