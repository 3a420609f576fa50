-- The beginning of the queries of timeline.py: dated facts in words, with their sources. {entity} is the id of an entity in quotes, or NULL for all facts.
WITH facts AS (
    SELECT fact.*, relation.source_id, relation.target_id, lower(replace(relation.predicate, '_', ' ')) AS predicate,
        concat_ws(' ', source.name, coalesce(nullif(replace(relation.predicate, '_', ' '), ''), '–'), target.name) AS said,
        source.name AS source, target.name AS target,
        mention.start AS begins, mention."end" AS ends
    FROM dated_facts AS fact
    JOIN relations AS relation ON relation.id = fact.relation_id
    JOIN entities AS source ON source.id = relation.source_id
    JOIN entities AS target ON target.id = relation.target_id
    LEFT JOIN mentions AS mention ON mention.id = fact.id
    UNION ALL
    SELECT fact.*, claim.subject_id, claim.object_id, '', claim.description, '', '', claim.start, claim."end"
    FROM dated_facts AS fact JOIN claims AS claim ON claim.id = fact.claim_id
), cut AS (
    SELECT *,
        left("first", length) || tail AS since,
        left("last", length) || tail AS until
    FROM (
        SELECT *, CASE precision WHEN 'day' THEN 10 WHEN 'month' THEN 7 WHEN 'year' THEN 4 ELSE 3 END AS length,
            CASE precision WHEN 'decade' THEN '0s' ELSE '' END AS tail
        FROM facts)
), told AS (
    SELECT cut.id, CASE WHEN since IS NULL AND until IS NULL THEN '' WHEN since IS NULL THEN 'until ' || until
            WHEN until IS NULL THEN 'since ' || since WHEN since = until THEN since ELSE since || ' to ' || until END AS "when",
        said AS statement,
        coalesce(document.text[coalesce(begins, chunk.start) + 1 : coalesce(ends, chunk."end")], '') AS quote,
        coalesce(document.title, '') AS title, coalesce(document.id, '') AS document_id,
        coalesce(begins, chunk.start, 0) AS start, coalesce(ends, chunk."end", 0) AS "end",
        "first", "last", precision, basis, relation_id, claim_id,
        source_id, target_id, predicate, source, target, length
    FROM cut
    LEFT JOIN chunks AS chunk ON chunk.id = cut.chunk_id
    LEFT JOIN documents AS document ON document.id = chunk.document_id
    WHERE {entity} IS NULL OR {entity} IN (source_id, target_id)
)
