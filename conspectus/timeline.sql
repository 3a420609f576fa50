-- The rows of a timeline, after facts.sql: the dated facts about an entity, or all facts.
SELECT id, "when", statement, quote, title, document_id, start, "end", "first", "last", precision, basis, relation_id,
    claim_id
FROM told
WHERE {entity} IS NULL OR basis <> 'none'
ORDER BY coalesce("first", ''), coalesce("last", '~'), title, start, statement, id
