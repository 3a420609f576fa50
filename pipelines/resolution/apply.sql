-- What merging names changes of the tables `entities`, `relations` and `mentions`, given `kept` (see apply.py).
CREATE TEMP TABLE folded AS SELECT predicate, entity_key(predicate) AS folded FROM (SELECT DISTINCT predicate FROM relations);

-- Relations that share their ends and predicate with one of an alias. A model's have no direction: see merge_llm.py.
CREATE TEMP VIEW placed AS
    SELECT *, CASE WHEN predicate = '' THEN least(source, target) ELSE source END AS one,
        CASE WHEN predicate = '' THEN greatest(source, target) ELSE target END AS other
    FROM (
        SELECT relations.*, folded, coalesce(s.now, source_id) AS source, coalesce(t.now, target_id) AS target,
            s.now IS NOT NULL OR t.now IS NOT NULL AS is_moved
        FROM relations JOIN folded USING (predicate) LEFT JOIN kept s ON s.id = source_id LEFT JOIN kept t ON t.id = target_id);
CREATE TEMP TABLE joined AS
    FROM placed WHERE (one, other, folded) IN (SELECT (one, other, folded) FROM placed WHERE is_moved);

-- Each becomes one in the most frequent direction, with the id that it gets if only canonical names are used.
CREATE TEMP TABLE directed AS
    SELECT one, other, folded, source, target
    FROM (SELECT one, other, folded, source, target, sum(greatest(1, round_even(weight, 0))) AS n
        FROM joined WHERE one <> other GROUP BY ALL)
    QUALIFY row_number() OVER (PARTITION BY one, other, folded ORDER BY n DESC, source, target) = 1;
CREATE TEMP TABLE identified AS
    SELECT joined.* EXCLUDE (source, target), directed.source, directed.target,
        coalesce(min(id) FILTER (NOT is_moved) OVER (PARTITION BY one, other, folded), id_of(sized('relation')
            || sized('merged') || sized(directed.source) || sized(folded || chr(10) || directed.target))) AS now
    FROM joined JOIN directed USING (one, other, folded);
CREATE TEMP TABLE changed AS
    SELECT joined.id, coalesce(now, '') AS now FROM joined LEFT JOIN identified USING (id);  -- "" if it is gone
CREATE TEMP TABLE remade AS
    SELECT now AS id, any_value(source), any_value(target), min(predicate),
        coalesce(CASE WHEN any_value(folded) = ''
            THEN array_to_string(list_sort(list_distinct(list(description) FILTER (description <> ''))), ' ')
            ELSE arg_min(description, {'size': length(description), 'text': description}) FILTER (description <> '') END, ''),
        sum(weight), list_sort(list_distinct(flatten(list(chunk_ids)))),
        sum(strength * weight ORDER BY id) / nullif(sum(weight) FILTER (strength IS NOT NULL), 0),
        flatten(list(list_transform(qualifiers, lambda each: {'statement': each.statement + earlier,
            'predicate': each.predicate, 'value': each.value}) ORDER BY id))
    FROM (
        SELECT *, coalesce(sum(coalesce(list_max(list_transform(qualifiers, lambda each: each.statement)) + 1, 0)) OVER (
            PARTITION BY now ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::BIGINT AS earlier
        FROM identified)
    GROUP BY now;
CREATE TEMP VIEW applied_relations AS FROM relations WHERE id NOT IN (SELECT id FROM changed) UNION ALL FROM remade;

-- Mentions under their new owners; of those of one entity at one place that of the canonical name stays.
CREATE TEMP TABLE merging AS SELECT id FROM kept UNION SELECT now FROM kept;
CREATE TEMP VIEW moved AS
    SELECT mentions.* REPLACE (coalesce(k.now, entity_id) AS entity_id, coalesce(c.now, relation_id) AS relation_id,
        CASE WHEN k.now IS NULL THEN match ELSE 'alias' END AS match)
    FROM mentions LEFT JOIN kept k ON k.id = entity_id LEFT JOIN changed c ON c.id = relation_id
    WHERE entity_id IN (FROM merging) OR relation_id IN (SELECT unnest([id, now]) FROM changed);
CREATE TEMP TABLE merged AS
    SELECT * EXCLUDE (told) REPLACE (CASE WHEN relation_id IS NOT NULL OR len(told) = 1 THEN description ELSE array_to_string(
        list_sort(list_filter(list_distinct(string_split(array_to_string(told, chr(10)), chr(10))), lambda line: line <> '')),
        chr(10)) END AS description)
    FROM (
        SELECT *, list(description) OVER (PARTITION BY entity_id, relation_id, chunk_id, start, "end",
            CASE WHEN relation_id IS NULL THEN '' ELSE description END) AS told
        FROM moved WHERE relation_id IS NULL OR relation_id <> ''
        QUALIFY row_number() OVER (PARTITION BY entity_id, relation_id, chunk_id, start, "end",
            CASE WHEN relation_id IS NULL THEN '' ELSE description END ORDER BY match = 'alias', id) = 1);
CREATE TEMP VIEW applied_mentions AS
    FROM mentions WHERE (entity_id IS NULL OR entity_id NOT IN (FROM merging))
        AND (relation_id IS NULL OR relation_id NOT IN (SELECT unnest([id, now]) FROM changed))
    UNION ALL FROM merged;

-- Entities with the types of all their names, the least specific last. A short form is easily mistyped ("Haddon" as a
-- firm): if the canonical name has a specific type, the types of other names count only if these are more frequent.
CREATE TEMP VIEW members AS
    SELECT coalesce(now, entities.id) AS now, entities.* FROM entities LEFT JOIN kept USING (id) WHERE id IN (FROM merging);
CREATE TEMP VIEW typed AS
    SELECT now, list(kind ORDER BY kind IN ('TITLE', 'CONCEPT'), votes DESC, kind) AS types
    FROM (
        SELECT now, kind, sum(votes) AS votes
        FROM (
            SELECT each.now, unnest([each.type] || each.types[2:]) AS kind,
                unnest([each.frequency] || list_transform(each.types[2:], lambda other: 0)) AS votes
            FROM members each JOIN members own ON own.id = each.now
            WHERE each.id = own.id OR own.type IN ('TITLE', 'CONCEPT') OR each.frequency > own.frequency)
        GROUP BY ALL)
    GROUP BY now;
CREATE TEMP VIEW told AS
    SELECT now, array_to_string(list_sort(list_distinct(list(description) FILTER (description <> ''))), ' ') AS description
    FROM members GROUP BY now;
CREATE TEMP VIEW frequencies AS
    SELECT entity_id AS now, count(DISTINCT chunk_id) AS frequency
    FROM merged GROUP BY entity_id;
CREATE TEMP VIEW degrees AS
    SELECT id AS now, count(*) AS degree
    FROM (SELECT source_id AS id, target_id FROM applied_relations UNION SELECT target_id, source_id FROM applied_relations)
    GROUP BY id;
CREATE TEMP VIEW applied_entities AS
    SELECT entities.* REPLACE (coalesce(typed.types[1], type) AS type, coalesce(typed.types, entities.types) AS types,
        CASE WHEN typed.now IS NULL THEN entities.description ELSE coalesce(told.description, '') END AS description,
        CASE WHEN typed.now IS NULL THEN entities.frequency ELSE coalesce(frequencies.frequency, 0) END AS frequency,
        coalesce(degrees.degree, 0) AS degree)
    FROM entities LEFT JOIN typed ON typed.now = id LEFT JOIN told ON told.now = id
        LEFT JOIN frequencies ON frequencies.now = id LEFT JOIN degrees ON degrees.now = id
    WHERE id NOT IN (SELECT id FROM kept);
