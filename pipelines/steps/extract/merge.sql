-- What chunks mention and state (see merge.py); nulls are unknown offsets and types.
CREATE TEMP TABLE sightings (chunk VARCHAR, document VARCHAR, key VARCHAR, surface VARCHAR, type VARCHAR,
    begins BIGINT, ends BIGINT, match VARCHAR);
CREATE TEMP TABLE statements (chunk VARCHAR, document VARCHAR, source VARCHAR, predicate VARCHAR, folded VARCHAR,
    target VARCHAR, begins BIGINT, ends BIGINT, sentence VARCHAR, told VARCHAR);
CREATE TEMP TABLE titles (key VARCHAR);
CREATE TEMP TABLE written (key VARCHAR, written VARCHAR);  -- the names after a split
CREATE TEMP TABLE ends_of_relations (source_id VARCHAR, target_id VARCHAR);
CREATE TEMP TABLE kept (key VARCHAR);

-- All names, and noun phrases with a relation or a second mention.
CREATE TEMP VIEW names_and_repeated_phrases AS
    SELECT key
    FROM (
        SELECT key, count(*) AS places, bool_or(is_name) AS is_name
        FROM (
            SELECT key, bool_or(type IS DISTINCT FROM 'CONCEPT') AS is_name
            FROM sightings GROUP BY key, document, begins)
        GROUP BY key)
    WHERE is_name OR places > 1 OR key IN (SELECT source FROM statements UNION ALL SELECT target FROM statements);

-- Relations: a source, a folded predicate and a target. What overlapping passages repeat counts once.
CREATE TEMP VIEW stated AS
    SELECT relation_id(source, folded, target) AS id, *
    FROM statements WHERE source IN (FROM kept) AND target IN (FROM kept);
CREATE TEMP VIEW weights AS
    SELECT id, count(*)::DOUBLE AS weight
    FROM (SELECT DISTINCT id, CASE WHEN begins IS NULL THEN chunk ELSE document END, begins, ends FROM stated)
    GROUP BY id;
CREATE TEMP VIEW merged_relations AS
    SELECT id, entity_id(source), entity_id(target), predicate, spaced(told.text), weight, chunks, NULL::DOUBLE,
        []::STRUCT(statement BIGINT, predicate VARCHAR, value VARCHAR)[]
    FROM (
        SELECT id, any_value(source) AS source, any_value(target) AS target, min(predicate) AS predicate,
            list_sort(list(DISTINCT chunk)) AS chunks,
            coalesce(min({'size': length(sentence), 'text': sentence}) FILTER (sentence <> ''),
                min({'size': length(told), 'text': told})) AS told
        FROM stated GROUP BY id)
    JOIN weights USING (id);
CREATE TEMP VIEW relation_mentions AS
    SELECT DISTINCT mention_id(chunk, id, begins, ends) AS id, chunk, NULL::VARCHAR AS entity, id AS relation, begins, ends,
        CASE WHEN begins IS NULL THEN 'chunk' ELSE 'exact' END, sentence, ''
    FROM stated;

-- Entities: a place of a document counts once, whatever passages overlap there.
CREATE TEMP VIEW own AS SELECT rowid AS nth, * FROM sightings WHERE key IN (FROM kept);
CREATE TEMP VIEW names AS  -- the most frequent form; the short form of a title is none
    SELECT key, arg_min(form, {'less': -places, 'form': form}) AS name
    FROM (
        SELECT key, spaced(surface) AS form, count(*) AS places FROM own
        WHERE nth IN (SELECT min(nth) FROM own WHERE match <> 'alias' GROUP BY key, document, begins, ends)
        GROUP BY ALL)
    GROUP BY key;
CREATE TEMP VIEW types AS
    SELECT key, list(type ORDER BY places DESC, type) AS types
    FROM (
        SELECT key, type, count(*) AS places
        FROM (SELECT DISTINCT key, document, begins, ends, type FROM own WHERE type IS NOT NULL)
        GROUP BY ALL)
    GROUP BY key;
CREATE TEMP VIEW frequencies AS
    SELECT key, count(*) AS frequency FROM (SELECT DISTINCT key, chunk FROM own) GROUP BY key;
CREATE TEMP VIEW degrees AS
    SELECT id, count(*) AS degree
    FROM (SELECT source_id AS id, target_id FROM ends_of_relations
        UNION SELECT target_id, source_id FROM ends_of_relations)
    GROUP BY id;
CREATE TEMP VIEW merged_entities AS
    SELECT id, coalesce(written, name, key), kinds[1], kinds, '', frequency, coalesce(degree, 0)
    FROM (
        SELECT key, entity_id(key) AS id, written, name, frequency, coalesce(types, [untyped]) AS kinds
        FROM (SELECT *, CASE WHEN key IN (FROM titles) OR NOT EXISTS (FROM titles) THEN 'TITLE' ELSE '' END AS untyped
            FROM frequencies)
        LEFT JOIN names USING (key) LEFT JOIN types USING (key) LEFT JOIN written USING (key))
    LEFT JOIN degrees USING (id);
CREATE TEMP VIEW mentions AS  -- the first at each place of a passage
    SELECT mention_id(chunk, entity_id(key), begins, ends) AS id, chunk, entity_id(key) AS entity, NULL::VARCHAR AS relation,
        begins, ends, match, surface, ''
    FROM own WHERE nth IN (SELECT min(nth) FROM own GROUP BY key, chunk, begins, ends);
