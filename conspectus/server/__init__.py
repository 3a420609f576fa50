"""The server: `conspectus serve` answers over HTTP, as a chat model, and as tools for agents.

It is read-only unless there is an administrator's token (admin/).

    tokens.py       callers: tokens, their access tags and indexes, rate limits
    request_checks.py  checks of every request: Host, Origin, token, size; headers, log, errors
    open_indexes.py the current version of each index, and the switch to a new one
    request_threads.py  questions and reads in threads: concurrency, timeouts, cancellation
    service.py      one operation (`conspectus.operations`) on behalf of a caller
    bodies.py       the JSON of questions and their answers
    ask_routes.py   the operations that are questions, at /v1/indexes/NAME/ask, retrieve, explain
    browse_routes.py the others, at /v1/indexes/NAME/documents, entities, reports, status, ...
    openai_chat.py  /v1/models, /v1/chat/completions
    mcp_tools.py    the operations at /mcp, and in `conspectus mcp`; resources and prompts for agents
    metrics.py      the counters
    admin/          adding and removing documents, and builds
    listen.py       runs the server
    app.py          the application, its health and its metrics

No other module imports this package, and `import conspectus` imports no web framework.
"""
