-- What is wrong in the tables of an index, as rows of (place, what). References that its columns make, `missing`, and
-- the ids of all tables, `ids`, are given; so are the kinds of links, `kinds`.

CREATE VIEW cited AS
SELECT id, unnest(finding.citations) AS span FROM (SELECT id, unnest(findings) AS finding FROM reports);

CREATE VIEW merged AS SELECT alias_id FROM merges WHERE NOT undone;

CREATE VIEW standing AS
SELECT chunks.id, chunks.start, chunks."end", coalesce(documents.text, '') AS text
FROM chunks LEFT JOIN documents ON documents.id = chunks.document_id;

CREATE VIEW problems AS
FROM missing
UNION ALL
SELECT 'links ' || id, 'has the kind ' || kind || ', which does not exist' FROM links
WHERE kind NOT IN (SELECT kind FROM kinds)
UNION ALL
SELECT 'mentions ' || id, 'must name one entity or one relation' FROM mentions
WHERE (entity_id IS NULL) = (relation_id IS NULL)
UNION ALL
-- Each end of an undone merge is an entity, or was merged into another.
SELECT 'merges ' || id, 'names entity ' || named || ', which does not exist'
FROM (SELECT id, undone, unnest(CASE WHEN undone THEN [entity_id, alias_id] ELSE [entity_id] END) AS named FROM merges)
WHERE named NOT IN (SELECT id FROM entities) AND NOT (undone AND named IN (SELECT alias_id FROM merged))
UNION ALL
SELECT 'merges ' || id, 'its alias is an entity of its own, and the merge was not undone' FROM merges
WHERE NOT undone AND alias_id IN (SELECT id FROM entities)
UNION ALL
SELECT 'origins ' || id, 'names table ' || "table" || ', which does not exist' FROM origins
WHERE "table" NOT IN (SELECT name FROM tables)
UNION ALL
SELECT 'origins ' || id, 'names ' || item_id || ' of ' || "table" || ', which does not exist' FROM origins
WHERE "table" IN (SELECT name FROM tables) AND item_id != ''
AND NOT EXISTS (FROM ids WHERE ids.name = origins."table" AND ids.id = item_id)
UNION ALL
SELECT 'reports ' || id, 'names document ' || span.document_id || ', which does not exist' FROM cited
WHERE span.document_id NOT IN (SELECT id FROM documents)
UNION ALL
SELECT 'reports ' || id, 'names chunk ' || span.chunk_id || ', which does not exist' FROM cited
WHERE span.chunk_id NOT IN (SELECT id FROM chunks)
UNION ALL
SELECT 'reports ' || cited.id, 'a citation lies outside its document'
FROM cited LEFT JOIN documents ON documents.id = span.document_id
WHERE NOT (0 <= span.start AND span.start < span."end" AND span."end" <= length(coalesce(documents.text, '')))
UNION ALL
SELECT 'chunks ' || id, 'its text is not what stands at its span' FROM chunks JOIN standing USING (id)
WHERE chunks.start < 0 OR standing.text[chunks.start + 1 : chunks."end"] != chunks.text
UNION ALL
SELECT 'mentions ' || mentions.id, 'its surface is not what stands at its span'
FROM mentions JOIN standing ON standing.id = chunk_id
WHERE mentions.start IS NOT NULL AND mentions."end" IS NOT NULL
AND NOT (standing.start <= mentions.start AND mentions.start < mentions."end" AND mentions."end" <= standing."end"
         AND standing.text[mentions.start + 1 : mentions."end"] = surface)
UNION ALL
SELECT 'dated_facts ' || dated_facts.id, 'its date does not stand in the chunk'
FROM dated_facts JOIN chunks ON chunks.id = chunk_id
WHERE dated_facts.start IS NOT NULL
AND NOT (chunks.start <= dated_facts.start AND dated_facts.start < coalesce(dated_facts."end", 0)
         AND coalesce(dated_facts."end", 0) <= chunks."end")
UNION ALL
SELECT 'links ' || links.id, 'its words do not stand in the chunk that it leads from'
FROM links JOIN chunks ON chunks.id = source_id
WHERE links.start IS NOT NULL AND links."end" IS NOT NULL
AND NOT (chunks.start <= links.start AND links.start < least(links."end", chunks."end"))
UNION ALL
SELECT 'documents ' || id, 'its places are not sorted' FROM documents
WHERE list_sort(list_transform(places, lambda place: place.start)) != list_transform(places, lambda place: place.start)
UNION ALL
SELECT 'documents ' || id, 'a place lies outside its text' FROM documents
WHERE len(list_filter(places, lambda place: place.start < 0 OR place.start >= n_chars)) > 0
UNION ALL
SELECT 'documents ' || id, 'a place has a level that its kind cannot have' FROM documents
WHERE len(list_filter(places, lambda place: place.level < 0 OR (place.level > 0) != (place.kind = 'heading'))) > 0
UNION ALL
SELECT 'documents ' || id, 'a link lies outside its text' FROM documents
WHERE len(list_filter(hyperlinks, lambda link:
    NOT (0 <= link.start AND link.start <= link."end" AND link."end" <= n_chars))) > 0
UNION ALL
SELECT 'documents ' || id, 'an anchor lies outside its text' FROM documents
WHERE len(list_filter(anchors, lambda anchor: anchor.start < 0 OR anchor.start >= n_chars)) > 0
UNION ALL
SELECT 'communities of level ' || level, 'do not hold every entity exactly once'
FROM (SELECT level, list_sort(flatten(list(entity_ids))) AS members FROM communities GROUP BY level)
WHERE members IS DISTINCT FROM (SELECT list(id ORDER BY id) FROM entities);
