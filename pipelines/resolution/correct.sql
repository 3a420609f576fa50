-- What corrections change of the tables `entities`, `relations` and `mentions` (see correct.py).
CREATE TEMP TABLE told (id VARCHAR, name VARCHAR, type VARCHAR);
CREATE TEMP TABLE forbidden (id VARCHAR);
CREATE TEMP TABLE changed (id VARCHAR, now VARCHAR);  -- relations that are `remade`, or gone

CREATE TEMP VIEW corrected_relations AS
    FROM (FROM relations WHERE id NOT IN (SELECT id FROM changed) UNION ALL FROM remade)
    WHERE source_id NOT IN (FROM forbidden) AND target_id NOT IN (FROM forbidden);
CREATE TEMP VIEW degrees AS
    SELECT id, count(*) AS degree
    FROM (SELECT source_id AS id, target_id FROM corrected_relations
        UNION SELECT target_id, source_id FROM corrected_relations)
    GROUP BY id;
CREATE TEMP VIEW corrected_entities AS
    SELECT entities.* REPLACE (coalesce(told.name, entities.name) AS name, coalesce(told.type, entities.type) AS type,
        CASE WHEN told.type IS NULL THEN types ELSE [told.type] END AS types, coalesce(degrees.degree, 0) AS degree)
    FROM entities LEFT JOIN told USING (id) LEFT JOIN degrees USING (id)
    WHERE id NOT IN (FROM forbidden);
CREATE TEMP VIEW corrected_mentions AS
    FROM (
        SELECT mentions.* REPLACE (coalesce(now, relation_id) AS relation_id)
        FROM mentions LEFT JOIN changed ON changed.id = relation_id)
    WHERE (entity_id IS NULL OR entity_id NOT IN (FROM forbidden))
        AND (relation_id IS NULL OR relation_id IN (SELECT id FROM corrected_relations));

-- A sentence in several chunks counts as in the chunk that tells most of it.
CREATE TEMP VIEW weights AS
    SELECT id, sum(told)::DOUBLE AS weight
    FROM (
        SELECT id, max(told) AS told
        FROM (
            SELECT coalesce(now, relation_id) AS id, CASE WHEN start IS NULL THEN chunk_id ELSE document_id END AS place,
                start, "end", chunk_id, count(DISTINCT description) AS told
            FROM mentions JOIN changed ON changed.id = relation_id JOIN documents USING (chunk_id)
            GROUP BY ALL)
        GROUP BY id, place, start, "end")
    GROUP BY id;
