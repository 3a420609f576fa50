-- What corrections change of the tables `entities`, `relations` and `mentions` (see correct.py).
CREATE TEMP TABLE told (id VARCHAR, name VARCHAR, type VARCHAR);
CREATE TEMP TABLE forbidden (id VARCHAR);
CREATE TEMP TABLE said (id VARCHAR, predicate VARCHAR);  -- of a model's relations
CREATE TEMP TABLE rules (nth BIGINT, source VARCHAR, predicate VARCHAR, target VARCHAR,
    new_source VARCHAR, new_predicate VARCHAR, new_target VARCHAR);  -- a forbidden relation has nothing new

-- The first rule that means each relation. A model's relations have no direction; one without a predicate is meant by any.
CREATE TEMP TABLE matched (id VARCHAR, nth BIGINT);
CREATE TEMP VIEW matching AS
    SELECT r.id, min(nth) AS nth
    FROM (SELECT relations.*, coalesce(nullif(relations.predicate, ''), said.predicate, '') AS shown
        FROM relations LEFT JOIN said USING (id)) r
    JOIN (SELECT nth, source, predicate, target, false AS is_turned FROM rules
        UNION ALL SELECT nth, target, predicate, source, true FROM rules) w ON source = source_id AND target = target_id
    WHERE (NOT is_turned OR r.predicate = '' OR w.predicate IS NULL)
        AND (shown = '' OR w.predicate IS NULL OR entity_key(shown) = w.predicate)
    GROUP BY r.id;
CREATE TEMP VIEW places AS
    SELECT nth, sum(greatest(1, places)) AS places
    FROM matched LEFT JOIN (SELECT relation_id, count(*) AS places FROM mentions GROUP BY relation_id) ON relation_id = id
    GROUP BY nth;

-- Relations that a rule or a new name of an end moves, and those that they join. Each gets the id that it would have if
-- the texts used the names of its ends.
CREATE TEMP VIEW renamed AS SELECT id FROM told WHERE name IS NOT NULL;
CREATE TEMP VIEW moving AS
    SELECT relations.* REPLACE (coalesce(new_source, source_id) AS source_id, coalesce(new_target, target_id) AS target_id,
            coalesce(new_predicate, relations.predicate) AS predicate),
        nth IS NOT NULL OR source_id IN (FROM renamed) OR target_id IN (FROM renamed) AS is_moved
    FROM relations LEFT JOIN matched USING (id) LEFT JOIN rules USING (nth)
    WHERE nth IS NULL OR new_source IS NOT NULL;
CREATE TEMP VIEW ends AS
    SELECT id, key, entity_id(key) = id AS is_own
    FROM (SELECT id, entity_key(coalesce(told.name, entities.name)) AS key FROM entities LEFT JOIN told USING (id)
        WHERE id IN (SELECT unnest([source_id, target_id]) FROM moving WHERE is_moved));
CREATE TEMP VIEW identified AS
    SELECT *, CASE WHEN NOT own THEN min(id) OVER (PARTITION BY source_id, target_id, folded)
            WHEN folded = '' THEN relation_id(least(source, target), '', greatest(source, target))
            ELSE relation_id(source, folded, target) END AS now
    FROM (SELECT moving.*, s.key AS source, t.key AS target, entity_key(predicate) AS folded, s.is_own AND t.is_own AS own
        FROM moving JOIN ends s ON s.id = source_id JOIN ends t ON t.id = target_id
        WHERE is_moved OR (source_id, target_id) IN (SELECT (new_source, new_target) FROM rules));
CREATE TEMP VIEW joining AS FROM identified QUALIFY bool_or(is_moved) OVER (PARTITION BY now);
CREATE TEMP TABLE joined AS FROM joining;
CREATE TEMP TABLE changed (id VARCHAR, now VARCHAR);  -- "" if it is gone
CREATE TEMP VIEW changes AS
    SELECT id, CASE WHEN source_id = target_id THEN '' ELSE now END AS now FROM joined
    UNION ALL SELECT id, '' FROM matched JOIN rules USING (nth) WHERE new_source IS NULL;

CREATE TEMP VIEW weights AS  -- a sentence in several chunks counts as in the chunk that tells most of it
    SELECT now, sum(told)::DOUBLE AS counted
    FROM (
        SELECT now, max(told) AS told
        FROM (
            SELECT now, CASE WHEN start IS NULL THEN chunk_id ELSE document_id END AS place, start, "end", chunk_id,
                count(DISTINCT description) AS told
            FROM mentions JOIN changed ON changed.id = relation_id JOIN chunks ON chunks.id = chunk_id
            GROUP BY ALL)
        GROUP BY now, place, start, "end")
    GROUP BY now;
CREATE TEMP VIEW remade AS
    SELECT now, any_value(source_id), any_value(target_id), min(predicate),
        coalesce(arg_min(description, {'size': length(description), 'text': description}) FILTER (description <> ''), ''),
        coalesce(CASE WHEN getvariable('weighed') THEN NULL ELSE any_value(counted) END, sum(weight)),
        list_sort(list_distinct(flatten(list(chunk_ids)))),
        CASE WHEN count(*) = 1 THEN any_value(strength)
            ELSE sum(strength * weight ORDER BY id) / sum(weight) FILTER (strength IS NOT NULL) END,
        flatten(list(list_transform(qualifiers, lambda each: {'statement': each.statement + first,
            'predicate': each.predicate, 'value': each.value}) ORDER BY id))
    FROM (
        SELECT *, coalesce(sum(coalesce(list_max(list_transform(qualifiers, lambda each: each.statement)) + 1, 0)) OVER (
            PARTITION BY now ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::BIGINT AS first
        FROM joined WHERE source_id <> target_id)
    LEFT JOIN weights USING (now)
    GROUP BY now;

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
