"""The IRIs that our N-Triples use: our own for things and where they stand, those of others where there are any.

urn:conspectus:entity:<id>          rdfs:label is its name; <entity> <predicate> <entity> is a relation
urn:conspectus:predicate:<text>     the predicate, percent-encoded
urn:conspectus:relation:<id>        an rdf:Statement of that relation, with weight, description, chunks
urn:conspectus:mention:<id>         a place where an entity or relation is stated, in a chunk
urn:conspectus:chunk:<id>  urn:conspectus:document:<id>
urn:conspectus:vocabulary#<column>  what the columns of our tables say
"""

OWN = "urn:conspectus:"
ENTITY = f"{OWN}entity:"
PREDICATE = f"{OWN}predicate:"
RELATION = f"{OWN}relation:"
MENTION = f"{OWN}mention:"
CHUNK = f"{OWN}chunk:"
DOCUMENT = f"{OWN}document:"
TYPE_OF = f"{OWN}type:"
VOCABULARY = f"{OWN}vocabulary#"

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#"
DERIVED = f"{PROV}wasDerivedFrom"
DESCRIPTION = "http://purl.org/dc/terms/description"
