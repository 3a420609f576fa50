"""The server: `conspectus serve` answers over HTTP, as a chat model and as tools of agents, and changes nothing.

    callers.py      who asks: tokens, their access tags and indexes, questions a minute
    guard.py        what every request passes: Host, Origin, token, size, headers, log, errors
    served.py       the version in force of each index, and the change to a new one
    questions.py    questions in threads: how many at once, how long, and until when anybody waits
    service.py      one question or one look into the tables, on behalf of a caller
    bodies.py       the JSON that goes in and comes out
    asking.py       /v1/indexes/NAME/ask, retrieve, explain
    browsing.py     /v1/indexes/NAME/documents, entities, reports, status, ...
    neighbours.py   entities and what lies one step from them
    openai_chat.py  /v1/models, /v1/chat/completions
    mcp_tools.py    /mcp, and `conspectus mcp`
    metrics.py      what is counted
    openapi.py      writes docs/openapi.json
    run.py          listens
    app.py          the application, its health and its metrics

No other module imports this package, and `import conspectus` imports no web framework.
"""
