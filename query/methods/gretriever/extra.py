"""What the optional extra `gretriever` brings."""

from importlib.util import find_spec

from conspectus.storage.errors import MissingPart

_PACKAGES = {"torch_geometric": "torch-geometric", "peft": "peft"}


def need(*modules: str) -> None:
    """See that modules of the extra are there; MissingPart names the packages that are not, and what to install."""
    missing = [_PACKAGES[each] for each in modules if find_spec(each) is None]
    if missing:
        raise MissingPart(f"{' and '.join(missing)} is not installed: pip install 'conspectus[gretriever]'")
