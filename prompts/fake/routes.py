"""Which path leads where, and who may go there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from conspectus.prompts.fake.refused import Refused


@dataclass(frozen=True, slots=True)
class Route:
    """Where a path leads; `deployment` is the model that an Azure path names."""

    endpoint: Literal["chat", "embeddings", "models", "records", "settings"]
    deployment: str | None = None


_ENDPOINTS: dict[str, tuple[str, Route]] = {
    "chat/completions": ("POST", Route("chat")),
    "embeddings": ("POST", Route("embeddings")),
    "models": ("GET", Route("models")),
    "fake/requests": ("GET", Route("records")),
    "fake/settings": ("POST", Route("settings")),
}
_DEPLOYMENTS = "/openai/deployments/"
_PREFIXES = ("/v1/", "/openai/v1/")


def route(method: str, target: str) -> Route:
    """Return where a request leads; Refused (404 or 405) where it leads nowhere.

    >>> route("POST", "/v1/chat/completions")
    Route(endpoint='chat', deployment=None)
    >>> route("POST", "/openai/deployments/mine/embeddings?api-version=2024-10-21")
    Route(endpoint='embeddings', deployment='mine')
    """
    parts = urlsplit(target)
    path, deployment, rest = parts.path, None, ""
    if path.startswith(_DEPLOYMENTS):
        deployment, _, rest = path.removeprefix(_DEPLOYMENTS).partition("/")
        if "api-version" not in parse_qs(parts.query):
            raise Refused(404, "Resource not found", code="404")
    for prefix in _PREFIXES:
        if path.startswith(prefix):
            rest = path.removeprefix(prefix)
    expected, found = _ENDPOINTS.get(rest.rstrip("/"), ("", None))
    if found is None:
        raise Refused(404, f"Invalid URL ({method} {path})")
    if method != expected:
        raise Refused(405, f"Not allowed to {method} on {path}.", code="method_not_supported")
    return found if deployment is None else replace(found, deployment=deployment)


def bearer(headers: Mapping[str, str]) -> str | None:
    """Return the key that came with a request, as a bearer token or as Azure's api-key; None without one."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else headers.get("api-key")


def authorise(headers: Mapping[str, str], api_key: str | None) -> None:
    """Raise Refused (401) unless the right key came, where there is one."""
    key = bearer(headers)
    if api_key is None or key == api_key:
        return
    if not key:
        told = (
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
            "auth (i.e. Authorization: Bearer YOUR_KEY)."
        )
        raise Refused(401, told)
    told = (
        f"Incorrect API key provided: {key[:3]}***. "
        "You can find your API key at https://platform.openai.com/account/api-keys."
    )
    raise Refused(401, told, code="invalid_api_key")


def check_model(model: str, deployment: str | None, models: tuple[str, ...]) -> None:
    """Raise Refused unless a model is named, and is one of those there are, where they are given."""
    if deployment is not None:
        if models and deployment not in models:
            raise Refused(404, "The API deployment for this resource does not exist.", code="DeploymentNotFound")
    elif not model:
        raise Refused(400, "you must provide a model parameter")
    elif models and model not in models:
        told = f"The model `{model}` does not exist or you do not have access to it."
        raise Refused(404, told, code="model_not_found")
