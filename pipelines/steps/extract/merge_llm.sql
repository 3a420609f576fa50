-- What a model stated, beside the tables of merge.sql.
CREATE TEMP TABLE instances (chunk VARCHAR, document VARCHAR, source VARCHAR, target VARCHAR, predicate VARCHAR,
    description VARCHAR, strength DOUBLE, begins BIGINT, ends BIGINT, sentence VARCHAR);
CREATE TEMP TABLE descriptions (chunk VARCHAR, key VARCHAR, description VARCHAR);

-- Relations: pairs in either direction. The most frequent one is that of the relation.
CREATE TEMP VIEW paired AS
    SELECT relation_id(least(source, target), '', greatest(source, target)) AS id, * FROM instances;
CREATE TEMP VIEW directions AS
    SELECT id, min({'less': -times, 'source': source, 'target': target}) AS way
    FROM (SELECT id, source, target, count(*) AS times FROM paired GROUP BY ALL)
    GROUP BY id;
CREATE TEMP VIEW weights_of_pairs AS  -- a sentence in several chunks counts as in the chunk that tells most of it
    SELECT id, sum(told)::DOUBLE AS weight
    FROM (
        SELECT id, max(told) AS told
        FROM (
            SELECT id, CASE WHEN begins IS NULL THEN chunk ELSE document END AS place, begins, ends, chunk,
                count(DISTINCT description) AS told
            FROM paired GROUP BY ALL)
        GROUP BY id, place, begins, ends)
    GROUP BY id;
CREATE TEMP VIEW relation_descriptions AS
    SELECT id, coalesce(list(DISTINCT description ORDER BY description) FILTER (description <> ''), []) AS told
    FROM paired GROUP BY id;
CREATE TEMP VIEW merged_pairs AS
    SELECT id, entity_id(way.source), entity_id(way.target), '', array_to_string(told, ' '), weight, chunks, strength,
        []::STRUCT(statement BIGINT, predicate VARCHAR, value VARCHAR)[]
    FROM (
        SELECT id, list(DISTINCT chunk ORDER BY chunk) AS chunks,
            sum(strength ORDER BY strength) / count(strength) AS strength
        FROM paired GROUP BY id)
    JOIN directions USING (id) JOIN weights_of_pairs USING (id) JOIN relation_descriptions USING (id);
CREATE TEMP VIEW predicates AS
    SELECT id, list([entity_id(source), predicate] ORDER BY entity_id(source), predicate) AS stated
    FROM paired WHERE predicate <> '' GROUP BY id;

CREATE TEMP VIEW entity_descriptions AS
    SELECT entity_id(key) AS id,
        coalesce(list(DISTINCT description ORDER BY description) FILTER (description <> ''), []) AS told
    FROM descriptions GROUP BY key;
CREATE TEMP VIEW described_mentions AS  -- the first mention of an entity in a chunk has what the chunk tells of it
    SELECT id, chunk, entity, relation, begins, ends, match, surface, CASE WHEN nth = 1 THEN coalesce(told, '') ELSE '' END
    FROM (
        SELECT *, row_number() OVER (
            PARTITION BY chunk, entity ORDER BY begins IS NULL, begins, match <> 'exact', id) AS nth
        FROM mentions)
    LEFT JOIN (
        SELECT chunk, entity_id(key) AS entity, string_agg(description, chr(10) ORDER BY description) AS told
        FROM (SELECT DISTINCT * FROM descriptions WHERE description <> '') GROUP BY ALL)
    USING (chunk, entity);
CREATE TEMP VIEW all_mentions AS
    FROM described_mentions
    UNION ALL
    SELECT DISTINCT id_of(sized('mention') || sized(chunk) || sized(id) || sized(coalesce(begins::VARCHAR, 'None'))
            || sized(coalesce(ends::VARCHAR, 'None')) || sized(description)) AS id,
        chunk, NULL, id, begins, ends, CASE WHEN begins IS NULL THEN 'chunk' ELSE 'exact' END, sentence, description
    FROM paired;
