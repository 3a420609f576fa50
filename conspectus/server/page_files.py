"""The page at `/`: its files, which contain no data and so need no token, and the frame of the map.

Everything is loaded from this server, and only these scripts run (see the policies). The page gets its data from the
API, with the token that the user enters.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from conspectus.map.page import SHARED, frame, part, script, style
from conspectus.server.request_checks import PAGE_FILES, Refused
from conspectus.storage.hashing import digest
from fastapi import APIRouter, Request, Response

_ALLOWED = "script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'"
POLICY = (
    f"default-src 'none'; {_ALLOWED}; connect-src 'self'; img-src 'self' data:; frame-src 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Policy of the page: only scripts and styles from this server, none inline, and text never becomes markup."""
MAP_POLICY = f"default-src 'none'; {_ALLOWED}; img-src data:"
"""Policy of the map, which is shown in a frame of the page."""
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    media: str
    policy: str | None
    etag: str


@router.get("/")
async def page(request: Request) -> Response:
    """Return the page."""
    return _sent("index.html", request)


@router.get(PAGE_FILES + "{name}")
async def page_file(name: str, request: Request) -> Response:
    """Return a file of the page."""
    return _sent(name, request)


def _sent(name: str, request: Request) -> Response:
    found = _files().get(name)
    if found is None:
        raise Refused(404, "not_found", "there is no such URL")
    headers = {"etag": found.etag, "cache-control": "public, no-cache"}
    if found.policy:
        headers["content-security-policy"] = found.policy
    if request.headers.get("if-none-match", "") == found.etag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media, headers=headers)


@cache
def _files() -> dict[str, _File]:
    """Return the files by name; requests can name only these."""
    folder = files("conspectus.server").joinpath("page")
    texts = {each.name: each.read_text("utf-8") for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES}
    texts["map.html"] = frame(MAP_POLICY, f"{PAGE_FILES}map.css", f"{PAGE_FILES}map.js")
    texts |= {
        "map.css": style(),
        "map.js": f"window.drawMap = () => {{\n{script()}\n}};\n",
        **{name: part(name) for name in SHARED},
    }
    policies = {"index.html": POLICY, "map.html": f"{MAP_POLICY}; frame-ancestors 'self'"}
    media = {name: f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8" for name in texts}
    return {
        name: _File(text.encode(), media[name], policies.get(name), f'"{digest(text)[:20]}"')
        for name, text in texts.items()
    }
