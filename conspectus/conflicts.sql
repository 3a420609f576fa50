-- Pairs of facts that cannot both hold: what has one value at a time, or one ever, with two values. After facts.sql.
, rules(words, holder, once) AS (VALUES
    -- The source has one target: ever, or at a time.
    ('\b(born|geboren|née?|naci[oó]|nacid[oa]|出生)\b', 'source', true),
    ('\b(die[ds]?|death|gestorben|starb|mort|décédée?|muri[oó])\b', 'source', true),
    ('\b(found(?:ed)?|establish(?:ed)?|invent(?:ed)?) (?:in|on|at)\b', 'source', true),
    ('\b(gegründet|fondée?|fundad[oa])\b', 'source', true),
    ('\b(led|headed|chaired|run|owned|managed|governed|edited|geleitet|dirigée?|dirigid[oa]) (?:by|von|par|por)\b', 'source', false),
    ('\b(base[d]?|headquarter(?:ed)?|reside|live) in\b', 'source', false),
    ('\b(married to|verheiratet mit|marié à|casado con)\b', 'source', false),
    -- The target has one source at a time: offices, and verbs for them.
    ('\b(mayor|president|director|head|chair(?:man|woman|person)?|chief executive|ceo|governor|editor|captain|master|owner|coach|king|queen|chancellor|prime minister|rector|principal|capital)\b(?: of| at| for)?', 'target', false),
    ('\b(bürgermeister(?:in)?|präsident(?:in)?|direktor(?:in)?|leiter(?:in)?|hauptstadt)\b', 'target', false),
    ('\b(maire|présidente?|directeur|directrice|capitale|alcalde|alcaldesa|presidente|directora|gobernadora?)\b', 'target', false),
    ('^(lead|led|head|chair|direct|own|govern|rule|command|manage|leiten|leitet|leitete|diriger|dirige|市长|主席|总统|校长)$', 'target', false)
), held AS (
    SELECT told.*, once, regexp_extract(predicate, words, 1) AS word,
        CASE holder WHEN 'source' THEN source_id ELSE target_id END AS holder_id,
        CASE holder WHEN 'source' THEN source ELSE target END AS holder,
        CASE holder WHEN 'source' THEN target_id ELSE source_id END AS value_id,
        CASE holder WHEN 'source' THEN target ELSE source END AS value
    FROM told JOIN rules ON regexp_matches(predicate, words)
    WHERE document_id <> ''
), timed AS (  -- a decade is a span of years here, an open interval begins or ends far away
    SELECT *, greatest(length, 4) AS unit, coalesce("first", '0000') AS f, coalesce("last", '9999') AS l FROM held
), pairs AS (
    SELECT one.holder, one.word, one.id AS one, other.id AS other, one.once, one.basis <> 'none' AND other.basis <> 'none' AS dated,
        one.holder_id, one.value_id AS a, other.value_id AS b, one.f, one.l, other.f AS other_f, other.l AS other_l,
        least(one.unit, other.unit) AS unit,
        left(one.f, one.unit) = left(one.l, one.unit) AS is_moment,
        left(other.f, other.unit) = left(other.l, other.unit) AS other_is_moment
    FROM timed AS one
    JOIN timed AS other ON one.holder_id = other.holder_id AND one.word = other.word AND one.id < other.id
    WHERE (one.value_id <> other.value_id AND regexp_matches(one.value, '\d') = regexp_matches(other.value, '\d')
        AND NOT contains(lower(one.value), lower(other.value)) AND NOT contains(lower(other.value), lower(one.value))
        -- A sentence that names both values, and a relation between them, explain the difference.
        AND NOT contains(lower(one.quote), lower(other.value)) AND NOT contains(lower(other.quote), lower(one.value))
        AND NOT EXISTS (
            FROM relations AS known
            WHERE (known.source_id, known.target_id) IN ((one.value_id, other.value_id), (other.value_id, one.value_id))))
        -- What happens once has one date.
        OR (one.once AND one.basis = 'stated' AND other.basis = 'stated'
            AND (left(one.l, least(one.unit, other.unit)) < left(other.f, least(one.unit, other.unit))
                OR left(other.l, least(one.unit, other.unit)) < left(one.f, least(one.unit, other.unit)))
            AND NOT contains(one.quote, left(other.f, 4)) AND NOT contains(other.quote, left(one.f, 4)))
)
-- Two intervals that share only a year or a day follow each other, unless one is a moment in the midst of the other.
SELECT holder, word, one, other FROM pairs
WHERE once OR (dated AND (
    left(greatest(f, other_f), unit) < left(least(l, other_l), unit)
    OR (is_moment AND left(f, unit) > left(other_f, unit) AND left(l, unit) < left(other_l, unit))
    OR (other_is_moment AND left(other_f, unit) > left(f, unit) AND left(other_l, unit) < left(l, unit))
    OR (is_moment AND other_is_moment AND f = other_f AND l = other_l AND unit = 10)))
QUALIFY row_number() OVER (PARTITION BY holder_id, word, least(a, b), greatest(a, b) ORDER BY one, other) = 1
ORDER BY holder, word, one, other
