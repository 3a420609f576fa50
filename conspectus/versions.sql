-- What two versions hold, by the tables of each (see versions.py), and what differs.
CREATE TABLE before (kind VARCHAR, id VARCHAR, name VARCHAR, content VARCHAR);
CREATE TABLE after (kind VARCHAR, id VARCHAR, name VARCHAR, content VARCHAR);

CREATE VIEW named AS
    SELECT r.id, concat_ws(' - ', s.name, nullif(predicate, ''), t.name) AS name, r.description, weight, predicate
    FROM relations r JOIN entities s ON s.id = source_id JOIN entities t ON t.id = target_id;
CREATE VIEW held AS
    SELECT 'documents' AS kind, id, uri AS name, concat_ws(chr(10), sha256, title, uri, metadata::VARCHAR) AS content
    FROM documents
    UNION ALL
    SELECT 'entities', id, name, concat_ws(chr(10), name, types::VARCHAR, description) FROM entities
    UNION ALL
    SELECT 'relations', id, name, concat_ws(chr(10), predicate, description, weight) FROM named
    UNION ALL  -- where a relation is stated, whatever the passage
    SELECT DISTINCT 'statements', concat_ws(chr(10), relation_id, document_id, surface), concat(name, ': ', surface), ''
    FROM mentions JOIN named ON named.id = relation_id JOIN chunks ON chunks.id = chunk_id
    UNION ALL
    SELECT 'statements', id, description, concat_ws(chr(10), status, start_date, end_date) FROM claims
    UNION ALL  -- the id of a community follows from its members
    SELECT 'communities', c.id, coalesce(title, array_to_string(list_transform(entity_ids[:3], lambda id: members[id]), ', ')),
        full_text
    FROM communities c
    LEFT JOIN reports ON community_id = c.id, (SELECT map(list(id), list(name)) AS members FROM entities)
    WHERE same_as IS NULL;

CREATE VIEW each_difference AS
    SELECT kind, CASE WHEN b.id IS NULL THEN 'came' WHEN a.id IS NULL THEN 'gone' ELSE 'changed' END AS change,
        coalesce(a.name, b.name, '') AS name
    FROM before b FULL JOIN after a USING (kind, id)
    WHERE a.content IS DISTINCT FROM b.content OR a.id IS NULL OR b.id IS NULL;
CREATE VIEW differences AS  -- a list of names for each kind of change
    SELECT kind, change, list(name ORDER BY name) AS names FROM each_difference GROUP BY ALL ORDER BY ALL;
