"""OpenAPI: an operation a section, with its address, parameters and responses."""

from pathlib import Path

from tests.pipelines.readers.reading import read

API = """openapi: 3.0.3
info: {title: Lamps, version: 1.2}
servers: [{url: "https://l.example/v1"}]
paths:
  /lamps/{id}:
    parameters: [{name: id, in: path, required: true}]
    put:
      summary: Light a lamp
      operationId: light
      parameters:
        - {name: hours, in: query, description: For how long, schema: {type: integer, default: 3}}
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Lamp'}}}}
      responses: {'409': {description: It burns}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    Lamp: {type: object, required: [oil], properties: {oil: {type: string, description: Kind of oil}}}
"""


def test_an_operation_is_a_section(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(API)
    row = read(path)[0][""]
    assert [place.label for place in row.places] == ["Lamps", "PUT /lamps/{id} Light a lamp", "Lamp"]
    assert row.text == (
        "Lamps\n\nVersion: 1.2\n\nBase URL: https://l.example/v1\n\nAPI key (key): header X-Key\n\n"
        "Light a lamp: PUT /lamps/{id}\n\nRequest: PUT /lamps/{id}\n\n"
        "Operation: light\n\nParameter id (path, required)\n\n"
        "Parameter hours (query): For how long; type: integer; default: 3\n\nRequest body (application/json): Lamp\n\n"
        "Response 409: It burns\n\nLamp\nRequired fields of Lamp: oil\noil: Kind of oil; string"
    )


def test_other_yaml_and_hostile_yaml_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    for text in (
        "a: 1\nb: [2]\n",
        "openapi: 3\npaths: " + "[" * 5_000,
    ):
        path.write_text(text)
        assert read(path)[0][""].text == text
