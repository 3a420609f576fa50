"""What faults do to a reply."""

import json
import math
import time
from dataclasses import replace
from email.utils import formatdate

from conspectus.prompts.fake.faults import FaultKind, Faults
from conspectus.prompts.fake.refused import failure
from conspectus.prompts.fake.wire import Outgoing

STATUSES: dict[FaultKind, int] = {"429": 429, "500": 500, "502": 502, "503": 503, "529": 529, "html_502": 502}
SILENT: tuple[FaultKind, ...] = ("timeout", "drop")

_PAGE = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    b"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
_SLOW_PARTS = 10


def retry_headers(faults: Faults) -> tuple[tuple[str, str], ...]:
    """Return the headers that say when to try again, in the style that the faults name."""
    match faults.retry_style:
        case "seconds":
            return (("retry-after", f"{faults.retry_after:g}"),)
        case "date":
            return (("retry-after", formatdate(math.ceil(time.time() + faults.retry_after), usegmt=True)),)
        case "ms":
            return (("retry-after-ms", str(math.ceil(faults.retry_after * 1000))),)
        case "missing":
            return ()


def instead(fault: FaultKind, faults: Faults) -> Outgoing | None:
    """Return what is sent instead of a reply; None for a fault that spoils the reply itself."""
    if fault == "html_502":
        return Outgoing(502, (_PAGE,), kind="text/html")
    if fault in STATUSES:
        status = STATUSES[fault]
        return Outgoing(status, (failure(status).body(),), () if fault == "500" else retry_headers(faults))
    if fault in SILENT:
        return Outgoing(200, (b"",), ending="never" if fault == "timeout" else "drop")
    return None


def spoil(reply: Outgoing, fault: FaultKind | None, faults: Faults) -> Outgoing:
    """Return the reply as the fault leaves it."""
    whole = b"".join(reply.parts)
    match fault:
        case "bad_json":
            broken = json.dumps(whole[: len(whole) * 2 // 3].decode(errors="replace"))[1:-1].encode()
            return replace(reply, parts=(broken,))
        case "cut_body" | "cut_stream":
            return replace(reply, ending="cut")
        case "slow":
            size = max(1, math.ceil(len(whole) / _SLOW_PARTS))
            parts = tuple(whole[i : i + size] for i in range(0, len(whole), size))
            return replace(reply, parts=parts, gap=faults.slow_seconds / max(1, len(parts) - 1))
        case _:
            return reply
