-- The ids of hashing.py, and what Python's str.split leaves of the spaces in a text.
CREATE MACRO sized(part) AS unhex(printf('%016x', strlen(part))) || encode(part);
CREATE MACRO id_of(parts) AS left(sha256(parts), 16);
CREATE MACRO entity_id(key) AS id_of(sized('entity') || sized(key));
CREATE MACRO relation_id(source, predicate, target) AS
    id_of(sized('relation') || sized(source) || sized(predicate) || sized(target));
CREATE MACRO mention_id(chunk, owner, begins, ends) AS
    id_of(sized('mention') || sized(chunk) || sized(owner)
          || sized(coalesce(begins::VARCHAR, 'None')) || sized(coalesce(ends::VARCHAR, 'None')));
CREATE MACRO spaced(text) AS trim(regexp_replace(
    text, '[\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+', ' ', 'g'));
