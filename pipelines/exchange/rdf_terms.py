"""The IRIs of our N-Triples: established vocabularies where there are any, our own otherwise.

urn:conspectus:entity:<id>          rdfs:label is its name; <entity> <predicate> <entity> is a relation
urn:conspectus:predicate:<text>     the predicate, percent-encoded
urn:conspectus:relation:<id>        an rdf:Statement of that relation, with weight, description, chunks
urn:conspectus:mention:<id>         a place in a chunk that states an entity or relation
urn:conspectus:chunk:<id>  urn:conspectus:document:<id>
urn:conspectus:vocabulary#<column>  a column of our tables
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
