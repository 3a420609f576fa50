"""The server: `conspectus serve` answers over HTTP, as a chat model, and as tools for agents.

It is read-only unless there is an administrator's token (admin/).

    tokens.py       callers: tokens, their access tags and indexes, rate limits
    request_checks.py  checks of every request: Host, Origin, token, size; headers, log, errors
    open_indexes.py the current version of each index, and the switch to a new one
    request_threads.py  questions and reads in threads: concurrency, timeouts, cancellation
    connections.py  limits of connections, and of the time for a header
    service.py      one question or one look into the tables, on behalf of a caller
    bodies.py       the JSON of requests and responses
    ask_routes.py   /v1/indexes/NAME/ask, retrieve, explain
    browse_routes.py /v1/indexes/NAME/documents, entities, reports, status, ...
    neighbours.py   entities and their neighbours
    openai_chat.py  /v1/models, /v1/chat/completions
    mcp_tools.py    /mcp, and `conspectus mcp`
    metrics.py      the counters
    admin/          adding and removing documents, and builds
    listen.py       runs the server
    app.py          the application, its health and its metrics

No other module imports this package, and `import conspectus` imports no web framework.
"""
